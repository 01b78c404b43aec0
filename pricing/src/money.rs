//! Money and what it is charged by, as exact decimals. Only products that have a unit exist:
//! `HourlyRate * Hours = Money` compiles, `Money * Money` doesn't.

use std::fmt;
use std::ops::Mul;

use chrono::TimeDelta;
use rust_decimal::Decimal;

use crate::decimal_unit::{decimal_unit, parse, rounded};
use crate::quantity::{Gigabytes, Hours, HoursPerMonth};

const MILLISECONDS_PER_HOUR: i64 = 3_600_000;

decimal_unit! {
    /// US dollars. Shown to the cent, kept exact.
    Money, what: "an amount of money", example: "1.50",
    parse: |text, words| parse(text, &[], words), decimals: 2
}

decimal_unit! {
    /// Dollars per hour. Shown with four decimals.
    HourlyRate, what: "a price per hour", example: "3.4828",
    parse: |text, words| parse(text, &["/h", "/hr", "/hour"], words), decimals: 4
}

decimal_unit! {
    /// Dollars per gigabyte and month: what storage is quoted in.
    GigabyteMonthRate, what: "a price per GB and month", example: "0.20",
    parse: |text, words| parse(text, &["/GB-month", "/GB/month"], words), decimals: 4
}

decimal_unit! {
    /// Dollars per gigabyte moved: what traffic is quoted in.
    GigabyteRate, what: "a price per GB", example: "0.003",
    parse: |text, words| parse(text, &["/GB"], words), decimals: 4
}

impl Money {
    /// How long this pays for `rate`, or `None` where that rate is zero and it pays for ever.
    pub fn lasts_at(self, rate: HourlyRate) -> Option<Hours> {
        self.amount().checked_div(rate.amount()).map(Hours::new)
    }

    /// Never below zero: what is left of a budget, not what is owed.
    pub fn or_zero(self) -> Self {
        self.max(Self::ZERO)
    }

    /// The amount that [`Display`](fmt::Display) shows, for sums of shown amounts.
    pub fn as_shown(self) -> Self {
        let strategy = rust_decimal::RoundingStrategy::MidpointAwayFromZero;
        Self::new(
            self.amount()
                .round_dp_with_strategy(self.decimals(), strategy),
        )
    }

    fn decimals(self) -> u32 {
        let small = !self.is_zero() && self.amount().abs() < Decimal::new(1, 2);
        if small { 4 } else { 2 }
    }

    /// What a bill shows: whole cents, half a cent away from zero.
    pub fn to_cents(self) -> Self {
        Self::new(
            self.amount()
                .round_dp_with_strategy(2, rust_decimal::RoundingStrategy::MidpointAwayFromZero),
        )
    }
}

impl HourlyRate {
    /// The charge for an exact stretch of time; one multiplication and one division, so nothing is rounded twice.
    pub fn charge_for(self, time: TimeDelta) -> Money {
        let milliseconds = Decimal::from(time.num_milliseconds());
        Money::new(
            self.amount().saturating_mul(milliseconds) / Decimal::from(MILLISECONDS_PER_HOUR),
        )
    }
}

impl GigabyteMonthRate {
    /// What keeping `disk` costs per hour where a month is billed as `month` hours.
    pub fn per_hour(self, disk: Gigabytes, month: HoursPerMonth) -> HourlyRate {
        HourlyRate::new(self.amount().saturating_mul(disk.amount()) / month.amount())
    }
}

impl Mul<Hours> for HourlyRate {
    type Output = Money;
    fn mul(self, hours: Hours) -> Money {
        Money::new(self.amount().saturating_mul(hours.amount()))
    }
}

impl Mul<Gigabytes> for GigabyteRate {
    type Output = Money;
    fn mul(self, moved: Gigabytes) -> Money {
        Money::new(self.amount().saturating_mul(moved.amount()))
    }
}

/// To the cent; below one cent to a hundredth of it, so that a short run's sums can still be checked.
impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.as_shown();
        let sign = if shown < Self::ZERO { "-" } else { "" };
        let size = shown.amount().abs();
        formatter.pad(&format!("{sign}${}", rounded(size, shown.decimals())))
    }
}

impl fmt::Display for HourlyRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("${}/h", self.figure()))
    }
}

impl fmt::Display for GigabyteMonthRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("${}/GB-month", as_quoted(self.amount())))
    }
}

impl fmt::Display for GigabyteRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("${}/GB", as_quoted(self.amount())))
    }
}

/// A quoted price as vendors write it: at least two decimals, more only where they say something.
pub fn as_quoted(price: Decimal) -> String {
    let price = price.normalize();
    let decimals = usize::try_from(price.scale().clamp(2, 6)).unwrap_or(2);
    format!("{price:.decimals$}")
}

#[cfg(test)]
mod tests {
    use rust_decimal_macros::dec;

    use super::*;

    #[test]
    fn a_small_bill_is_not_rounded_to_nothing() {
        let read = |amount| Money::new(amount).to_string();
        assert_eq!(read(dec!(0)), "$0.00");
        assert_eq!(read(dec!(0.00273)), "$0.0027");
        assert_eq!(read(dec!(-0.00273)), "-$0.0027");
        assert_eq!(read(dec!(0.0123)), "$0.01");
        assert_eq!(read(dec!(60)), "$60.00");
    }

    #[test]
    fn people_may_write_the_unit_or_leave_it() {
        for text in [
            "3.4828",
            "$3.4828",
            "$3.4828/h",
            " 3.4828/hr ",
            "3.4828 /hour",
        ] {
            assert_eq!(
                text.parse::<HourlyRate>(),
                Ok(HourlyRate::new(dec!(3.4828))),
                "{text}"
            );
        }
        assert_eq!(
            "$0.20/GB-month".parse::<GigabyteMonthRate>(),
            Ok(GigabyteMonthRate::new(dec!(0.20)))
        );
        assert_eq!(
            "0.003/gb".parse::<GigabyteRate>(),
            Ok(GigabyteRate::new(dec!(0.003)))
        );
    }

    #[test]
    fn what_is_no_price_is_said_with_an_example() {
        let say = |text: &str| text.parse::<Money>().map_err(|error| error.to_string());
        assert_eq!(
            say("lots"),
            Err("`lots` is not an amount of money: write it like `1.50`".into())
        );
        assert_eq!(
            say("-1"),
            Err("`-1` is negative: an amount of money can't be less than zero".into())
        );
        assert!(say("99999999999").is_err_and(|message| message.contains("out of range")));
        for text in ["", "$", "1e3", "NaN", "∞", "1.2.3", "$$1", "é/h"] {
            assert!(text.parse::<HourlyRate>().is_err(), "{text}");
        }
    }

    #[test]
    fn money_shows_cents_and_rates_four_decimals() {
        assert_eq!(Money::new(dec!(0.9997)).to_string(), "$1.00");
        assert_eq!(Money::new(dec!(-0.125)).to_string(), "-$0.13");
        assert_eq!(Money::new(dec!(-0.001)).to_string(), "-$0.0010");
        assert_eq!(Money::new(dec!(-0.00001)).to_string(), "$0.00");
        assert_eq!(
            HourlyRate::new(dec!(0.0684931506849)).to_string(),
            "$0.0685/h"
        );
        assert_eq!(HourlyRate::new(dec!(3)).to_string(), "$3.0000/h");
        assert_eq!(
            GigabyteMonthRate::new(dec!(0.2)).to_string(),
            "$0.20/GB-month"
        );
        assert_eq!(GigabyteRate::new(dec!(0.0030)).to_string(), "$0.003/GB");
        assert_eq!(format!("[{:>9}]", Money::new(dec!(12.5))), "[   $12.50]");
    }

    #[test]
    fn the_stopped_rate_of_the_measured_box_depends_on_the_month()
    -> Result<(), Box<dyn std::error::Error>> {
        let rate = GigabyteMonthRate::new(dec!(0.20));
        let disk = Gigabytes::new(dec!(250));
        assert_eq!(
            rate.per_hour(disk, HoursPerMonth::new(dec!(730))?).figure(),
            "0.0685"
        );
        assert_eq!(
            rate.per_hour(disk, HoursPerMonth::new(dec!(720))?).figure(),
            "0.0694"
        );
        Ok(())
    }

    #[test]
    fn time_is_charged_exactly() {
        let rate = HourlyRate::new(dec!(3.6));
        assert_eq!(
            rate.charge_for(TimeDelta::milliseconds(1)),
            Money::new(dec!(0.000001))
        );
        assert_eq!(
            rate.charge_for(TimeDelta::hours(10)),
            rate * Hours::new(dec!(10))
        );
    }

    #[test]
    fn nothing_overflows_into_a_panic() {
        let huge = Money::new(Decimal::MAX);
        assert_eq!(huge + huge, huge);
        assert_eq!(
            HourlyRate::new(Decimal::MAX) * Hours::new(Decimal::MAX),
            huge
        );
        assert_eq!(huge.lasts_at(HourlyRate::new(Decimal::new(1, 28))), None);
        assert_eq!(huge.lasts_at(HourlyRate::ZERO), None);
    }

    #[test]
    fn json_keeps_every_digit_and_takes_what_people_write() -> Result<(), Box<dyn std::error::Error>>
    {
        let third = HourlyRate::new(Decimal::ONE / dec!(3));
        let text = serde_json::to_string(&third)?;
        assert_eq!(text, "\"0.3333333333333333333333333333\"");
        assert_eq!(serde_json::from_str::<HourlyRate>(&text)?, third);
        for written in ["\"$60.50\"", "60.5", "\"60.5\""] {
            assert_eq!(
                serde_json::from_str::<Money>(written)?,
                Money::new(dec!(60.5)),
                "{written}"
            );
        }
        assert_eq!(serde_json::from_str::<Money>("60")?, Money::new(dec!(60)));
        assert!(serde_json::from_str::<Money>("-60").is_err());
        assert!(serde_json::from_str::<Money>("true").is_err());
        Ok(())
    }
}

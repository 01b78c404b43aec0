use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::*;
use crate::break_even::Action;
use crate::money::{GigabyteMonthRate, GigabyteRate};
use crate::quantity::HoursPerMonth;
use crate::rate_card::tests::measured;

fn terms(setup: Decimal, resume: Decimal, retry: Decimal, inbound: Decimal) -> RebuildTerms {
    RebuildTerms {
        setup: Hours::from_minutes(setup),
        resume: Hours::from_minutes(resume),
        retry: Money::new(retry),
        inbound: Gigabytes::new(inbound),
    }
}

fn the_measured_box(gap: Option<Hours>) -> Forecast {
    let card = measured(HoursPerMonth::TWELFTH_OF_A_YEAR);
    let terms = terms(dec!(15), dec!(0), dec!(0), dec!(43));
    forecast(&Question {
        card: &card,
        disk: Gigabytes::new(dec!(250)),
        terms: &terms,
        restart: Probability::CERTAIN,
        gap,
    })
}

#[test]
fn the_sums_of_the_measured_box_are_those_of_the_manual() {
    let forecast = the_measured_box(None);
    assert_eq!(
        forecast.sums.stopped.as_deref(),
        Some("250 GB x $0.20 / 730 h = $0.0685/h")
    );
    assert_eq!(
        forecast.sums.rebuild,
        "15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00"
    );
    assert_eq!(
        forecast.sums.break_even.as_deref(),
        Some("$1.00 / $0.0685/h = 14.6 h")
    );
    assert_eq!(
        (
            forecast.sums.running,
            forecast.sums.resume,
            forecast.sums.worth
        ),
        (None, None, None)
    );
    assert_eq!(
        forecast.verdict.action,
        Action::Stop {
            destroy_after: forecast.break_even
        }
    );
}

#[test]
fn without_a_stop_there_is_nothing_to_stop_for() {
    let mut card = measured(HoursPerMonth::TWELFTH_OF_A_YEAR);
    card.stop = StopSupport::None;
    let terms = terms(dec!(15), dec!(5), dec!(0), dec!(43));
    let disk = Gigabytes::new(dec!(250));
    let forecast = forecast(&Question {
        card: &card,
        disk,
        terms: &terms,
        restart: Probability::CERTAIN,
        gap: None,
    });
    assert_eq!((forecast.stopped, forecast.break_even), (None, None));
    assert_eq!(
        (
            forecast.sums.stopped,
            forecast.sums.resume,
            forecast.sums.break_even
        ),
        (None, None, None)
    );
}

/// The value of one printed side, read as a calculator would: numbers, + - x / and brackets. Units are dropped, but
/// minutes count as sixtieths.
struct Calculator<'a>(&'a str);

impl Calculator<'_> {
    fn sum(&mut self) -> Decimal {
        let mut value = self.product();
        loop {
            match self.operator(&['+', '-']) {
                Some('+') => value += self.product(),
                Some(_) => value -= self.product(),
                None => return value,
            }
        }
    }

    fn product(&mut self) -> Decimal {
        let mut value = self.factor();
        loop {
            match self.operator(&['x', '/']) {
                Some('x') => value *= self.factor(),
                Some(_) => value /= self.factor(),
                None => return value,
            }
        }
    }

    fn factor(&mut self) -> Decimal {
        let text = self.0.trim_start();
        if let Some(inner) = text.strip_prefix('(') {
            self.0 = inner;
            let value = self.sum();
            self.0 = self
                .0
                .trim_start()
                .strip_prefix(')')
                .expect("a closing bracket");
            return value;
        }
        let unsigned = text.trim_start_matches(['-', '$']);
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (digits, rest) = unsigned.split_at(end);
        let mut value: Decimal = digits
            .parse()
            .unwrap_or_else(|_| panic!("a number at `{text}`"));
        if text.starts_with('-') {
            value = -value;
        }
        self.0 = rest;
        for (unit, factor) in [
            ("/h", dec!(1)),
            ("/GB", dec!(1)),
            (" GB", dec!(1)),
            (" min", dec!(60)),
            (" h", dec!(1)),
        ] {
            if let Some(rest) = self.0.strip_prefix(unit) {
                self.0 = rest;
                return value / factor;
            }
        }
        value
    }

    fn operator(&mut self, which: &[char]) -> Option<char> {
        let text = self.0.trim_start();
        let found = text.chars().next().filter(|first| which.contains(first))?;
        self.0 = &text[1..];
        Some(found)
    }
}

fn calculate(text: &str) -> Decimal {
    let mut calculator = Calculator(text);
    let value = calculator.sum();
    assert!(
        calculator.0.trim().is_empty(),
        "all of `{text}` is read, but `{}`",
        calculator.0
    );
    value
}

/// Both sides of a printed sum agree within what rounding the printed factors can move them by: half a cent for each
/// of up to four amounts, and the fourth decimal of a rate, which is at least $0.006/h here.
fn adds_up_within(absolute: Decimal, sum: &str) -> Result<(), TestCaseError> {
    let (left, right) = sum.rsplit_once(" = ").expect("a sum");
    let (left, right) = (calculate(left), calculate(right));
    let allowed = absolute + dec!(0.01) * right.abs();
    prop_assert!((left - right).abs() <= allowed, "{sum}: {left}");
    Ok(())
}

proptest! {
    #[test]
    fn every_printed_figure_follows_from_its_sum(
        running in 1_000i64..400_000, storage in 5i64..100, month in 600i64..800, disk in 100i64..5_000,
        minutes in (1i64..300, 0i64..60), retry in 0i64..300, inbound in 0i64..2_000, percent in 0i64..=100,
        gap in prop::option::of(0i64..3_000), stop in 0usize..3, apart in any::<bool>(),
    ) {
        let mut card = measured(HoursPerMonth::new(Decimal::from(month)).expect("a month"));
        card.running = HourlyRate::new(Decimal::new(running, 4));
        card.disk_stopped = GigabyteMonthRate::new(Decimal::new(storage, 2));
        card.disk_running = if apart { card.disk_stopped } else { GigabyteMonthRate::ZERO };
        card.inbound = GigabyteRate::new(dec!(0.013));
        card.stop = [StopSupport::KeepsDisk, StopSupport::KeepsVolumeOnly, StopSupport::None][stop];
        let terms = terms(Decimal::from(minutes.0), Decimal::from(minutes.1), Decimal::new(retry, 2), Decimal::from(inbound));
        let answer = forecast(&Question {
            card: &card,
            disk: Gigabytes::new(Decimal::from(disk)),
            terms: &terms,
            restart: Probability::new(Decimal::new(percent, 2)).expect("a percentage"),
            gap: gap.map(|minutes| Hours::from_minutes(Decimal::from(minutes))),
        });
        let Sums { running, stopped, rebuild, resume, worth, break_even } = &answer.sums;
        for sum in [running, stopped, resume, worth].into_iter().flatten().chain([rebuild]) {
            adds_up_within(dec!(0.02), sum)?;
        }
        // A quotient of cents is only as good as its cents, and hours have one decimal.
        if let Some(sum) = break_even.as_ref().filter(|_| answer.worth > Money::new(dec!(5))) {
            adds_up_within(dec!(0.051), sum)?;
        }
        if let Some(compared) = answer.verdict.compared {
            for part in answer.verdict.reason.split("; ").filter(|part| part.contains(" = ")) {
                let part = part.split(": ").next().unwrap_or(part);
                adds_up_within(dec!(0.02), part.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == ' '))?;
            }
            let costs = [Some(compared.keep), compared.stop, Some(compared.destroy)];
            let saved = answer.verdict.reason.rsplit_once("saves $").and_then(|(_, saved)| saved.parse::<Decimal>().ok());
            let saved = saved.expect("a verdict says what it saves");
            let cents: Vec<Decimal> = costs.into_iter().flatten().map(|cost| cost.as_shown().amount()).collect();
            let differences = cents.iter().flat_map(|left| cents.iter().map(move |right| right - left));
            prop_assert!(differences.into_iter().any(|difference| difference == saved), "{}", answer.verdict.reason);
        }
    }
}

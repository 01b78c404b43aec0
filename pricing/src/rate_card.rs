//! What one box costs, in every state, as its provider charges it.

use std::num::NonZeroU32;

use chrono::{NaiveDate, TimeDelta};
use serde::{Deserialize, Serialize};

use crate::money::{GigabyteMonthRate, GigabyteRate, HourlyRate};
use crate::quantity::{Gigabytes, HoursPerMonth};

/// How long a price may be shown without a warning.
pub const STALE_AFTER_DAYS: i64 = 30;

/// Prices of one offer. A run keeps the card it was rented under, so that later price changes never rewrite its bill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateCard {
    /// The whole box, all its GPUs. Where the provider's figure includes the disk, `disk_running` is zero.
    pub running: HourlyRate,
    /// What the disk adds to `running`.
    pub disk_running: GigabyteMonthRate,
    /// What the allocated disk costs while the box is stopped.
    pub disk_stopped: GigabyteMonthRate,
    /// What the provider divides its monthly prices by.
    pub hours_per_month: HoursPerMonth,
    /// Traffic to the box.
    pub inbound: GigabyteRate,
    /// Traffic from the box.
    pub outbound: GigabyteRate,
    /// Running time is billed in steps of this many seconds, rounded up.
    pub quantum_seconds: NonZeroU32,
    /// The shortest running time that is billed, in seconds.
    #[serde(default)]
    pub minimum_seconds: u32,
    /// What a stop keeps.
    pub stop: StopSupport,
    /// When these prices were seen. A price without a date is not shown.
    pub as_of: NaiveDate,
    /// Where they were seen.
    pub source: String,
}

/// What is left of a box that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopSupport {
    /// There is no stop: a box runs or is gone.
    None,
    /// The whole disk, at `disk_stopped`.
    KeepsDisk,
    /// Only a separate volume, at `disk_stopped`; the box's own disk is wiped, so a resume installs again.
    KeepsVolumeOnly,
}

impl RateCard {
    /// $/h while running, with `disk` allocated.
    pub fn running_rate(&self, disk: Gigabytes) -> HourlyRate {
        self.running + self.disk_running.per_hour(disk, self.hours_per_month)
    }

    /// $/h while stopped, with `disk` allocated. Meaningless where `stop` is `None`.
    pub fn stopped_rate(&self, disk: Gigabytes) -> HourlyRate {
        self.disk_stopped.per_hour(disk, self.hours_per_month)
    }

    /// Prices move daily: after 30 days they are shown as stale. A day in the future is no age at all.
    pub fn is_stale(&self, today: NaiveDate) -> bool {
        today.signed_duration_since(self.as_of) > TimeDelta::days(STALE_AFTER_DAYS)
    }

    /// Running time as it is billed: at least the minimum, up to the next quantum. No time at all is free.
    pub fn billed_time(&self, ran: TimeDelta) -> TimeDelta {
        if ran <= TimeDelta::zero() {
            return TimeDelta::zero();
        }
        let quantum = i64::from(self.quantum_seconds.get()) * 1000;
        let wanted = ran
            .num_milliseconds()
            .max(i64::from(self.minimum_seconds) * 1000);
        TimeDelta::milliseconds(
            wanted
                .div_euclid(quantum)
                .saturating_add(i64::from(wanted % quantum != 0))
                * quantum,
        )
    }
}

impl StopSupport {
    pub fn exists(self) -> bool {
        self != Self::None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use rust_decimal_macros::dec;

    use super::*;

    /// The 8x RTX 4090 box of 2026-07-31, disk included while running, billed by a month of `hours`.
    pub(crate) fn measured(hours: HoursPerMonth) -> RateCard {
        RateCard {
            running: HourlyRate::new(dec!(3.4828)),
            disk_running: GigabyteMonthRate::ZERO,
            disk_stopped: GigabyteMonthRate::new(dec!(0.20)),
            hours_per_month: hours,
            inbound: GigabyteRate::new(dec!(0.003)),
            outbound: GigabyteRate::ZERO,
            quantum_seconds: NonZeroU32::MIN,
            minimum_seconds: 0,
            stop: StopSupport::KeepsDisk,
            as_of: NaiveDate::from_ymd_opt(2026, 7, 31).expect("a day of the calendar"),
            source: "measured".into(),
        }
    }

    #[test]
    fn the_disk_is_counted_once_while_running() {
        let mut card = measured(HoursPerMonth::THIRTY_DAYS);
        let disk = Gigabytes::new(dec!(250));
        assert_eq!(card.running_rate(disk).figure(), "3.4828");
        card.running = HourlyRate::new(dec!(3.4134));
        card.disk_running = GigabyteMonthRate::new(dec!(0.20));
        assert_eq!(
            card.running_rate(disk).figure(),
            "3.4828",
            "quoted apart: added once"
        );
    }

    #[test]
    fn time_is_billed_up_to_the_quantum_and_never_below_the_minimum() {
        let mut card = measured(HoursPerMonth::THIRTY_DAYS);
        card.quantum_seconds = NonZeroU32::new(60).expect("not zero");
        let billed =
            |card: &RateCard, ms| card.billed_time(TimeDelta::milliseconds(ms)).num_seconds();
        assert_eq!(
            [0, 1, 60_000, 60_001].map(|ms| billed(&card, ms)),
            [0, 60, 60, 120]
        );
        assert_eq!(billed(&card, -5), 0);
        card.minimum_seconds = 90;
        assert_eq!(
            [0, 1, 60_000, 130_000].map(|ms| billed(&card, ms)),
            [0, 120, 120, 180]
        );
    }

    #[test]
    fn prices_are_stale_after_thirty_days() {
        let card = measured(HoursPerMonth::THIRTY_DAYS);
        let day =
            |month, day| NaiveDate::from_ymd_opt(2026, month, day).expect("a day of the calendar");
        assert!(!card.is_stale(day(8, 30)));
        assert!(card.is_stale(day(8, 31)));
        assert!(!card.is_stale(day(1, 1)), "seen in the future");
    }

    #[test]
    fn a_card_survives_the_ledger() -> Result<(), serde_json::Error> {
        let card = measured(HoursPerMonth::THIRTY_DAYS);
        assert_eq!(
            serde_json::from_str::<RateCard>(&serde_json::to_string(&card)?)?,
            card
        );
        let zero_month = serde_json::to_string(&card)?.replace("\"720\"", "\"0\"");
        assert!(serde_json::from_str::<RateCard>(&zero_month).is_err());
        Ok(())
    }
}

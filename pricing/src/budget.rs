//! Caps on money and time: how much is left, and when what burns now will have used it up.

use serde::{Deserialize, Serialize};

use crate::money::{HourlyRate, Money};
use crate::quantity::Hours;

/// The most a run may cost and last. Hard: they beat every other rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    pub max_cost: Option<Money>,
    pub max_hours: Option<Hours>,
}

/// What a run has used of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub money: Money,
    /// Since the box was rented.
    pub time: Hours,
    pub burn: HourlyRate,
}

/// Which cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cap {
    MaxCost,
    MaxHours,
}

/// Where a run stands against its caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The first cap that will be reached at the present burn, if any ever will.
    pub next: Option<Cap>,
    /// In how many hours; zero once it is reached.
    pub reached_in: Option<Hours>,
    pub money_left: Option<Money>,
    pub time_left: Option<Hours>,
}

impl Standing {
    /// The cap that is reached now.
    pub fn reached(&self) -> Option<Cap> {
        self.next
            .filter(|_| self.reached_in.is_some_and(Hours::is_zero))
    }
}

impl Caps {
    /// Compares what was spent with the caps. A cap is reached when it is met, not only when it is passed.
    pub fn standing(&self, spent: &Spent) -> Standing {
        let money_left = self.max_cost.map(|cap| (cap - spent.money).or_zero());
        let time_left = self.max_hours.map(|cap| cap.max(spent.time) - spent.time);
        let by_money = money_left.and_then(|left| {
            if left.is_zero() {
                Some(Hours::ZERO)
            } else {
                left.lasts_at(spent.burn)
            }
        });
        let caps = [(by_money, Cap::MaxCost), (time_left, Cap::MaxHours)];
        let first = caps
            .into_iter()
            .filter_map(|(hours, cap)| hours.map(|hours| (hours, cap)))
            .min_by_key(|(hours, _)| *hours);
        Standing {
            next: first.map(|(_, cap)| cap),
            reached_in: first.map(|(hours, _)| hours),
            money_left,
            time_left,
        }
    }

    /// The longest a box at `burn` can run before a cap ends it: what an estimate without a known duration uses.
    pub fn longest_run(&self, burn: HourlyRate) -> Option<Hours> {
        self.standing(&Spent {
            money: Money::ZERO,
            time: Hours::ZERO,
            burn,
        })
        .reached_in
    }

    /// How far past `max_cost` a run may get that is only looked at every `poll`.
    pub fn overshoot(burn: HourlyRate, poll: Hours) -> Money {
        burn * poll
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rust_decimal::Decimal;
    use rust_decimal_macros::dec;

    use super::*;

    const CAPS: Caps = Caps {
        max_cost: Some(Money::new(dec!(60))),
        max_hours: Some(Hours::new(dec!(16))),
    };

    fn spent(money: Decimal, time: Decimal, burn: Decimal) -> Spent {
        Spent {
            money: Money::new(money),
            time: Hours::new(time),
            burn: HourlyRate::new(burn),
        }
    }

    #[test]
    fn the_cap_that_comes_first_is_named() {
        let standing = CAPS.standing(&spent(dec!(15.83), dec!(4.5), dec!(3.48)));
        assert_eq!(standing.next, Some(Cap::MaxHours));
        assert_eq!(standing.reached_in, Some(Hours::new(dec!(11.5))));
        assert_eq!(standing.money_left, Some(Money::new(dec!(44.17))));
        assert_eq!(standing.reached(), None);
        let dear = CAPS.standing(&spent(dec!(15.83), dec!(4.5), dec!(10)));
        assert_eq!(
            (dear.next, dear.reached_in),
            (Some(Cap::MaxCost), Some(Hours::new(dec!(4.417))))
        );
    }

    #[test]
    fn a_cap_met_or_passed_is_reached() {
        assert_eq!(
            CAPS.standing(&spent(dec!(60), dec!(1), dec!(3))).reached(),
            Some(Cap::MaxCost)
        );
        assert_eq!(
            CAPS.standing(&spent(dec!(61), dec!(1), dec!(0))).reached(),
            Some(Cap::MaxCost),
            "even when nothing burns"
        );
        assert_eq!(
            CAPS.standing(&spent(dec!(1), dec!(17), dec!(3))).reached(),
            Some(Cap::MaxHours)
        );
    }

    #[test]
    fn without_caps_or_burn_nothing_is_ever_reached() {
        assert_eq!(
            Caps::default()
                .standing(&spent(dec!(1000), dec!(1000), dec!(3)))
                .next,
            None
        );
        let only_money = Caps {
            max_hours: None,
            ..CAPS
        };
        assert_eq!(
            only_money.standing(&spent(dec!(1), dec!(1), dec!(0))).next,
            None
        );
    }

    #[test]
    fn the_caps_bound_a_run_of_unknown_length() {
        assert_eq!(
            CAPS.longest_run(HourlyRate::new(dec!(3))),
            Some(Hours::new(dec!(16)))
        );
        assert_eq!(
            CAPS.longest_run(HourlyRate::new(dec!(6))),
            Some(Hours::new(dec!(10)))
        );
        assert_eq!(Caps::default().longest_run(HourlyRate::new(dec!(6))), None);
        assert_eq!(
            Caps::overshoot(HourlyRate::new(dec!(6)), Hours::from_minutes(dec!(5))).to_cents(),
            Money::new(dec!(0.5))
        );
    }

    proptest! {
        #[test]
        fn spending_more_never_puts_a_cap_further_off(money in 0i64..8_000, time in 0i64..2_000, burn in 0i64..1_000, more in 0i64..1_000) {
            let at = |money, time| CAPS.standing(&spent(Decimal::new(money, 2), Decimal::new(time, 2), Decimal::new(burn, 2)));
            let reached_in = |standing: Standing| standing.reached_in.expect("a cap on time is always reached");
            let now = reached_in(at(money, time));
            prop_assert!(reached_in(at(money + more, time)) <= now);
            prop_assert!(reached_in(at(money, time + more)) <= now);
        }
    }
}

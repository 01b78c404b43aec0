//! What a box really costs: the offer's prices hold until its provider shows another.

use chrono::{DateTime, Utc};
use gpurun_pricing::{
    BilledState, GigabyteMonthRate, Gigabytes, HourlyRate, RateCard, StateInterval,
};
use rust_decimal::Decimal;

use super::intervals::{self, End};
use crate::run::{Account, RunRecord};

/// What vendors' figures differ by when they mean the same: half of a tenth of a cent per hour.
const ROUNDING: Decimal = Decimal::from_parts(5, 0, 0, false, 4);

/// The running box costs `price`, as was seen at `at`; before that it was last seen at its old price at `before`.
///
/// A price that was there when the box first came up holds from its order on. A later one gets an account of its own, from
/// the last sighting of the old one where it is dearer, so that no bill is shown too low; else from `at`.
pub(super) fn reprice(
    run: &mut RunRecord,
    price: HourlyRate,
    before: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) {
    let (disk, provider) = (run.spec.disk, run.spec.provider.clone());
    let came_up = run
        .instance
        .as_ref()
        .and_then(|instance| instance.came_up_at);
    let Some(account) = run.accounts.last_mut() else {
        return;
    };
    let old = account.rate_card.running_rate(disk);
    if (price.amount() - old.amount()).abs() <= ROUNDING {
        return;
    }
    let card = amended(&account.rate_card, price, disk, &provider, at);
    if came_up == Some(at) && account.intervals.len() == 1 {
        account.rate_card = card;
        return;
    }
    let from = match before {
        Some(before) if price > old => before,
        _ => at,
    };
    let Some(open) = account.intervals.last() else {
        return;
    };
    let from = from.max(open.from);
    if open.from == from {
        account.intervals.pop();
    } else {
        intervals::close(&mut account.intervals, End::Timed(from));
    }
    let next = Account {
        instance: account.instance.clone(),
        rate_card: card,
        intervals: vec![StateInterval {
            state: BilledState::Running,
            from,
            to: None,
            certain_until: Some(at),
        }],
        inbound: Gigabytes::ZERO,
    };
    if account.intervals.is_empty() && account.inbound == Gigabytes::ZERO {
        *account = next;
    } else {
        run.accounts.push(next);
    }
}

/// The same card with another running price, of which its disk is a part where they are quoted apart.
fn amended(
    card: &RateCard,
    price: HourlyRate,
    disk: Gigabytes,
    provider: &str,
    at: DateTime<Utc>,
) -> RateCard {
    let of_disk = card.disk_running.per_hour(disk, card.hours_per_month);
    let (running, disk_running) = if price >= of_disk {
        (price.amount() - of_disk.amount(), card.disk_running)
    } else {
        (price.amount(), GigabyteMonthRate::ZERO)
    };
    RateCard {
        running: HourlyRate::new(running),
        disk_running,
        as_of: at.date_naive(),
        source: format!("what {provider} says the box costs"),
        ..card.clone()
    }
}

#[cfg(test)]
mod tests {
    use gpurun_pricing::Money;
    use rust_decimal_macros::dec;

    use crate::fixtures::*;
    use crate::*;

    use super::*;

    fn seen_at(hours: f64, price: Decimal) -> Observation {
        let mut view = running();
        if let InstanceView::Running { price: shown, .. } = &mut view {
            *shown = Some(HourlyRate::new(price));
        }
        observation(hours, view)
    }

    /// The figures, of which a launched run has one for sure.
    fn rate(run: &RunRecord) -> HourlyRate {
        run.burn(at(1000.0))
    }

    #[test]
    fn a_price_that_was_there_from_the_first_holds_from_the_order_on() {
        let mut run = rented();
        let agreed = rate(&run).amount();
        absorb(&mut run, &seen_at(1.0, agreed + dec!(1)));
        assert_eq!(run.accounts.len(), 1);
        assert_eq!(rate(&run).amount(), agreed + dec!(1));
    }

    #[test]
    fn a_price_that_changes_later_counts_from_where_no_bill_is_too_low() {
        let mut run = rented();
        let agreed = rate(&run).amount();
        absorb(&mut run, &seen_at(1.0, agreed));
        absorb(&mut run, &seen_at(2.0, agreed));
        let before = run.spent(at(2.0));
        absorb(&mut run, &seen_at(4.0, agreed + dec!(1)));
        assert_eq!(run.accounts.len(), 2);
        let dearer = Money::new((agreed + dec!(1)) * dec!(2));
        assert_eq!(
            (run.spent(at(4.0)) - before).amount().round_dp(6),
            dearer.amount().round_dp(6)
        );
        absorb(&mut run, &seen_at(5.0, agreed));
        let at_five = run.spent(at(5.0));
        assert_eq!(rate(&run).amount(), agreed);
        assert_eq!(
            (run.spent(at(6.0)) - at_five).amount().round_dp(6),
            agreed.round_dp(6),
            "cheaper only from where it was seen"
        );
        assert_eq!(run.estimated(at(6.0)), Money::ZERO);
    }

    #[test]
    fn the_same_price_in_other_digits_changes_nothing() {
        let mut run = rented();
        let agreed = rate(&run).amount();
        let before = run.accounts.clone();
        absorb(&mut run, &seen_at(1.0, agreed + dec!(0.0004)));
        assert_eq!(run.accounts[0].rate_card, before[0].rate_card);
    }
}

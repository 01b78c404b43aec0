//! Boxes too many: one order that made two. They cost what the run's own does, until they are gone.

use chrono::{DateTime, Utc};
use gpurun_pricing::{BilledState, Gigabytes, StateInterval};

use super::intervals::{self, End};
use crate::observation::InstanceView;
use crate::run::{Account, RunRecord};

/// What a readable list says of them.
pub(super) fn absorb(run: &mut RunRecord, view: &InstanceView, at: DateTime<Utc>) {
    let listed: &[String] = match view {
        InstanceView::Several { ids } => ids,
        _ => &[],
    };
    for spare in &mut run.spares {
        if !listed.contains(&spare.instance) {
            intervals::close(&mut spare.intervals, End::Seen(at));
        }
    }
    let own = run.instance.as_ref().map(|instance| instance.id.clone());
    // Where none is known yet, the oldest becomes the run's own.
    let own = own.or_else(|| listed.first().cloned());
    for id in listed.iter().filter(|id| Some(*id) != own.as_ref()) {
        lives(run, id, at);
    }
}

/// The provider accepted its end.
pub(super) fn ended(run: &mut RunRecord, id: Option<&str>, at: DateTime<Utc>) {
    let mut its = run.spares.iter_mut();
    if let Some(spare) = its.find(|spare| Some(spare.instance.as_str()) == id) {
        intervals::close(&mut spare.intervals, End::Timed(at));
    }
}

fn lives(run: &mut RunRecord, id: &str, at: DateTime<Utc>) {
    if let Some(spare) = run.spares.iter_mut().find(|spare| spare.instance == id) {
        if let Some(last) = spare.intervals.last_mut() {
            // Its end was accepted and not done.
            (last.to, last.certain_until) = (None, Some(at));
        }
        return;
    }
    let ordered = run.instance.as_ref().map(|instance| instance.rented_at);
    let from = ordered.or(run.rent_pending_since).unwrap_or(at).min(at);
    let Some(card) = run.rate_card().cloned() else {
        return;
    };
    run.spares.push(Account {
        instance: id.to_owned(),
        rate_card: card,
        intervals: vec![StateInterval {
            state: BilledState::Running,
            from,
            to: None,
            certain_until: Some(at),
        }],
        inbound: Gigabytes::ZERO,
    });
}

#[cfg(test)]
mod tests {
    use gpurun_pricing::HourlyRate;

    use crate::fixtures::*;
    use crate::*;

    fn two(hours: f64) -> Observation {
        let ids = vec!["box-1".to_owned(), "box-2".to_owned()];
        observation(hours, InstanceView::Several { ids })
    }

    #[test]
    fn a_second_box_of_one_order_is_on_the_bill_until_it_is_gone() {
        let mut run = rented();
        let one = run.burn(at(0.5));
        let twice = HourlyRate::new(one.amount() + one.amount());
        absorb(&mut run, &two(1.0));
        assert_eq!(run.burn(at(1.0)), twice);
        let target = Target {
            provider: "market".into(),
            label: run.label.clone(),
            instance: Some("box-2".into()),
        };
        let destroy = Action::DestroyInstance {
            target,
            outcome: None,
        };
        finish(&mut run, &destroy, &ActionResult::done(), at(2.0));
        assert_eq!(run.burn(at(2.0)), one);
        let spent = run.spent(at(2.0));
        // Listed again: it was accepted and not done.
        absorb(&mut run, &two(3.0));
        assert_eq!(run.burn(at(3.0)), twice);
        absorb(&mut run, &observation(4.0, running()));
        assert_eq!(run.burn(at(4.0)), one);
        let hours = (run.spent(at(4.0)) - spent).amount() / one.amount();
        assert_eq!(hours.round_dp(6).normalize().to_string(), "4");
        // Between 3 h, where it was seen, and 4 h, where it wasn't.
        assert_eq!(
            run.estimated(at(4.0)).amount().round_dp(6),
            one.amount().round_dp(6)
        );
    }

    #[test]
    fn before_one_is_adopted_the_others_count_from_the_order() {
        let mut run = requested();
        let rent = decide(&run, &observation(0.0, InstanceView::Absent))
            .actions
            .remove(0);
        begin(&mut run, &rent, start());
        absorb(&mut run, &two(0.5));
        assert_eq!(run.spares.len(), 1);
        assert_eq!(run.spares[0].instance, "box-2");
        assert!(!run.spent(at(0.5)).is_zero());
    }
}

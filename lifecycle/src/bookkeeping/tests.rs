//! The ledger's bill and phases, from what was seen and done.

use gpurun_pricing::{BilledState, HourlyRate, Money};

use crate::fixtures::*;
use crate::*;

/// The billed states, each with the minute of its end.
fn states(run: &RunRecord) -> Vec<(BilledState, Option<i64>)> {
    let intervals = run.accounts.iter().flat_map(|account| &account.intervals);
    intervals
        .map(|interval| {
            let until = interval.to.map(|to| (to - start()).num_minutes());
            (interval.state, until)
        })
        .collect()
}

/// Of each state that is over, the hours in which nobody knows whether it had ended.
fn estimated_hours(run: &RunRecord) -> Vec<i64> {
    let intervals = run.accounts.iter().flat_map(|account| &account.intervals);
    intervals
        .filter_map(|interval| {
            let to = interval.to?;
            let unsure = to - interval.certain_until.unwrap_or(to);
            Some(unsure.num_hours())
        })
        .collect()
}

#[test]
fn a_change_that_nobody_saw_is_billed_at_the_dearer_rate_until_it_was_seen() {
    use BilledState::{Running, Stopped};
    let mut run = launched();
    absorb(&mut run, &observation(1.0, running()));
    absorb(&mut run, &observation(5.0, stopped()));
    assert_eq!(states(&run), [(Running, Some(300)), (Stopped, None)]);
    assert_eq!(estimated_hours(&run), [4], "it was seen running after 1 h");
    let told = InstanceView::Stopped {
        id: "box-1".to_owned(),
        since: Some(at(2.0)),
    };
    let mut run = launched();
    absorb(&mut run, &observation(5.0, told));
    assert_eq!(
        states(&run),
        [(Running, Some(120)), (Stopped, None)],
        "unless the provider says when"
    );
    assert_eq!(estimated_hours(&run), [0]);
}

#[test]
fn an_accepted_destroy_ends_the_bill_when_it_is_seen_to_have_worked() {
    let mut run = launched();
    let target = Target {
        provider: "market".into(),
        label: run.label.clone(),
        instance: Some("box-1".into()),
    };
    let destroy = Action::DestroyInstance {
        target,
        outcome: Some(Outcome::Completed),
    };
    begin(&mut run, &destroy, at(2.0));
    finish(&mut run, &destroy, &ActionResult::done(), at(2.0));
    assert!(
        run.burn(at(3.0)) > HourlyRate::ZERO,
        "a reply proves nothing"
    );
    let mut stays = run.clone();
    absorb(&mut run, &observation(14.0, InstanceView::Absent));
    assert_eq!(states(&run), [(BilledState::Running, Some(120))]);
    assert_eq!(run.estimated(at(20.0)), Money::ZERO, "our own doing");
    assert_eq!(
        run.ended.map(|ended| ended.outcome),
        Some(Outcome::Completed)
    );
    absorb(&mut stays, &observation(3.0, running()));
    absorb(&mut stays, &observation(14.0, InstanceView::Absent));
    assert_eq!(
        states(&stays),
        [(BilledState::Running, Some(840))],
        "it was accepted and not done"
    );
    assert_eq!(estimated_hours(&stays), [11]);
}

#[test]
fn not_seeing_changes_nothing() {
    let mut run = launched();
    absorb(&mut run, &seen(1.0, TrainingState::Running, verified()));
    let before = run.clone();
    let mut blind = observation(9.0, running());
    blind.instance = unknown();
    absorb(&mut run, &blind);
    assert_eq!(run, before);
}

#[test]
fn a_box_that_was_restarted_is_set_up_again() {
    let up = |hours: f64| InstanceView::Running {
        id: "box-1".into(),
        since: Some(at(hours)),
        zero_gpus: false,
        price: None,
    };
    let mut run = launched();
    absorb(&mut run, &observation(1.0, up(0.1)));
    absorb(&mut run, &observation(2.0, up(0.1)));
    assert_eq!(run.phase, Phase::Launched);
    absorb(&mut run, &observation(3.0, up(2.5)));
    assert_eq!(
        run.phase,
        Phase::Rented,
        "by the provider's own clock, so that two clocks never differ"
    );
}

#[test]
fn an_end_under_orders_has_the_order_s_name_unless_it_completed() {
    let order = Ended {
        outcome: Outcome::Capped,
        at: at(1.0),
    };
    let cases = [
        (TrainingState::Killed, Outcome::Capped),
        (TrainingState::Completed, Outcome::Completed),
    ];
    for (state, outcome) in cases {
        let mut run = launched();
        run.end_ordered = Some(order.clone());
        absorb(&mut run, &seen(1.1, state, verified()));
        assert_eq!(run.ended.map(|ended| ended.outcome), Some(outcome));
    }
}

#[test]
fn a_stall_that_resolves_is_no_end() {
    let mut run = launched();
    absorb(&mut run, &seen(1.0, TrainingState::Stalled, verified()));
    assert_eq!(
        run.ended.as_ref().map(|ended| ended.outcome),
        Some(Outcome::Stalled)
    );
    absorb(&mut run, &seen(1.1, TrainingState::Running, verified()));
    assert_eq!(run.ended, None);
}

#[test]
fn a_lease_is_renewed_by_a_start() {
    let mut run = requested();
    run.ready_at = Some(at(0.0));
    ask_start(&mut run, at(1.5));
    assert_eq!(run.ready_at, Some(at(1.5)));
}

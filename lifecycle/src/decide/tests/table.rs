//! The teardown table, row by row.

use gpurun_pricing::StopSupport;

use crate::fixtures::*;
use crate::*;

#[test]
fn a_training_that_runs_is_kept_with_what_the_rest_costs() {
    let plan = look(
        &mut launched(),
        &seen(1.0, TrainingState::Running, unverified()),
    );
    assert_eq!(plan.verdict.kind, VerdictKind::Keep);
    assert_eq!(
        plan.verdict.reason,
        "training, epoch 12 of 100; about 2 h left x $3.4828/h = $6.97"
    );
    assert_eq!(steps(&plan), []);
}

#[test]
fn completed_and_verified_is_destroyed_and_closed_when_read_back() {
    let mut run = launched();
    let plan = look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    assert_eq!(
        plan.verdict.reason,
        "the training completed; last.pt of epoch 12 is verified at /weights/shapes/last.pt; nothing is left on it to pay for"
    );
    begin(&mut run, &plan.actions[0], at(2.0));
    finish(&mut run, &plan.actions[0], &ActionResult::done(), at(2.0));
    let still = look(
        &mut run,
        &observation(
            2.1,
            InstanceView::Destroying {
                id: "box-1".into(),
                since: None,
            },
        ),
    );
    assert!(
        run.phase < Phase::Ended,
        "200 OK proves nothing: {}",
        still.verdict.reason
    );
    let gone = look(&mut run, &observation(2.2, InstanceView::Absent));
    assert_eq!(
        gone.actions,
        [Action::Close {
            outcome: Outcome::Completed
        }]
    );
    assert_eq!(
        gone.verdict.reason,
        "the training completed; the box is gone, read back; $7.79 in all"
    );
}

#[test]
fn completed_with_a_declared_gap_is_compared() {
    let mut run = launched();
    run.gap = Gap::Declared { back_at: at(12.0) };
    let plan = look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    assert_eq!(steps(&plan), [Step::StopInstance]);
    assert!(
        plan.verdict.reason.contains("10 h x $0.0694/h"),
        "{}",
        plan.verdict.reason
    );
    run.gap = Gap::Declared {
        back_at: at(2.0 + 15.0),
    };
    let plan = look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    assert_eq!(
        steps(&plan),
        [Step::DestroyInstance],
        "break-even is at 14.4 h"
    );
}

#[test]
fn a_failure_that_is_verified_stops_by_ski_rental() {
    for state in [TrainingState::Failed, TrainingState::Killed] {
        let mut run = launched();
        let plan = look(&mut run, &seen(2.0, state, verified()));
        assert_eq!(steps(&plan), [Step::StopInstance]);
        assert!(
            plan.verdict.reason.contains("= 14.4 h"),
            "{}",
            plan.verdict.reason
        );
        assert_eq!(plan.attention[0].kind, AttentionKind::TrainingEnded);
    }
}

#[test]
fn without_a_stop_the_table_says_destroy_once_verified() {
    let mut run = launched();
    run.accounts[0].rate_card.stop = StopSupport::None;
    assert_eq!(
        steps(&look(
            &mut run,
            &seen(2.0, TrainingState::Failed, verified())
        )),
        [Step::DestroyInstance]
    );
}

#[test]
fn unverified_work_is_pushed_then_stopped_with_an_alarm_and_never_destroyed() {
    for state in [
        TrainingState::Completed,
        TrainingState::Failed,
        TrainingState::Killed,
    ] {
        let mut run = launched();
        let mut sight = seen(2.0, state, unverified());
        let plan = look(&mut run, &sight);
        assert_eq!(steps(&plan), [Step::PushNow], "within grace");
        assert!(
            plan.verdict
                .reason
                .contains("grace until 2026-12-01 02:30 UTC"),
            "{}",
            plan.verdict.reason
        );
        sight.now = at(2.6);
        let plan = look(&mut run, &sight);
        assert_eq!(
            steps(&plan),
            [Step::PushNow, Step::StopInstance],
            "after grace"
        );
        assert_eq!(plan.attention[0].kind, AttentionKind::Unverified);
        for hours in [3.0, 100.0, 10_000.0] {
            let plan = look(&mut run, &observation(hours, stopped()));
            assert_eq!(steps(&plan), [], "{}", plan.verdict.reason);
            assert_eq!(plan.attention[0].kind, AttentionKind::Unverified);
        }
    }
}

#[test]
fn a_push_that_goes_well_is_waited_for_without_an_alarm() {
    let mut run = launched();
    let mut on_its_way = unverified();
    on_its_way.last_error = None;
    let plan = look(
        &mut run,
        &seen(2.0, TrainingState::Completed, on_its_way.clone()),
    );
    assert_eq!(plan.verdict.kind, VerdictKind::Wait);
    assert_eq!((steps(&plan), plan.attention.len()), (vec![], 0));
    let mut left_alone = seen(2.0, TrainingState::Completed, on_its_way);
    let Sighting::Seen { value, .. } = &mut left_alone.training else {
        unreachable!("seen")
    };
    value.agent = AgentState::Silent;
    assert_eq!(steps(&look(&mut run, &left_alone)), [Step::PushNow]);
}

#[test]
fn unverified_work_where_there_is_no_stop_is_kept_with_an_alarm() {
    let mut run = launched();
    run.accounts[0].rate_card.stop = StopSupport::None;
    let mut sight = seen(2.0, TrainingState::Completed, unverified());
    look(&mut run, &sight);
    sight.now = at(50.0);
    let plan = look(&mut run, &sight);
    assert_eq!(
        (steps(&plan), plan.verdict.kind),
        (vec![Step::PushNow], VerdictKind::Keep)
    );
    assert_eq!(plan.attention[0].kind, AttentionKind::Burning);
}

#[test]
fn a_stalled_training_is_ended_before_its_box() {
    let mut run = launched();
    let plan = look(&mut run, &seen(43.0, TrainingState::Stalled, verified()));
    assert_eq!(steps(&plan), [Step::EndTraining]);
    begin(&mut run, &plan.actions[0], at(43.0));
    let plan = look(&mut run, &seen(43.1, TrainingState::Killed, verified()));
    assert_eq!(steps(&plan), [Step::StopInstance]);
    assert_eq!(run.ended.map(|ended| ended.outcome), Some(Outcome::Stalled));
}

#[test]
fn the_policy_overrides_the_table_but_never_the_verification() {
    use TeardownPolicy::{Destroy, Keep, Learned, SkiRental};
    let cases = [
        (Destroy, TrainingState::Failed, Step::DestroyInstance),
        (SkiRental, TrainingState::Completed, Step::StopInstance),
        (Learned, TrainingState::Completed, Step::StopInstance),
    ];
    for (policy, state, step) in cases {
        let mut run = launched();
        run.spec.stop.policy = policy;
        assert_eq!(
            steps(&look(&mut run, &seen(2.0, state, verified()))),
            [step],
            "{policy:?}"
        );
        let mut run = launched();
        run.spec.stop.policy = policy;
        assert_eq!(
            steps(&look(&mut run, &seen(2.0, state, unverified()))),
            [Step::PushNow],
            "{policy:?}"
        );
    }
    let mut run = launched();
    run.spec.stop.policy = Keep;
    let plan = look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    assert_eq!(
        (steps(&plan), plan.attention[0].kind),
        (vec![], AttentionKind::Burning)
    );
}

#[test]
fn r17_a_stopped_and_forgotten_box_goes_when_its_disk_has_cost_what_it_is_worth() {
    let mut run = launched();
    look(&mut run, &seen(2.0, TrainingState::Failed, verified()));
    assert_eq!(steps(&look(&mut run, &observation(2.1, stopped()))), []);
    let before = look(&mut run, &observation(2.1 + 14.3, stopped()));
    assert_eq!(steps(&before), []);
    assert!(
        before
            .waits
            .iter()
            .any(|wait| wait.on == "break-even" && wait.until > Some(at(16.4)))
    );
    let due = look(&mut run, &observation(2.1 + 14.5, stopped()));
    assert_eq!(steps(&due), [Step::DestroyInstance]);
    assert!(
        due.verdict
            .reason
            .contains("stopped for 14.5 h x $0.0694/h = $1.01"),
        "{}",
        due.verdict.reason
    );
    assert!(
        due.verdict.reason.contains("would have cost $49.49 more"),
        "{}",
        due.verdict.reason
    );
}

#[test]
fn a_declared_return_is_waited_for_and_ski_rental_holds_after_it() {
    let mut run = launched();
    run.gap = Gap::Declared { back_at: at(12.0) };
    look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    assert_eq!(steps(&look(&mut run, &observation(2.0, stopped()))), []);
    assert_eq!(steps(&look(&mut run, &observation(11.9, stopped()))), []);
    assert_eq!(
        steps(&look(&mut run, &observation(16.0, stopped()))),
        [],
        "late, but worth it until 14.4 h"
    );
    assert_eq!(
        steps(&look(&mut run, &observation(16.5, stopped()))),
        [Step::DestroyInstance]
    );
}

//! What a person asks for: stop, start, destroy.

use gpurun_pricing::StopSupport;

use crate::fixtures::*;
use crate::*;

#[test]
fn stop_ends_the_training_then_waits_for_its_checkpoint_then_stops() {
    let mut run = launched();
    ask_stop(&mut run, at(1.0));
    let plan = look(&mut run, &seen(1.0, TrainingState::Running, verified()));
    assert_eq!(steps(&plan), [Step::EndTraining]);
    begin(&mut run, &plan.actions[0], at(1.0));
    let plan = look(&mut run, &seen(1.02, TrainingState::Failed, unverified()));
    assert_eq!(steps(&plan), [Step::PushNow]);
    let plan = look(&mut run, &seen(1.05, TrainingState::Failed, verified()));
    assert_eq!(steps(&plan), [Step::StopInstance]);
    assert!(
        plan.verdict
            .reason
            .contains("$0.0694/h instead of $3.4828/h"),
        "{}",
        plan.verdict.reason
    );
    assert_eq!(run.ended.map(|ended| ended.outcome), Some(Outcome::Stopped));
}

#[test]
fn start_goes_on_from_the_checkpoint_on_the_disk() {
    let mut run = launched();
    ask_stop(&mut run, at(1.0));
    look(&mut run, &seen(1.0, TrainingState::Killed, verified()));
    look(&mut run, &observation(1.1, stopped()));
    ask_start(&mut run, at(5.0));
    let plan = look(&mut run, &observation(5.0, stopped()));
    assert_eq!(steps(&plan), [Step::StartInstance]);
    begin(&mut run, &plan.actions[0], at(5.0));
    finish(&mut run, &plan.actions[0], &ActionResult::done(), at(5.0));
    let plan = look(&mut run, &seen(5.1, TrainingState::Killed, verified()));
    assert_eq!(
        steps(&plan),
        [Step::Install, Step::Prove, Step::Stage, Step::Launch],
        "old evidence is not this launch's"
    );
    let Some(Action::Launch {
        attempt, resume, ..
    }) = plan.actions.last()
    else {
        panic!("{plan:#?}")
    };
    assert_eq!((*attempt, *resume), (2, true));
    assert_eq!(run.relaunches, 0, "asked for");
}

#[test]
fn start_after_the_box_is_gone_brings_the_verified_checkpoint_back_on_a_new_one() {
    let mut run = launched();
    look(&mut run, &seen(2.0, TrainingState::Failed, verified()));
    let closing = look(&mut run, &observation(20.0, InstanceView::Absent));
    finish(
        &mut run,
        &closing.actions[0],
        &ActionResult::done(),
        at(20.0),
    );
    assert_eq!(run.phase, Phase::Ended);
    ask_start(&mut run, at(30.0));
    let plan = look(&mut run, &observation(30.0, InstanceView::Absent));
    use Step::{Install, Launch, Prove, Rent, Restore, Stage};
    assert_eq!(steps(&plan), [Rent, Install, Prove, Stage, Restore, Launch]);
    let Action::Restore { files, .. } = &plan.actions[4] else {
        panic!("{plan:#?}")
    };
    assert_eq!(files[0].dest, "runs/r/weights/last.pt");
    assert!(matches!(
        plan.actions[5],
        Action::Launch {
            attempt: 2,
            resume: true,
            ..
        }
    ));
}

#[test]
fn destroy_pushes_first_and_gives_unverified_work_up_only_after_grace() {
    let mut run = launched();
    ask_destroy(&mut run, false, at(1.0));
    let plan = look(&mut run, &seen(1.0, TrainingState::Running, unverified()));
    assert_eq!(steps(&plan), [Step::EndTraining]);
    begin(&mut run, &plan.actions[0], at(1.0));
    let mut sight = seen(1.1, TrainingState::Killed, unverified());
    assert_eq!(steps(&look(&mut run, &sight)), [Step::PushNow]);
    sight.now = at(1.5);
    assert_eq!(
        steps(&look(&mut run, &sight)),
        [Step::PushNow],
        "grace counts from the training's end"
    );
    sight.now = at(1.7);
    let plan = look(&mut run, &sight);
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    assert_eq!(plan.attention[0].kind, AttentionKind::Lost);
}

#[test]
fn destroy_force_destroys_at_once_and_says_what_is_lost() {
    let mut run = launched();
    ask_destroy(&mut run, true, at(1.0));
    let plan = look(&mut run, &seen(1.0, TrainingState::Running, unverified()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    assert_eq!(plan.attention[0].kind, AttentionKind::Lost);
    begin(&mut run, &plan.actions[0], at(1.0));
    let plan = look(&mut run, &observation(1.1, InstanceView::Absent));
    assert_eq!(
        plan.actions,
        [Action::Close {
            outcome: Outcome::Abandoned
        }]
    );
}

#[test]
fn destroy_of_a_stopped_box_is_at_once_where_everything_is_verified() {
    let mut run = launched();
    look(&mut run, &seen(2.0, TrainingState::Failed, verified()));
    look(&mut run, &observation(2.1, stopped()));
    ask_destroy(&mut run, false, at(3.0));
    assert_eq!(
        steps(&look(&mut run, &observation(3.0, stopped()))),
        [Step::DestroyInstance]
    );
}

#[test]
fn stop_where_there_is_none_destroys_only_what_is_verified() {
    let mut run = launched();
    run.accounts[0].rate_card.stop = StopSupport::None;
    ask_stop(&mut run, at(1.0));
    assert_eq!(
        steps(&look(
            &mut run,
            &seen(1.0, TrainingState::Killed, verified())
        )),
        [Step::DestroyInstance]
    );
    assert_eq!(
        steps(&look(
            &mut run,
            &seen(1.0, TrainingState::Killed, unverified())
        )),
        [Step::PushNow]
    );
    let mut late = seen(1.0, TrainingState::Killed, unverified());
    late.now = at(9.0);
    assert_eq!(steps(&look(&mut run, &late)), [Step::PushNow]);
}

#[test]
fn r26_a_run_that_never_launched_costs_nothing() {
    let mut run = requested();
    ask_destroy(&mut run, false, at(1.0));
    let plan = look(&mut run, &observation(500.0, InstanceView::Absent));
    assert_eq!(
        plan.actions,
        [Action::Close {
            outcome: Outcome::NeverStarted
        }]
    );
    assert!(run.spent(at(500.0)).is_zero());
    assert!(
        plan.verdict.reason.ends_with("$0.00 in all"),
        "{}",
        plan.verdict.reason
    );
}

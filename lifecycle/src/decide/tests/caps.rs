//! Hard caps.

use gpurun_pricing::{Hours, Money, StopSupport};
use rust_decimal_macros::dec;

use crate::fixtures::*;
use crate::*;

fn capped_money() -> RunRecord {
    let mut run = launched();
    run.spec.stop.max_cost = Some(Money::new(dec!(10)));
    run
}

#[test]
fn a_plan_says_when_its_cap_comes_and_by_how_much_it_may_be_passed() {
    let plan = look(
        &mut capped_money(),
        &seen(1.0, TrainingState::Running, verified()),
    );
    let wait = plan
        .waits
        .iter()
        .find(|wait| wait.on == "cap")
        .expect("it waits on the cap");
    // 43 GB inbound are $0.129 of it.
    assert_eq!(
        wait.why,
        "$3.61 of $10.00 spent at $3.4828/h: reached in 1.8 h; ends at the next look after that, at most $0.58 later"
    );
    assert!(plan.attention.is_empty());
    let near = look(
        &mut capped_money(),
        &seen(2.8, TrainingState::Running, verified()),
    );
    assert_eq!(near.attention[0].kind, AttentionKind::Capped);
}

#[test]
fn money_at_its_cap_ends_training_and_box_and_says_what_is_lost() {
    let plan = look(
        &mut capped_money(),
        &seen(3.0, TrainingState::Running, unverified()),
    );
    assert_eq!(
        steps(&plan),
        [Step::EndTraining, Step::PushNow, Step::DestroyInstance]
    );
    assert!(
        plan.verdict
            .reason
            .starts_with("$10.58 spent, and the cap is $10.00"),
        "{}",
        plan.verdict.reason
    );
    let lost = plan
        .attention
        .iter()
        .find(|attention| attention.kind == AttentionKind::Lost)
        .expect("said");
    assert!(
        lost.message
            .contains("last.pt is not verified off the box: no space left"),
        "{}",
        lost.message
    );
}

#[test]
fn time_at_its_cap_stops_where_a_stop_keeps_the_work() {
    let mut run = launched();
    run.spec.stop.max_hours = Some(Hours::new(dec!(3)));
    assert_eq!(
        steps(&look(
            &mut run,
            &seen(2.9, TrainingState::Running, verified())
        )),
        []
    );
    let plan = look(&mut run, &seen(3.0, TrainingState::Running, unverified()));
    assert_eq!(
        steps(&plan),
        [Step::EndTraining, Step::PushNow, Step::StopInstance]
    );
    run.accounts[0].rate_card.stop = StopSupport::None;
    let plan = look(&mut run, &seen(3.0, TrainingState::Running, unverified()));
    assert_eq!(
        steps(&plan),
        [Step::EndTraining, Step::PushNow, Step::DestroyInstance]
    );
}

#[test]
fn what_the_last_push_said_before_the_stop_is_remembered() {
    let mut run = launched();
    run.spec.stop.max_hours = Some(Hours::new(dec!(3)));
    let plan = look(&mut run, &seen(3.0, TrainingState::Running, unverified()));
    for action in &plan.actions {
        begin(&mut run, action, at(3.05));
        let pushed = action.step() == Step::PushNow;
        let mut view = training(TrainingState::Killed);
        view.ended_at = Some(at(3.04));
        let result = ActionResult::Done {
            instance: None,
            training: pushed.then(|| Box::new(view)),
            checkpoints: pushed.then(|| Box::new(verified())),
        };
        finish(&mut run, action, &result, at(3.05));
    }
    assert_eq!(
        run.ended.as_ref().map(|ended| ended.outcome),
        Some(Outcome::Capped)
    );
    let sight = observation(20.0, stopped());
    absorb(&mut run, &sight);
    assert!(work_of(&run, &sight).is_safe());
}

#[test]
fn a_stopped_disk_counts_towards_the_cap_on_money() {
    let mut run = capped_money();
    let mut sight = seen(2.0, TrainingState::Completed, unverified());
    look(&mut run, &sight);
    sight.now = at(2.6);
    look(&mut run, &sight);
    let kept = look(&mut run, &observation(2.6, stopped()));
    assert_eq!(steps(&kept), []);
    let plan = look(&mut run, &observation(2.6 + 24.0, stopped()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    assert!(
        plan.attention
            .iter()
            .any(|attention| attention.kind == AttentionKind::Lost)
    );
}

#[test]
fn not_seeing_postpones_a_stop_and_never_a_hard_cap() {
    let mut run = capped_money();
    look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    let mut blind = observation(2.5, running());
    blind.instance = unknown();
    let plan = look(&mut run, &blind);
    assert_eq!(
        (steps(&plan), plan.verdict.kind),
        (vec![], VerdictKind::Wait)
    );
    blind.now = at(3.0);
    let plan = look(&mut run, &blind);
    assert!(
        steps(&plan).contains(&Step::DestroyInstance),
        "{}",
        plan.verdict.reason
    );
}

#[test]
fn no_box_is_rented_when_nothing_is_left() {
    let mut run = requested();
    run.spec.stop.max_cost = Some(Money::ZERO);
    let plan = look(&mut run, &observation(0.0, InstanceView::Absent));
    assert_eq!(
        plan.actions,
        [Action::Close {
            outcome: Outcome::Capped
        }]
    );
}

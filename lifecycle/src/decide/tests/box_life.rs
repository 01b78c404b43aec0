//! Boxes that come late, twice, broken or not at all.

use crate::fixtures::*;
use crate::*;

fn creating() -> InstanceView {
    InstanceView::Creating {
        id: "box-1".to_owned(),
        since: None,
    }
}

fn fail(run: &mut RunRecord, step: Step, temporary: bool, hours: f64) {
    let action = decide(run, &observation(hours, running()))
        .actions
        .into_iter()
        .find(|action| action.step() == step)
        .expect("the step is planned");
    begin(run, &action, at(hours));
    finish(
        run,
        &action,
        &ActionResult::Failed {
            temporary,
            message: "no".to_owned(),
        },
        at(hours),
    );
}

#[test]
fn the_first_plan_is_the_whole_way_to_a_training() {
    let plan = look(&mut requested(), &observation(0.0, InstanceView::Absent));
    use Step::{Install, Launch, Prove, Rent, Stage};
    assert_eq!(steps(&plan), [Rent, Install, Prove, Stage, Launch]);
    assert_eq!(
        plan.verdict.reason,
        "no box yet: 4090x8 on market at $3.4828/h with 250 GB"
    );
}

#[test]
fn r7_a_lost_create_is_looked_for_and_never_repeated_blindly() {
    let mut run = requested();
    let rent = decide(&run, &observation(0.0, InstanceView::Absent))
        .actions
        .remove(0);
    begin(&mut run, &rent, start());
    // Killed here. The list lags.
    let plan = look(&mut run, &observation(0.01, InstanceView::Absent));
    assert_eq!(
        (plan.verdict.kind, steps(&plan)),
        (VerdictKind::Wait, vec![])
    );
    let mut blind = observation(1.0, InstanceView::Absent);
    blind.instance = unknown();
    assert_eq!(steps(&look(&mut run, &blind)), []);
    let plan = look(&mut run, &observation(0.02, running()));
    use Step::{Adopt, Install, Launch, Prove, Stage};
    assert_eq!(steps(&plan), [Adopt, Install, Prove, Stage, Launch]);
    finish(&mut run, &plan.actions[0], &ActionResult::done(), at(0.02));
    assert_eq!(
        run.accounts[0].intervals[0].from,
        start(),
        "billed from the call on"
    );
    let mut never = requested();
    begin(&mut never, &rent, start());
    let plan = look(&mut never, &observation(0.1, InstanceView::Absent));
    assert!(
        steps(&plan).contains(&Step::Rent),
        "proven absent after the lag"
    );
}

#[test]
fn r1_of_two_boxes_the_ledgers_stays() {
    let both = |ids: [&str; 2]| InstanceView::Several {
        ids: ids.map(str::to_owned).to_vec(),
    };
    let plan = look(&mut launched(), &observation(1.0, both(["box-0", "box-1"])));
    assert_eq!(plan.actions.len(), 1);
    assert_eq!(
        plan.actions[0]
            .target()
            .and_then(|target| target.instance.as_deref()),
        Some("box-0")
    );
    let plan = look(
        &mut requested(),
        &observation(1.0, both(["box-0", "box-1"])),
    );
    assert_eq!(steps(&plan), [Step::Adopt, Step::DestroyInstance]);
    assert_eq!(
        plan.actions[1]
            .target()
            .and_then(|target| target.instance.as_deref()),
        Some("box-1")
    );
    let plan = look(&mut launched(), &observation(1.0, both(["box-8", "box-9"])));
    assert_eq!(steps(&plan), [], "neither is the one that trains");
}

#[test]
fn r8_a_box_that_never_comes_up_is_given_back_for_the_next_offer() {
    let mut run = rented();
    assert_eq!(steps(&look(&mut run, &observation(0.2, creating()))), []);
    let plan = look(&mut run, &observation(0.3, creating()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    begin(&mut run, &plan.actions[0], at(0.3));
    let plan = look(&mut run, &observation(0.4, InstanceView::Absent));
    let Action::Rent { offer, .. } = &plan.actions[0] else {
        panic!("{plan:#?}")
    };
    assert_eq!(offer.id, "offer-2");
    let [tried] = &run.tried[..] else {
        panic!("{:#?}", run.tried)
    };
    assert_eq!(
        (tried.offer.as_str(), tried.host.as_deref()),
        ("offer-1", Some("host of offer-1"))
    );
    assert_eq!(tried.lost, Some(run.spent(at(0.4))));
    assert!(run.spent(at(0.4)) > gpurun_pricing::Money::ZERO);
}

#[test]
fn r13_a_device_that_fails_its_proof_is_given_back_and_the_run_ends_with_the_last_offer() {
    let mut run = rented();
    fail(&mut run, Step::Prove, false, 0.1);
    let plan = look(&mut run, &observation(0.1, running()));
    assert!(
        matches!(
            plan.actions[..],
            [Action::DestroyInstance { outcome: None, .. }]
        ),
        "{plan:#?}"
    );
    begin(&mut run, &plan.actions[0], at(0.1));
    let plan = look(&mut run, &observation(0.2, InstanceView::Absent));
    begin(&mut run, &plan.actions[0], at(0.2));
    let rented = ActionResult::Done {
        instance: Some("box-1".to_owned()),
        training: None,
        checkpoints: None,
    };
    finish(&mut run, &plan.actions[0], &rented, at(0.2));
    fail(&mut run, Step::Prove, false, 0.3);
    let plan = look(&mut run, &observation(0.3, running()));
    assert!(
        matches!(
            plan.actions[..],
            [Action::DestroyInstance {
                outcome: Some(Outcome::NeverStarted),
                ..
            }]
        ),
        "{plan:#?}"
    );
}

#[test]
fn a_step_that_fails_for_a_while_is_tried_again_later_each_time() {
    let mut run = rented();
    look(&mut run, &observation(0.1, running()));
    fail(&mut run, Step::Install, true, 0.1);
    let plan = look(&mut run, &observation(0.1, running()));
    assert_eq!(
        (plan.verdict.kind, steps(&plan)),
        (VerdictKind::Wait, vec![])
    );
    assert_eq!(
        steps(&look(&mut run, &observation(0.12, running()))).first(),
        Some(&Step::Install)
    );
    fail(&mut run, Step::Install, true, 0.12);
    assert_eq!(
        steps(&look(&mut run, &observation(0.14, running()))),
        [],
        "now twice as long"
    );
    fail(&mut run, Step::Install, true, 0.2);
    assert_eq!(
        steps(&look(&mut run, &observation(0.2, running()))),
        [Step::DestroyInstance]
    );
}

#[test]
fn r25_no_offer_left_closes_with_what_was_tried() {
    let mut run = requested();
    for hours in [0.0, 0.1] {
        let rent = look(&mut run, &observation(hours, InstanceView::Absent))
            .actions
            .remove(0);
        begin(&mut run, &rent, at(hours));
        let gone = ActionResult::Failed {
            temporary: false,
            message: "offer gone".to_owned(),
        };
        finish(&mut run, &rent, &gone, at(hours));
    }
    let plan = look(&mut run, &observation(0.2, InstanceView::Absent));
    assert_eq!(
        plan.actions,
        [Action::Close {
            outcome: Outcome::NeverStarted
        }]
    );
    assert_eq!(plan.attention[0].kind, AttentionKind::NoCapacity);
    assert!(
        plan.attention[0]
            .message
            .contains("offer-1: offer gone; offer-2: offer gone")
    );
}

#[test]
fn r4_a_destroy_that_is_refused_is_repeated_alarmed_and_still_counted() {
    let mut run = launched();
    let plan = look(&mut run, &seen(2.0, TrainingState::Completed, verified()));
    begin(&mut run, &plan.actions[0], at(2.0));
    let refused = ActionResult::Failed {
        temporary: true,
        message: "500".to_owned(),
    };
    finish(&mut run, &plan.actions[0], &refused, at(2.0));
    for hours in [2.5, 12.0, 26.0] {
        let mut sight = seen(2.0, TrainingState::Completed, verified());
        sight.now = at(hours);
        let plan = look(&mut run, &sight);
        assert_eq!(steps(&plan), [Step::DestroyInstance]);
        assert!(
            plan.attention
                .iter()
                .any(|attention| attention.kind == AttentionKind::Refused)
        );
    }
    assert_eq!(run.spent(at(26.0)).to_string(), "$90.68");
    let going = InstanceView::Destroying {
        id: "box-1".to_owned(),
        since: None,
    };
    assert_eq!(
        steps(&look(&mut run, &observation(27.0, going))),
        [Step::DestroyInstance]
    );
    assert!(run.burn(at(27.0)) > gpurun_pricing::HourlyRate::ZERO);
}

#[test]
fn r13_a_card_that_dies_at_its_first_kernel_goes_back_before_the_install_and_its_host_is_remembered()
 {
    let mut run = rented();
    for offer in &mut run.spec.offers {
        offer.host = Some("host-7".to_owned());
    }
    let install = look(&mut run, &observation(0.01, running()))
        .actions
        .remove(0);
    assert_eq!(install.step(), Step::Install);
    begin(&mut run, &install, at(0.01));
    let message = "GPU 0 fails its first kernel".to_owned();
    finish(
        &mut run,
        &install,
        &ActionResult::Unfit { message },
        at(0.01),
    );
    let plan = look(&mut run, &observation(0.011, running()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    begin(&mut run, &plan.actions[0], at(0.011));
    finish(&mut run, &plan.actions[0], &ActionResult::done(), at(0.011));
    let next = look(&mut run, &observation(0.012, InstanceView::Absent));
    let tried = &run.tried[0];
    assert_eq!(
        (tried.host.as_deref(), tried.why.as_str()),
        (Some("host-7"), "GPU 0 fails its first kernel")
    );
    assert!(tried.lost.is_some_and(|lost| !lost.is_zero()));
    assert_eq!(steps(&next)[0], Step::Rent, "the next offer");
}

#[test]
fn a_box_that_vanishes_is_told_with_what_is_safe() {
    let mut run = launched();
    look(&mut run, &seen(2.0, TrainingState::Running, verified()));
    let plan = look(&mut run, &observation(3.0, InstanceView::Absent));
    assert_eq!(
        plan.actions,
        [Action::Close {
            outcome: Outcome::Vanished
        }]
    );
    assert!(
        plan.attention[0]
            .message
            .contains("last.pt is safe at /weights"),
        "{}",
        plan.attention[0].message
    );
    assert_eq!(run.burn(at(9.0)), gpurun_pricing::HourlyRate::ZERO);
}

#[test]
fn an_interruption_goes_on_by_itself_as_often_as_the_job_allows() {
    let mut run = launched();
    run.spec.stop.max_relaunches = 1;
    look(&mut run, &seen(2.0, TrainingState::Running, verified()));
    let plan = look(&mut run, &observation(3.0, InstanceView::Absent));
    assert_eq!(steps(&plan).first(), Some(&Step::Rent));
    assert!(steps(&plan).contains(&Step::Restore));
    begin(&mut run, &plan.actions[0], at(3.0));
    let rented = ActionResult::Done {
        instance: Some("box-2".to_owned()),
        training: None,
        checkpoints: None,
    };
    finish(&mut run, &plan.actions[0], &rented, at(3.0));
    let plan = look(&mut run, &observation(4.0, InstanceView::Absent));
    assert_eq!(steps(&plan), [Step::Close]);
}

#[test]
fn r20_a_restart_without_gpus_bills_nothing_further_and_goes_on_elsewhere() {
    let mut run = launched();
    ask_stop(&mut run, at(1.0));
    look(&mut run, &seen(1.0, TrainingState::Killed, verified()));
    look(&mut run, &observation(1.1, stopped()));
    ask_start(&mut run, at(5.0));
    let plan = look(&mut run, &observation(5.0, stopped()));
    finish(&mut run, &plan.actions[0], &ActionResult::done(), at(5.0));
    let empty = InstanceView::Running {
        id: "box-1".to_owned(),
        since: None,
        zero_gpus: true,
        price: None,
    };
    let plan = look(&mut run, &observation(5.1, empty));
    assert!(
        matches!(
            plan.actions[..],
            [Action::DestroyInstance { outcome: None, .. }]
        ),
        "{plan:#?}"
    );
    begin(&mut run, &plan.actions[0], at(5.1));
    let plan = look(&mut run, &observation(5.2, InstanceView::Absent));
    assert_eq!(steps(&plan).first(), Some(&Step::Rent));
    assert!(matches!(
        plan.actions.last(),
        Some(Action::Launch {
            attempt: 2,
            resume: true,
            ..
        })
    ));
}

#[test]
fn r20_a_restart_that_finds_no_free_gpu_is_rebuilt_elsewhere() {
    let mut run = launched();
    look(&mut run, &seen(1.0, TrainingState::Killed, verified()));
    look(&mut run, &observation(1.1, stopped()));
    ask_start(&mut run, at(5.0));
    let plan = look(&mut run, &observation(5.0, stopped()));
    let full = ActionResult::Failed {
        temporary: false,
        message: "no free GPU on the host".to_owned(),
    };
    finish(&mut run, &plan.actions[0], &full, at(5.0));
    let plan = look(&mut run, &observation(5.1, stopped()));
    assert!(
        matches!(
            plan.actions[..],
            [Action::DestroyInstance { outcome: None, .. }]
        ),
        "{plan:#?}"
    );
}

#[test]
fn a_bare_box_lives_as_long_as_its_lease() {
    let mut run = requested();
    run.spec.launch = None;
    let plan = look(&mut run, &observation(0.0, InstanceView::Absent));
    assert_eq!(
        steps(&plan),
        [Step::Rent, Step::Install, Step::Prove, Step::Stage]
    );
    for action in &plan.actions {
        begin(&mut run, action, start());
        let instance = Some("box-1".to_owned());
        finish(
            &mut run,
            action,
            &ActionResult::Done {
                instance,
                training: None,
                checkpoints: None,
            },
            start(),
        );
    }
    let plan = look(&mut run, &observation(1.9, running()));
    assert_eq!(
        (plan.verdict.kind, plan.waits[0].until),
        (VerdictKind::Keep, Some(at(2.0)))
    );
    let plan = look(&mut run, &observation(2.0, running()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    begin(&mut run, &plan.actions[0], at(2.0));
    let plan = look(&mut run, &observation(2.1, InstanceView::Absent));
    assert_eq!(
        plan.actions,
        [Action::Close {
            outcome: Outcome::LeaseOver
        }]
    );
}

#[test]
fn a_launch_that_the_ledger_missed_is_found_on_the_box() {
    let mut run = rented();
    let plan = look(&mut run, &seen(0.3, TrainingState::Running, verified()));
    assert_eq!(
        (plan.verdict.kind, run.phase, run.launches),
        (VerdictKind::Keep, Phase::Launched, 1)
    );
}

#[test]
fn a_silent_agent_makes_every_look_push() {
    let mut sight = seen(1.0, TrainingState::Running, unverified());
    let Sighting::Seen { value, .. } = &mut sight.training else {
        unreachable!("seen")
    };
    value.agent = AgentState::Silent;
    let plan = look(&mut launched(), &sight);
    assert_eq!(
        (plan.verdict.kind, steps(&plan)),
        (VerdictKind::Keep, vec![Step::PushNow])
    );
    assert_eq!(plan.attention[0].kind, AttentionKind::AgentSilent);
}

#[test]
fn a_training_nobody_sees_is_waited_for_and_told_after_a_while() {
    let mut run = launched();
    look(&mut run, &seen(1.0, TrainingState::Running, verified()));
    let plan = look(&mut run, &observation(1.1, running()));
    assert_eq!(
        (plan.verdict.kind, plan.attention.len()),
        (VerdictKind::Wait, 0)
    );
    let plan = look(&mut run, &observation(2.0, running()));
    assert_eq!(
        (steps(&plan), plan.attention[0].kind),
        (vec![], AttentionKind::Unseen)
    );
}

#[test]
fn r24_a_laptop_that_slept_finds_the_right_times() {
    let mut run = launched();
    look(&mut run, &seen(1.0, TrainingState::Running, verified()));
    // Asleep for twelve hours; the training completed after the third.
    let mut sight = seen(13.0, TrainingState::Completed, verified());
    let Sighting::Seen { value, .. } = &mut sight.training else {
        unreachable!("seen")
    };
    value.ended_at = Some(at(3.0));
    assert_eq!(steps(&look(&mut run, &sight)), [Step::DestroyInstance]);
    assert_eq!(run.ended.as_ref().map(|ended| ended.at), Some(at(3.0)));
    assert_eq!(
        steps(&look(&mut run, &sight)),
        [Step::DestroyInstance],
        "looking twice changes nothing"
    );
}

#[test]
fn a_box_that_does_not_know_the_key_gets_it_again_until_its_time_is_up() {
    let mut run = rented();
    let locked = || InstanceView::Locked {
        id: "box-1".to_owned(),
    };
    let plan = look(&mut run, &observation(0.1, locked()));
    assert_eq!(steps(&plan), [Step::Authorize]);
    assert_eq!(plan.verdict.kind, VerdictKind::Wait);
    let plan = look(&mut run, &observation(0.3, locked()));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    let mut unknown = requested();
    let plan = look(&mut unknown, &observation(0.0, locked()));
    assert_eq!(steps(&plan), [Step::Adopt]);
}

#[test]
fn what_was_wrong_with_a_broken_box_is_kept_with_its_offer() {
    let mut run = rented();
    let broken = InstanceView::Broken {
        id: "box-1".to_owned(),
        since: None,
        why: "no space left on device".to_owned(),
    };
    let plan = look(&mut run, &observation(0.1, broken));
    assert_eq!(steps(&plan), [Step::DestroyInstance]);
    begin(&mut run, &plan.actions[0], at(0.1));
    look(&mut run, &observation(0.2, InstanceView::Absent));
    assert_eq!(run.tried[0].why, "no space left on device");
}

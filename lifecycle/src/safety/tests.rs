//! The lint finds each fault, and no plan that is decided has one.

use proptest::prelude::*;

use super::{PlanFault, lint};
use crate::fixtures::*;
use crate::*;

/// What the lint says of `plan` for a launched run whose training goes on.
fn faults(plan: &Plan) -> Vec<PlanFault> {
    let mut run = launched();
    let sight = seen(1.0, TrainingState::Running, unverified());
    absorb(&mut run, &sight);
    lint(&run, &sight, plan).err().unwrap_or_default()
}

fn plan(kind: VerdictKind, actions: Vec<Action>) -> Plan {
    let verdict = Verdict {
        kind,
        reason: "because".to_owned(),
    };
    Plan {
        run: "7f3a".to_owned(),
        at: at(1.0),
        verdict,
        actions,
        waits: Vec::new(),
        attention: Vec::new(),
    }
}

fn target(instance: Option<&str>) -> Target {
    Target {
        provider: "market".to_owned(),
        label: "gpurun-7f3a".to_owned(),
        instance: instance.map(str::to_owned),
    }
}

fn ours() -> Target {
    target(Some("box-1"))
}

fn destroy(target: Target) -> Action {
    Action::DestroyInstance {
        target,
        outcome: Some(Outcome::Failed),
    }
}

fn launch() -> Action {
    let steps = decide(&requested(), &observation(0.0, InstanceView::Absent)).actions;
    steps
        .into_iter()
        .find(|action| action.step() == Step::Launch)
        .expect("planned")
}

#[test]
fn work_that_is_not_off_the_box_is_not_ended_with_it() {
    let found = faults(&plan(VerdictKind::Destroy, vec![destroy(ours())]));
    let step = Step::DestroyInstance;
    let what = "last.pt is not verified off the box: no space left at /weights".to_owned();
    assert_eq!(
        found,
        [
            PlanFault::Unverified { step, what },
            PlanFault::SilentLoss,
            PlanFault::TrainingRuns(step)
        ]
    );
    let found = faults(&plan(
        VerdictKind::Stop,
        vec![Action::StopInstance { target: ours() }],
    ));
    assert!(
        found
            .iter()
            .any(|fault| matches!(fault, PlanFault::Unverified { .. })),
        "{found:?}"
    );
}

#[test]
fn nothing_is_done_to_a_box_that_is_not_ours() {
    for id in ["box-2", "somebody's"] {
        let found = faults(&plan(VerdictKind::Destroy, vec![destroy(target(Some(id)))]));
        assert!(
            found
                .iter()
                .any(|fault| matches!(fault, PlanFault::NotOurs { .. })),
            "{found:?}"
        );
    }
    let labelled = Target {
        label: "mine".to_owned(),
        ..ours()
    };
    let found = faults(&plan(
        VerdictKind::Push,
        vec![Action::PushNow { target: labelled }],
    ));
    assert!(
        matches!(found[..], [PlanFault::NotOurs { .. }]),
        "{found:?}"
    );
    let found = faults(&plan(
        VerdictKind::Push,
        vec![Action::PushNow {
            target: target(None),
        }],
    ));
    assert_eq!(found, [PlanFault::NoInstance(Step::PushNow)]);
}

#[test]
fn no_second_box_no_second_training_no_open_end() {
    let rent = decide(&requested(), &observation(0.0, InstanceView::Absent))
        .actions
        .remove(0);
    assert_eq!(
        faults(&plan(VerdictKind::SetUp, vec![rent.clone()])),
        [PlanFault::SecondBox]
    );
    let mut pending = requested();
    begin(&mut pending, &rent, start());
    let too_early = observation(0.01, InstanceView::Absent);
    let found = lint(&pending, &too_early, &plan(VerdictKind::SetUp, vec![rent]));
    assert_eq!(found, Err(vec![PlanFault::SecondBox]));
    let Action::Launch {
        spec, checkpoints, ..
    } = launch()
    else {
        unreachable!("a launch")
    };
    let second = Action::Launch {
        target: ours(),
        spec,
        checkpoints,
        attempt: 2,
        resume: true,
    };
    assert_eq!(
        faults(&plan(VerdictKind::SetUp, vec![second])),
        [PlanFault::SecondTraining]
    );
    let close = Action::Close {
        outcome: Outcome::Completed,
    };
    assert_eq!(
        faults(&plan(VerdictKind::Close, vec![close])),
        [PlanFault::OpenEnd]
    );
}

#[test]
fn nothing_is_ended_blindly() {
    let mut run = launched();
    absorb(&mut run, &seen(1.0, TrainingState::Completed, verified()));
    let mut blind = observation(1.1, running());
    blind.instance = unknown();
    let found = lint(
        &run,
        &blind,
        &plan(VerdictKind::Destroy, vec![destroy(ours())]),
    );
    assert_eq!(found, Err(vec![PlanFault::Blind(Step::DestroyInstance)]));
    run.spec.stop.max_hours = Some(gpurun_pricing::Hours::new(rust_decimal::Decimal::ONE));
    assert_eq!(
        lint(
            &run,
            &blind,
            &plan(VerdictKind::Destroy, vec![destroy(ours())])
        ),
        Ok(()),
        "a cap is hard"
    );
}

#[test]
fn a_verdict_has_a_reason_and_agrees_with_its_actions_in_their_order() {
    let mut silent = plan(VerdictKind::Keep, Vec::new());
    for reason in ["", " ", "two\nlines"] {
        silent.verdict.reason = reason.to_owned();
        assert_eq!(faults(&silent), [PlanFault::NoReason]);
    }
    for kind in [
        VerdictKind::Stop,
        VerdictKind::Destroy,
        VerdictKind::Start,
        VerdictKind::Push,
        VerdictKind::End,
    ] {
        assert_eq!(
            faults(&plan(kind, Vec::new())),
            [PlanFault::VerdictDisagrees(kind)]
        );
    }
    let push = Action::PushNow { target: ours() };
    let end = Action::EndTraining {
        target: ours(),
        why: String::new(),
        outcome: Outcome::Stopped,
    };
    let found = faults(&plan(VerdictKind::End, vec![push, end.clone()]));
    assert!(matches!(found[..], [PlanFault::Order(_)]), "{found:?}");
    let kept = faults(&plan(VerdictKind::Keep, vec![end]));
    assert_eq!(kept, [PlanFault::VerdictDisagrees(VerdictKind::Keep)]);
}

fn box_view() -> impl Strategy<Value = InstanceView> {
    let id = || prop::sample::select(vec!["box-1".to_owned(), "box-2".to_owned()]);
    let since = || prop::option::of((0.0..30.0).prop_map(at));
    prop_oneof![
        2 => Just(InstanceView::Absent),
        1 => (id(), since()).prop_map(|(id, since)| InstanceView::Creating { id, since }),
        1 => id().prop_map(|id| InstanceView::Locked { id }),
        6 => (id(), since(), prop::bool::weighted(0.1))
            .prop_map(|(id, since, zero_gpus)| InstanceView::Running { id, since, zero_gpus, price: None }),
        1 => (id(), since()).prop_map(|(id, since)| InstanceView::Stopping { id, since }),
        3 => (id(), since()).prop_map(|(id, since)| InstanceView::Stopped { id, since }),
        1 => (id(), since()).prop_map(|(id, since)| InstanceView::Destroying { id, since }),
        1 => (id(), since()).prop_map(|(id, since)| InstanceView::Broken { id, since, why: "host down".to_owned() }),
        1 => prop::sample::select(vec![vec!["box-1", "box-2"], vec!["box-2", "box-3"]])
            .prop_map(|ids| InstanceView::Several { ids: ids.into_iter().map(str::to_owned).collect() }),
    ]
}

fn training_view() -> impl Strategy<Value = TrainingView> {
    use TrainingState::{Completed, Failed, Killed, NotLaunched, Running, Stalled, Starting};
    let state = prop::sample::select(vec![
        NotLaunched,
        Starting,
        Running,
        Completed,
        Failed,
        Killed,
        Stalled,
    ]);
    let agent = prop::sample::select(vec![
        AgentState::Alive,
        AgentState::Silent,
        AgentState::Missing,
    ]);
    let ended = prop::option::of((0.0..40.0).prop_map(at));
    (state, prop::option::of(0u32..4), agent, ended).prop_map(|(state, attempt, agent, ended)| {
        TrainingView {
            attempt,
            agent,
            ended_at: ended.filter(|_| state.is_over()),
            ..training(state)
        }
    })
}

fn sighting<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
    hours: f64,
) -> impl Strategy<Value = Sighting<T>> {
    prop::option::weighted(0.8, value).prop_map(move |value| match value {
        Some(value) => Sighting::Seen {
            value,
            at: at(hours),
        },
        None => unknown(),
    })
}

prop_compose! {
    fn any_look()(hours in 0.0..40.0)(
        hours in Just(hours), instance in sighting(box_view(), hours), training in sighting(training_view(), hours),
        checkpoints in sighting(prop::sample::select(vec![verified(), unverified(), CheckpointView::default()]), hours),
    ) -> Observation {
        Observation { now: at(hours), instance, training, checkpoints }
    }
}

/// What may come of an action, by number.
fn result_of(action: &Action, luck: u8) -> ActionResult {
    let instance = (action.step() == Step::Rent).then(|| "box-1".to_owned());
    let message = "no".to_owned();
    match luck {
        0 => ActionResult::Unclear { message },
        1 => ActionResult::Failed {
            temporary: true,
            message,
        },
        2 => ActionResult::Failed {
            temporary: false,
            message,
        },
        _ => ActionResult::Done {
            instance,
            training: None,
            checkpoints: None,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    /// Any history of sightings, however absurd, any luck, any wishes: each plan on the way passes the lint, survives
    /// JSON, and deciding twice decides the same.
    #[test]
    fn no_plan_has_a_fault(
        mut looks in prop::collection::vec((any_look(), 0u8..12, prop::option::weighted(0.2, 0u8..5)), 1..12),
        policy in 0usize..4, stops in any::<bool>(), max_cost in prop::option::of(1u32..60), back in prop::option::of(0.0..50.0),
    ) {
        use TeardownPolicy::{Default, Destroy, Keep, SkiRental};
        let mut run = requested();
        run.spec.stop.policy = [Default, SkiRental, Destroy, Keep][policy];
        run.spec.stop.max_relaunches = 1;
        run.spec.stop.max_cost = max_cost.map(|dollars| gpurun_pricing::Money::new(dollars.into()));
        run.gap = back.map_or(Gap::Unknown, |hours| Gap::Declared { back_at: at(hours) });
        if !stops {
            run.spec.offers.iter_mut().for_each(|offer| offer.card.stop = gpurun_pricing::StopSupport::None);
        }
        looks.sort_by_key(|(look, _, _)| look.now);
        for (look, luck, wish) in looks {
            match wish {
                Some(0 | 1) => ask_start(&mut run, look.now),
                Some(2) => ask_stop(&mut run, look.now),
                Some(force) => ask_destroy(&mut run, force == 3, look.now),
                None => {}
            }
            absorb(&mut run, &look);
            let plan = decide(&run, &look);
            prop_assert_eq!(lint(&run, &look, &plan), Ok(()), "{:#?}\n{:#?}", plan, look);
            prop_assert_eq!(&decide(&run, &look), &plan);
            for action in &plan.actions {
                begin(&mut run, action, look.now);
                finish(&mut run, action, &result_of(action, luck), look.now);
            }
            let stored = serde_json::to_string(&run).expect("writes");
            prop_assert_eq!(&serde_json::from_str::<RunRecord>(&stored).expect("reads"), &run);
            let printed = serde_json::to_string(&plan).expect("writes");
            prop_assert_eq!(&serde_json::from_str::<Plan>(&printed).expect("reads"), &plan);
        }
    }
}

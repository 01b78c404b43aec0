use gpurun_lifecycle::{Action, ActionResult, Outcome as RunOutcome, TriedOffer, VerdictKind};
use gpurun_pricing::Hours;
use gpurun_pricing::break_even::PastGap;
use rust_decimal::Decimal;

use super::Outcome;
use super::fixtures::{insert, look, minute, plan, target};
use crate::store::{GapEnd, Ledger};

const RUN: &str = "k3v9x2mq7d";

#[test]
fn an_action_is_in_the_ledger_before_it_is_done() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, RUN, "shapes")?;
    let stop = Action::StopInstance {
        target: target("box-1"),
    };
    let (id, run) = ledger.begin(RUN, &stop, minute(1))?;
    assert_eq!(
        run.stop_ordered_at,
        Some(minute(1)),
        "the record says so as well"
    );

    let after_a_kill = Ledger::open(folder.path())?;
    let begun = &after_a_kill.actions(RUN, 1)?[0];
    assert_eq!((&begun.action, begun.begun_at), (&stop, minute(1)));
    assert_eq!(begun.result, None, "what came of it is not known");

    let failed = ActionResult::Failed {
        temporary: true,
        message: "no answer".to_owned(),
    };
    let run = ledger.finish(&id, &failed, minute(2))?;
    assert_eq!(run.failures.len(), 1);
    assert!(ledger.actions(RUN, 1)?[0].result.is_some());
    let close = Action::Close {
        outcome: RunOutcome::Completed,
    };
    ledger.begin(RUN, &close, minute(3))?;
    let actions = ledger.actions(RUN, 10)?;
    assert_eq!((&actions[0].action, &actions[0].result), (&close, &None));
    assert_eq!(
        (&actions[1].action, &actions[1].result),
        (&stop, &Some(failed))
    );
    assert_eq!(
        (actions[1].begun_at, actions[1].finished_at),
        (minute(1), Some(minute(2)))
    );
    assert_eq!(ledger.actions(RUN, 1)?.len(), 1);
    Ok(())
}

#[test]
fn an_action_of_an_unknown_run_is_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    let stop = Action::StopInstance {
        target: target("box-1"),
    };
    assert!(ledger.begin("nobody", &stop, minute(1)).is_err());
    assert!(
        ledger
            .record_plan(
                &plan("nobody", minute(1), VerdictKind::Keep, Vec::new()),
                &look(minute(1))
            )
            .is_err()
    );
    Ok(())
}

#[test]
fn the_same_answer_again_only_moves_its_end() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, RUN, "shapes")?;
    for at in [1, 2, 3] {
        ledger.record_plan(
            &plan(RUN, minute(at), VerdictKind::Keep, Vec::new()),
            &look(minute(at)),
        )?;
    }
    let stop = || {
        vec![Action::StopInstance {
            target: target("box-1"),
        }]
    };
    for at in [4, 5] {
        ledger.record_plan(
            &plan(RUN, minute(at), VerdictKind::Stop, stop()),
            &look(minute(at)),
        )?;
    }
    ledger.record_plan(
        &plan(RUN, minute(6), VerdictKind::Keep, Vec::new()),
        &look(minute(6)),
    )?;

    let decisions = ledger.decisions(RUN, 10)?;
    let shape: Vec<_> = decisions
        .iter()
        .rev()
        .map(|decision| (decision.plan.verdict.kind, decision.times))
        .collect();
    let expected = [
        (VerdictKind::Keep, 3),
        (VerdictKind::Stop, 1),
        (VerdictKind::Stop, 1),
        (VerdictKind::Keep, 1),
    ];
    assert_eq!(
        shape, expected,
        "what is done is kept each time, what is waited for once"
    );
    let kept = &decisions[3];
    assert_eq!((kept.first_at, kept.last_at), (minute(1), minute(3)));
    assert_eq!(
        (&kept.plan.at, &kept.observation),
        (&minute(3), &look(minute(3))),
        "the newest reason is shown"
    );
    assert_eq!(ledger.latest_plans()?, [decisions[0].plan.clone()]);
    Ok(())
}

#[test]
fn pauses_are_remembered_with_how_they_ended() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, RUN, "shapes")?;
    ledger.open_gap(RUN, minute(0))?;
    ledger.open_gap(RUN, minute(30))?;
    assert_eq!(ledger.past_gaps()?, [], "one that goes on says nothing yet");
    ledger.close_gap(RUN, minute(120), GapEnd::Returned)?;
    ledger.close_gap(RUN, minute(500), GapEnd::Never)?;
    ledger.open_gap(RUN, minute(600))?;
    ledger.close_gap(RUN, minute(700), GapEnd::Never)?;
    assert_eq!(
        ledger.past_gaps()?,
        [
            PastGap::Returned(Hours::new(Decimal::from(2))),
            PastGap::Never
        ]
    );
    Ok(())
}

#[test]
fn a_bad_machine_is_remembered_longer_than_its_run_blames_it() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, RUN, "shapes")?;
    let blame = |host: Option<&str>, at: i64, why: &str| TriedOffer {
        offer: "24500001".to_owned(),
        at: minute(at),
        why: why.to_owned(),
        host: host.map(str::to_owned),
        lost: None,
    };
    ledger.update(RUN, None, |run| {
        run.tried = vec![
            blame(Some("m-7"), 1, "it never came up"),
            blame(None, 1, "the offer is gone"),
        ];
    })?;
    ledger.update(RUN, None, |run| run.tried.clear())?;
    let known = |since: i64| -> Result<Vec<(String, String)>, Box<dyn std::error::Error>> {
        let hosts = ledger.bad_hosts(minute(since))?;
        Ok(hosts.into_iter().map(|bad| (bad.host, bad.why)).collect())
    };
    let first = ("m-7".to_owned(), "it never came up".to_owned());
    assert_eq!(known(0)?, [first]);
    assert_eq!(known(2)?, [], "that was long ago");
    ledger.update(RUN, None, |run| {
        run.tried.push(blame(Some("m-7"), 5, "a GPU is missing"))
    })?;
    assert_eq!(
        known(2)?,
        [("m-7".to_owned(), "a GPU is missing".to_owned())]
    );
    Ok(())
}

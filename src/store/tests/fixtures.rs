//! A run to put into ledgers.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_lifecycle::{
    Action, CheckpointSpec, CheckpointView, Engine, Gap, InstallSpec, InstanceView, Observation,
    Plan, ProveSpec, RunRecord, RunSpec, Sighting, StopSpec, Target, TeardownPolicy, TimingSpec,
    Verdict, VerdictKind, Wait,
};
use gpurun_pricing::break_even::{RebuildTerms, RestartOdds};
use gpurun_pricing::{Gigabytes, Hours, Money, Probability};

use crate::store::{Event, EventKind, Ledger, StoreError};

/// Minute `minute` of the day the ledger was made for.
pub(crate) fn minute(minute: i64) -> DateTime<Utc> {
    let day: DateTime<Utc> = "2026-12-01T00:00:00Z"
        .parse()
        .expect("a day of the calendar");
    day + TimeDelta::minutes(minute)
}

pub(crate) fn run(id: &str, name: &str) -> RunRecord {
    RunRecord::new(id, name, spec(), Gap::Unknown, minute(0))
}

pub(crate) fn insert(ledger: &Ledger, id: &str, name: &str) -> Result<RunRecord, StoreError> {
    let record = run(id, name);
    let event = Event {
        at: minute(0),
        kind: EventKind::Created,
        detail: "gpurun launch".to_owned(),
    };
    ledger.insert(&record, &event)?;
    Ok(record)
}

pub(super) fn target(instance: &str) -> Target {
    Target {
        provider: "local".to_owned(),
        label: "gpurun-k3v9x2mq7d".to_owned(),
        instance: Some(instance.to_owned()),
    }
}

pub(super) fn plan(run: &str, at: DateTime<Utc>, kind: VerdictKind, actions: Vec<Action>) -> Plan {
    let verdict = Verdict {
        kind,
        reason: format!("looked at {at}"),
    };
    let wait = Wait {
        on: "training".to_owned(),
        until: None,
        why: format!("{at}"),
    };
    Plan {
        run: run.to_owned(),
        at,
        verdict,
        actions,
        waits: vec![wait],
        attention: Vec::new(),
    }
}

pub(super) fn look(now: DateTime<Utc>) -> Observation {
    let unknown = || "not asked".to_owned();
    Observation {
        now,
        instance: Sighting::Seen {
            value: InstanceView::Absent,
            at: now,
        },
        training: Sighting::Unknown {
            why: unknown(),
            since: None,
        },
        checkpoints: Sighting::Seen {
            value: CheckpointView::default(),
            at: now,
        },
    }
}

fn spec() -> RunSpec {
    let engine = Engine::Command;
    RunSpec {
        provider: "local".to_owned(),
        offers: Vec::new(),
        disk: Gigabytes::ZERO,
        image: None,
        price_limit: None,
        volume: None,
        install: InstallSpec {
            engine,
            extras: Vec::new(),
            version: None,
        },
        prove: ProveSpec {
            engine,
            device: "cpu".to_owned(),
        },
        stage: None,
        launch: None,
        checkpoints: CheckpointSpec {
            to: "weights".to_owned(),
            files: vec!["*.pt".to_owned()],
            first_best: true,
            each_best: true,
            epochs: true,
            every_minutes: None,
            at_end: true,
        },
        stop: StopSpec {
            max_hours: None,
            max_cost: None,
            policy: TeardownPolicy::Default,
            grace_seconds: 600,
            lease: Hours::ZERO,
            stall_seconds: 600,
            stall_epochs: 3,
            poll_seconds: 60,
            max_relaunches: 1,
        },
        rebuild: RebuildTerms {
            setup: Hours::ZERO,
            resume: Hours::ZERO,
            retry: Money::ZERO,
            inbound: Gigabytes::ZERO,
        },
        restart_odds: RestartOdds::constant(Probability::CERTAIN),
        timing: TimingSpec {
            boot_seconds: 600,
            list_lag_seconds: 60,
            retry_seconds: 10,
            retry_limit: 5,
        },
    }
}

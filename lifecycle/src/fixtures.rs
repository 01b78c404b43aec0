//! Runs and sightings for tests: the measured 8x RTX 4090 box with 250 GB, a training of 100 epochs.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use gpurun_pricing::break_even::{RebuildTerms, RestartOdds};
use gpurun_pricing::{
    GigabyteMonthRate, GigabyteRate, Gigabytes, HourlyRate, Hours, HoursPerMonth, Money, Offer,
    Probability, RateCard, StopSupport,
};
use rust_decimal_macros::dec;

use crate::*;

/// `hours` after the tests' first moment.
pub(crate) fn at(hours: f64) -> DateTime<Utc> {
    start()
        + TimeDelta::from_std(std::time::Duration::from_secs_f64(hours).saturating_mul(3600))
            .expect("not too long")
}

pub(crate) fn start() -> DateTime<Utc> {
    NaiveDate::from_ymd_opt(2026, 12, 1)
        .and_then(|day| day.and_hms_opt(0, 0, 0))
        .expect("a day")
        .and_utc()
}

pub(crate) fn card() -> RateCard {
    RateCard {
        running: HourlyRate::new(dec!(3.4828)),
        disk_running: GigabyteMonthRate::ZERO,
        disk_stopped: GigabyteMonthRate::new(dec!(0.20)),
        hours_per_month: HoursPerMonth::THIRTY_DAYS,
        inbound: GigabyteRate::new(dec!(0.003)),
        outbound: GigabyteRate::ZERO,
        quantum_seconds: NonZeroU32::MIN,
        minimum_seconds: 0,
        stop: StopSupport::KeepsDisk,
        as_of: NaiveDate::from_ymd_opt(2026, 7, 31).expect("a day"),
        source: "measured".to_owned(),
    }
}

pub(crate) fn offer(id: &str) -> Offer {
    Offer {
        host: Some(format!("host of {id}")),
        ..Offer::new("market", id, "4090x8".parse().expect("a GPU"), card())
    }
}

pub(crate) fn spec() -> RunSpec {
    let argv = vec!["gpurun-train".to_owned(), "epochs=100".to_owned()];
    RunSpec {
        provider: "market".to_owned(),
        offers: vec![offer("offer-1"), offer("offer-2")],
        disk: Gigabytes::new(dec!(250)),
        image: None,
        install: InstallSpec {
            engine: Engine::GpurunTrain,
            extras: Vec::new(),
            version: None,
        },
        price_limit: None,
        volume: None,
        prove: ProveSpec {
            device: "0".to_owned(),
            engine: Engine::GpurunTrain,
        },
        stage: Some(StageSpec {
            source: "/data/set".to_owned(),
            bytes: 43_000_000_000,
            fingerprint: "f1".to_owned(),
            dest: "data/set".to_owned(),
        }),
        launch: Some(LaunchSpec {
            resume_argv: Some([argv.as_slice(), &["resume=true".to_owned()]].concat()),
            argv,
            env: BTreeMap::new(),
            working_dir: String::new(),
            run_dir: "runs/r".to_owned(),
        }),
        checkpoints: CheckpointSpec {
            to: "/weights".to_owned(),
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
            grace_seconds: 1800,
            lease: Hours::new(dec!(2)),
            stall_seconds: 900,
            stall_epochs: 10,
            poll_seconds: 600,
            max_relaunches: 0,
        },
        rebuild: RebuildTerms {
            setup: Hours::new(dec!(0.25)),
            resume: Hours::ZERO,
            retry: Money::ZERO,
            inbound: Gigabytes::new(dec!(43)),
        },
        restart_odds: RestartOdds::constant(Probability::CERTAIN),
        timing: TimingSpec {
            boot_seconds: 900,
            list_lag_seconds: 120,
            retry_seconds: 60,
            retry_limit: 3,
        },
    }
}

pub(crate) fn requested() -> RunRecord {
    RunRecord::new("7f3a", "shapes", spec(), Gap::Unknown, start())
}

/// Rented at once as `box-1`, launched after a quarter of an hour.
pub(crate) fn launched() -> RunRecord {
    let mut run = requested();
    let seen = observation(0.0, InstanceView::Absent);
    for action in decide(&run, &seen).actions {
        let now = if action.step() == Step::Rent {
            start()
        } else {
            at(0.25)
        };
        begin(&mut run, &action, now);
        let instance = (action.step() == Step::Rent).then(|| "box-1".to_owned());
        let done = ActionResult::Done {
            instance,
            training: None,
            checkpoints: None,
        };
        finish(&mut run, &action, &done, now);
    }
    assert_eq!((run.phase, run.launches), (Phase::Launched, 1));
    run
}

pub(crate) fn rented() -> RunRecord {
    let mut run = requested();
    let rent = decide(&run, &observation(0.0, InstanceView::Absent))
        .actions
        .remove(0);
    begin(&mut run, &rent, start());
    let instance = Some("box-1".to_owned());
    finish(
        &mut run,
        &rent,
        &ActionResult::Done {
            instance,
            training: None,
            checkpoints: None,
        },
        start(),
    );
    run
}

pub(crate) fn running() -> InstanceView {
    InstanceView::Running {
        id: "box-1".to_owned(),
        since: None,
        zero_gpus: false,
        price: None,
    }
}

pub(crate) fn stopped() -> InstanceView {
    InstanceView::Stopped {
        id: "box-1".to_owned(),
        since: None,
    }
}

pub(crate) fn unknown<T>() -> Sighting<T> {
    Sighting::Unknown {
        why: "no answer".to_owned(),
        since: None,
    }
}

/// Only the provider answered.
pub(crate) fn observation(hours: f64, view: InstanceView) -> Observation {
    let now = at(hours);
    let instance = Sighting::Seen {
        value: view,
        at: now,
    };
    Observation {
        now,
        instance,
        training: unknown(),
        checkpoints: unknown(),
    }
}

pub(crate) fn training(state: TrainingState) -> TrainingView {
    TrainingView {
        state,
        attempt: Some(1),
        epoch: Some(12),
        total_epochs: Some(100),
        best: None,
        eta_seconds: (state == TrainingState::Running).then_some(7200),
        mean_epoch_milliseconds: Some(60_000),
        last_progress_at: None,
        started_at: Some(at(0.25)),
        ended_at: None,
        error: None,
        exit_code: None,
        signal: None,
        agent: AgentState::Alive,
    }
}

pub(crate) fn verified() -> CheckpointView {
    CheckpointView {
        to_fetch: Vec::new(),
        newest_on_box: Some(FileStamp {
            name: "weights/last.pt".to_owned(),
            sha256: Some("aa".to_owned()),
            bytes: 9,
            modified_at: at(1.0),
        }),
        newest_verified: Some(Verified {
            file: "last.pt".to_owned(),
            sha256: "aa".to_owned(),
            bytes: 9,
            epoch: Some(12),
            milestone: "end".to_owned(),
            location: "/weights/shapes/last.pt".to_owned(),
            verified_at: at(1.0),
        }),
        all_verified: true,
        pending: Vec::new(),
        last_error: None,
    }
}

pub(crate) fn unverified() -> CheckpointView {
    CheckpointView {
        all_verified: false,
        pending: vec!["last.pt".to_owned()],
        last_error: Some("no space left at /weights".to_owned()),
        ..verified()
    }
}

/// Everybody answered: the box runs.
pub(crate) fn seen(hours: f64, state: TrainingState, checkpoints: CheckpointView) -> Observation {
    let now = at(hours);
    let mut view = training(state);
    if state.is_over() {
        view.ended_at = Some(now);
    }
    Observation {
        training: Sighting::Seen {
            value: view,
            at: now,
        },
        checkpoints: Sighting::Seen {
            value: checkpoints,
            at: now,
        },
        ..observation(hours, running())
    }
}

/// Looks and decides as the shell does, and holds the plan against [`lint`].
pub(crate) fn look(run: &mut RunRecord, seen: &Observation) -> Plan {
    absorb(run, seen);
    let plan = decide(run, seen);
    assert_eq!(lint(run, seen, &plan), Ok(()), "{plan:#?}");
    plan
}

pub(crate) fn steps(plan: &Plan) -> Vec<Step> {
    plan.actions.iter().map(Action::step).collect()
}

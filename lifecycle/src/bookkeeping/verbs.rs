//! What the person asks for. Each verb changes the intent and what follows from the wish itself; the
//! next plan does the rest.

use chrono::{DateTime, Utc};

use crate::run::{Intent, Phase, RunRecord, RunSpec};

/// `gpurun start`: go on, on the stopped box or, where it is gone, on a new one.
pub fn ask_start(run: &mut RunRecord, now: DateTime<Utc>) {
    let over = run.ended.is_some() || run.end_ordered.is_some() || run.instance.is_none();
    run.start_asked = over || run.intent != Intent::Run;
    run.intent = Intent::Run;
    run.asked_at = now;
    // A lease begins anew.
    run.ready_at = run.ready_at.map(|_| now);
    run.force = false;
    run.relaunches = 0;
    run.failures.clear();
    run.tried.clear();
    run.stop_ordered_at = None;
    (run.destroy_ordered_at, run.destroy_outcome) = (None, None);
    let (ended, end_ordered) = (run.ended.take(), run.end_ordered.take());
    if ended.is_some() || end_ordered.is_some() {
        // The training that ended is not the one wanted now.
        run.phase = run.phase.min(Phase::Rented);
    }
    if run.instance.is_none() {
        run.phase = Phase::Requested;
    }
}

/// `gpurun launch --on`: the bare box of this run gets a training. Only what is done on the box is taken from
/// `job`: where it came from and what it costs stay.
pub fn ask_train(run: &mut RunRecord, job: RunSpec, now: DateTime<Utc>) {
    ask_start(run, now);
    run.spec.install = job.install;
    run.spec.prove = job.prove;
    run.spec.stage = job.stage;
    run.spec.launch = job.launch;
    run.spec.checkpoints = job.checkpoints;
    run.spec.stop = job.stop;
    run.ready_at = None;
    run.phase = run.phase.min(Phase::Rented);
}

/// `gpurun stop`: end the training and keep the disk.
pub fn ask_stop(run: &mut RunRecord, now: DateTime<Utc>) {
    run.intent = Intent::Stop;
    run.asked_at = now;
}

/// `gpurun destroy`: end the training and the box. `force` gives unverified checkpoints up.
pub fn ask_destroy(run: &mut RunRecord, force: bool, now: DateTime<Utc>) {
    run.intent = Intent::Destroy;
    run.asked_at = now;
    run.force = force;
}

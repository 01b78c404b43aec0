//! The thread that watches the run directory and pushes. However slow or broken the destination, nothing else
//! waits for it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::{DateTime, Utc};
use gpurun_protocol::agent_spec::{AgentSpec, PushSpec};
use gpurun_protocol::exit_report::NotPushed;
use gpurun_protocol::heartbeat::{PushError, PushState};
use gpurun_protocol::manifest::Manifest;

use super::backoff::retry_at;
use super::clock;
use super::companions::OutputFrom;
use super::files::read_json;
use super::journal::Journal;
use super::layout::Layout;
use super::milestones::{Trigger, due};
use super::push_pass::{self, Outcome, PushJob};
use super::scan::{Look, look};
use super::stability::Stability;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A running pusher.
#[derive(Debug)]
pub(crate) struct Pusher {
    orders: Sender<Order>,
    shared: Arc<Mutex<Shared>>,
    thread: JoinHandle<()>,
}

/// What the pusher needs to know.
#[derive(Debug, Clone)]
pub(crate) struct PusherConfig {
    pub(crate) layout: Layout,
    pub(crate) spec: AgentSpec,
    pub(crate) push: PushSpec,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) output_from: OutputFrom,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    /// The training has ended: push what is left, then end.
    Finish,
}

#[derive(Debug, Default)]
struct Shared {
    state: PushState,
    not_pushed: Vec<NotPushed>,
}

impl Pusher {
    pub(crate) fn start(config: PusherConfig, journal: Arc<Journal>) -> std::io::Result<Pusher> {
        let (orders, inbox) = mpsc::channel();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("push".to_owned())
            .spawn(move || watch(&config, &inbox, &theirs, &journal))?;
        Ok(Pusher {
            orders,
            shared,
            thread,
        })
    }

    pub(crate) fn state(&self) -> PushState {
        lock(&self.shared).state.clone()
    }

    /// Files that are due and not at the destination, and why.
    pub(crate) fn not_pushed(&self) -> Vec<NotPushed> {
        lock(&self.shared).not_pushed.clone()
    }

    /// The training has ended: push what is left.
    pub(crate) fn finish(&self) {
        // A pusher that is gone is finished.
        let _ = self.orders.send(Order::Finish);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

fn watch(
    config: &PusherConfig,
    inbox: &Receiver<Order>,
    shared: &Mutex<Shared>,
    journal: &Journal,
) {
    let job = PushJob {
        layout: &config.layout,
        spec: &config.spec,
        push: &config.push,
        started_at: config.started_at,
        output_from: config.output_from,
    };
    let run_dir = config.layout.resolve(&config.spec.run_dir);
    let mut stability = Stability::default();
    let mut manifest = read_json::<Manifest>(&config.layout.manifest())
        .ok()
        .flatten()
        .filter(|manifest| manifest.run_id == config.spec.run_id);
    let mut trigger = Trigger::Watch;
    let mut failures = 0;
    let mut not_before: Option<DateTime<Utc>> = None;

    loop {
        match inbox.recv_timeout(LOOK_EVERY) {
            Ok(Order::Finish) => {
                trigger = Trigger::End;
                not_before = None;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = clock::now();
        let seen = match look(&run_dir, &config.push.files) {
            Ok(seen) => seen,
            Err(error) => {
                journal.note(&format!("can't look into {}: {error}", run_dir.display()));
                Look::default()
            }
        };
        stability.observe(&seen, now);
        let waiting = due(
            &config.push,
            &seen,
            manifest.as_ref(),
            trigger,
            config.started_at,
            now,
        );
        lock(shared).state.pending = waiting.iter().map(|due| due.file.name.clone()).collect();

        // With the training over nothing changes any more.
        let settled = |name: &str| trigger == Trigger::End || stability.settled(name);
        let ready = trigger == Trigger::End || waiting.iter().any(|due| settled(&due.file.name));
        if !ready || not_before.is_some_and(|time| now < time) {
            continue;
        }
        let busy = |file: Option<&str>| lock(shared).state.in_flight = file.map(str::to_owned);
        let outcome = push_pass::run(&job, &seen, trigger, &settled, &busy);
        let failed_at = clock::now();
        failures = if outcome.failed.is_empty() {
            0
        } else {
            failures + 1
        };
        not_before = (failures > 0).then(|| retry_at(failures, failed_at));
        record(shared, journal, &outcome, failures, failed_at, not_before);
        if outcome.manifest.is_some() {
            manifest = outcome.manifest;
        }
        if trigger == Trigger::End && failures == 0 {
            return;
        }
    }
}

fn record(
    shared: &Mutex<Shared>,
    journal: &Journal,
    outcome: &Outcome,
    failures: u32,
    at: DateTime<Utc>,
    retry_at: Option<DateTime<Utc>>,
) {
    for file in &outcome.pushed {
        journal.note(&format!("pushed {file}"));
    }
    for file in &outcome.pruned {
        journal.note(&format!("removed {file}: the destination holds it"));
    }
    for (file, why) in &outcome.failed {
        journal.note(&format!("can't push {file}: {why}"));
    }
    let mut shared = lock(shared);
    shared.not_pushed = outcome
        .failed
        .iter()
        .chain(&outcome.unfit)
        .map(|(file, why)| NotPushed {
            file: file.clone(),
            why: why.clone(),
        })
        .collect();
    let state = &mut shared.state;
    state.pending.retain(|file| !outcome.pushed.contains(file));
    state.pruned.extend(outcome.pruned.iter().cloned());
    if !outcome.pushed.is_empty() {
        state.last_success_at = Some(at);
    }
    state.last_error = outcome.failed.first().map(|(file, message)| PushError {
        file: file.clone(),
        message: message.clone(),
        at,
        failures,
        retry_at,
    });
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Each field is whole on its own, also after a panic elsewhere.
    shared
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

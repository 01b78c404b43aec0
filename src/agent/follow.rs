//! The agent's watch over a training, from its first moment to the last push.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::exit_report::{End, ExitReport, NotPushed};
use gpurun_protocol::heartbeat::{AgentPhase, ProcessRef};
use nix::sys::signal::Signal;

use super::error::AgentError;
use super::heartbeat::Heart;
use super::journal::Journal;
use super::layout::Layout;
use super::pusher::{Pusher, PusherConfig};
use super::request::{self, EndRequest};
use super::training::{Training, TrainingRecord, mark, members, signal_all};
use super::{cgroup, clock, exits, signals};

/// How often the agent looks at its training and its orders.
const TICK: Duration = Duration::from_millis(200);

/// What stays the same while an agent lives.
pub(crate) struct Agent<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) spec: &'a AgentSpec,
    pub(crate) me: ProcessRef,
    pub(crate) journal: Arc<Journal>,
}

/// What was ordered of a running training.
struct Ending {
    order: EndRequest,
    kill_at: Instant,
    killed: bool,
}

/// Stays with a running training until it has ended and its last files are off the box.
pub(crate) fn follow(agent: &Agent<'_>, mut training: Training) -> Result<(), AgentError> {
    if let Err(error) = training.write_record(agent.layout) {
        // Its mark finds it again.
        agent
            .journal
            .note(&format!("can't record the training: {error}"));
    }
    let record = training.record.clone();
    let mut heart = Heart::start(agent, &record);
    let mut pusher = start_pusher(agent, &record);
    let mut ending: Option<Ending> = None;

    let end = loop {
        if let Some(end) = training.poll() {
            break end;
        }
        if let Some(order) = next_order(agent, ending.as_ref()) {
            agent
                .journal
                .note(&format!("ending the training: {}", order.why));
            signal_all(&record, &mark(agent.layout, agent.spec), Signal::SIGTERM);
            let grace = Duration::from_secs(order.grace_seconds.into());
            ending = Some(Ending {
                order,
                kill_at: Instant::now() + grace,
                killed: false,
            });
        }
        if let Some(ending) = &mut ending
            && !ending.killed
            && Instant::now() >= ending.kill_at
        {
            agent
                .journal
                .note("the grace is over: killing the training");
            signal_all(&record, &mark(agent.layout, agent.spec), Signal::SIGKILL);
            ending.killed = true;
        }
        if pusher.as_ref().is_some_and(Pusher::is_finished) {
            agent
                .journal
                .note("the pusher broke down: starting it again");
            pusher = start_pusher(agent, &record);
        }
        let phase = match ending {
            Some(_) => AgentPhase::Ending,
            None => AgentPhase::Training,
        };
        heart.beat(phase, pusher.as_ref());
        thread::sleep(TICK);
    };

    agent
        .journal
        .note(&format!("the training has ended: {end:?}"));
    let mut exit = ExitReport {
        requested: ending.map(|ending| ending.order.why),
        not_pushed: pusher.as_ref().map(pending).unwrap_or_default(),
        out_of_memory_kills: cgroup::out_of_memory_kills()
            .zip(record.out_of_memory_kills)
            .map(|(now, before)| now.saturating_sub(before)),
        ..exits::of(agent.spec, Some(&record), end, clock::now())
    };
    write_provisionally(agent, &exit);
    exit.strays = end_strays(agent, &record);
    see_off(agent, exit, &mut heart, pusher.as_ref())
}

/// Sees off a training that ended while no agent lived.
pub(crate) fn finish(
    agent: &Agent<'_>,
    record: &TrainingRecord,
    exit: Option<ExitReport>,
) -> Result<(), AgentError> {
    let exit = exit.unwrap_or_else(|| ExitReport {
        strays: end_strays(agent, record),
        ..exits::of(agent.spec, Some(record), End::Unobserved, clock::now())
    });
    let mut heart = Heart::start(agent, record);
    let pusher = start_pusher(agent, record);
    see_off(agent, exit, &mut heart, pusher.as_ref())
}

/// The last push, however long it takes: only a signal ends it before all is at the destination.
fn see_off(
    agent: &Agent<'_>,
    mut exit: ExitReport,
    heart: &mut Heart<'_>,
    pusher: Option<&Pusher>,
) -> Result<(), AgentError> {
    if let Some(pusher) = pusher {
        exit.not_pushed = pending(pusher);
        write_provisionally(agent, &exit);
        pusher.finish();
        while !pusher.is_finished() {
            heart.beat(AgentPhase::FinalPush, Some(pusher));
            if signals::asked_to_end() {
                agent
                    .journal
                    .note("told to end before everything was pushed");
                break;
            }
            thread::sleep(TICK);
        }
        exit.not_pushed = pusher.not_pushed();
    }
    exit.push_finished = true;
    exits::write(agent.layout, &exit)?;
    heart.beat(AgentPhase::Ended, pusher);
    Ok(())
}

/// The exit status is known now, to readers too; what else there is to say follows.
fn write_provisionally(agent: &Agent<'_>, exit: &ExitReport) {
    if let Err(error) = exits::write(agent.layout, exit) {
        // Pushing may make room.
        agent.journal.note(&error.to_string());
    }
}

/// An order that is not being carried out yet: a new `end.json`, or a signal to the agent.
fn next_order(agent: &Agent<'_>, ending: Option<&Ending>) -> Option<EndRequest> {
    let spec = agent.spec;
    let written = request::waiting(agent.layout, &spec.run_id, spec.attempt)
        .filter(|order| ending.is_none_or(|ending| ending.order != *order));
    // A second signal means now.
    let grace_seconds = ending.map_or(spec.grace_seconds, |_| 0);
    written.or_else(|| {
        signals::asked_to_end().then(|| EndRequest {
            run_id: spec.run_id.clone(),
            attempt: spec.attempt,
            why: "the agent was told to end by a signal".to_owned(),
            grace_seconds,
            at: clock::now(),
        })
    })
}

/// Kills what outlived the training's first process: it would hold GPU memory and write files. Says how many.
pub(super) fn end_strays(agent: &Agent<'_>, record: &TrainingRecord) -> u32 {
    const GRACE: Duration = Duration::from_secs(2);

    let mark = mark(agent.layout, agent.spec);
    // Workers that are on their way out are no strays.
    let wait_for_none = |grace: Duration| {
        let deadline = Instant::now() + grace;
        loop {
            let left = members(record, &mark);
            if left.is_empty() || Instant::now() >= deadline {
                return left;
            }
            thread::sleep(TICK / 4);
        }
    };
    let strays = wait_for_none(GRACE);
    if strays.is_empty() {
        return 0;
    }
    agent.journal.note(&format!(
        "killing {} processes the training left behind",
        strays.len()
    ));
    signal_all(record, &mark, Signal::SIGKILL);
    wait_for_none(GRACE);
    u32::try_from(strays.len()).unwrap_or(u32::MAX)
}

fn start_pusher(agent: &Agent<'_>, record: &TrainingRecord) -> Option<Pusher> {
    let config = PusherConfig {
        layout: agent.layout.clone(),
        spec: agent.spec.clone(),
        push: agent.spec.push.clone()?,
        started_at: record.started_at,
        output_from: record.output_from,
    };
    Pusher::start(config, Arc::clone(&agent.journal))
        .inspect_err(|error| {
            agent
                .journal
                .note(&format!("can't start the pusher: {error}"))
        })
        .ok()
}

fn pending(pusher: &Pusher) -> Vec<NotPushed> {
    let still = |file| NotPushed {
        file,
        why: "the last push is under way".to_owned(),
    };
    pusher.state().pending.into_iter().map(still).collect()
}

//! The agent itself: starts the training, or takes it over, stays with it to the end, and sees its last files off
//! the box.

use std::fs;
use std::sync::Arc;

use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::exit_report::{End, ExitReport};

use super::begin::{self, Beginning, Found};
use super::error::AgentError;
use super::exits;
use super::files::read_json;
use super::follow::{Agent, finish, follow};
use super::journal::Journal;
use super::layout::Layout;
use super::lock::{AgentLock, Holder, Tried};
use super::spec::read_spec;
use super::training::{Training, TrainingRecord, mark};
use super::usage::Units;
use super::{clock, process, signals};

/// Runs one attempt to its end in this process.
///
/// # Errors
/// When the spec can't be read, another agent lives on the box, or another attempt's training does.
pub(crate) fn run(layout: &Layout) -> Result<(), AgentError> {
    let spec = read_spec(layout)?;
    signals::catch().map_err(|error| AgentError::io(&layout.journal(), error))?;
    let me = process::myself().map_err(|error| AgentError::io(&layout.journal(), error))?;
    let mut lock = match AgentLock::try_take(layout)? {
        Tried::Taken(lock) => lock,
        Tried::HeldBy(holder) => return Err(held(holder)),
    };
    lock.sign(
        layout,
        &Holder {
            agent: me.clone(),
            run_id: spec.run_id.clone(),
            attempt: spec.attempt,
        },
    )?;
    let journal = Arc::new(Journal::new(layout.journal()));
    let agent = Agent {
        layout,
        spec: &spec,
        me,
        journal,
    };
    match begin::decide(&spec, look_around(layout, &spec)?) {
        Beginning::Nothing => Ok(()),
        Beginning::Refuse(record) => Err(AgentError::OtherTraining {
            run_id: record.run_id,
            attempt: record.attempt,
            pid: record.process.pid,
        }),
        Beginning::Launch => launch(&agent),
        Beginning::Adopt(record) => {
            agent.journal.note("took over the running training");
            follow(&agent, Training::adopt(record))
        }
        Beginning::Finish(found) => {
            let (record, exit) = *found;
            finish(&agent, &record, exit)
        }
    }
}

/// What the files and the process table say about trainings on this box.
pub(crate) fn look_around(layout: &Layout, spec: &AgentSpec) -> Result<Found, AgentError> {
    let recorded = read_json::<TrainingRecord>(&layout.training())
        .map_err(|error| AgentError::io(&layout.training(), error))?;
    let exit = read_json::<ExitReport>(&layout.exit())
        .map_err(|error| AgentError::io(&layout.exit(), error))?;
    let marked = process::marked(&process::Stat::all(), &mark(layout, spec));
    let marked = marked
        .first()
        .and_then(|stat| process::identify(stat.pid))
        .map(|process| TrainingRecord {
            run_id: spec.run_id.clone(),
            attempt: spec.attempt,
            started_at: process::started_at(&process, Units::of_this_system().ticks_per_second)
                .unwrap_or_else(clock::now),
            process,
            output_from: Default::default(),
            out_of_memory_kills: None,
        });
    Ok(Found {
        recorded: recorded.map(|record| {
            let alive = process::is_alive(&record.process);
            (record, alive)
        }),
        marked,
        exit,
    })
}

pub(crate) fn held(holder: Option<Holder>) -> AgentError {
    AgentError::Held {
        holder: holder.map_or_else(
            || "it hasn't said which run it serves".to_owned(),
            |holder| {
                format!(
                    "process {}, attempt {} of run {}",
                    holder.agent.pid, holder.attempt, holder.run_id
                )
            },
        ),
    }
}

fn launch(agent: &Agent<'_>) -> Result<(), AgentError> {
    // Left by an earlier attempt.
    for old in [agent.layout.exit(), agent.layout.end_request()] {
        let _ = fs::remove_file(old);
    }
    exits::reserve_room(agent.layout);
    match Training::launch(agent.layout, agent.spec) {
        Ok(training) => follow(agent, training),
        Err(message) => {
            agent.journal.note(&message);
            let exit = exits::of(agent.spec, None, End::NotStarted { message }, clock::now());
            let exit = ExitReport {
                push_finished: true,
                ..exit
            };
            exits::write(agent.layout, &exit)
        }
    }
}

//! `gpurun agent start`: an agent that outlives whoever asked for it.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::exit_report::ExitReport;
use gpurun_protocol::heartbeat::Heartbeat;
use gpurun_protocol::report::{StartOutcome, StartReply};

use super::begin::{self, Beginning};
use super::body::{held, look_around};
use super::error::AgentError;
use super::files::{read_json, tail};
use super::layout::Layout;
use super::lock::{AgentLock, Tried};
use super::process::Stat;
use super::report::report;
use super::signals::in_own_session;
use super::spec::read_spec;

/// Starts the agent for the box's spec and returns when it is up. Asking again is safe at any moment: an attempt
/// runs once.
///
/// # Errors
/// When the spec can't be run, another attempt occupies the box, or the agent doesn't come up.
pub(crate) fn start(layout: &Layout) -> Result<StartReply, AgentError> {
    let spec = read_spec(layout)?;
    if let Tried::HeldBy(holder) = AgentLock::try_take(layout)? {
        return match holder {
            Some(holder) if !holder.serves(&spec) => Err(held(Some(holder))),
            _ => Ok(reply(layout, StartOutcome::AlreadyRunning)),
        };
    }
    let outcome = match begin::decide(&spec, look_around(layout, &spec)?) {
        Beginning::Nothing => return Ok(reply(layout, StartOutcome::AlreadyEnded)),
        Beginning::Refuse(record) => {
            return Err(AgentError::OtherTraining {
                run_id: record.run_id,
                attempt: record.attempt,
                pid: record.process.pid,
            });
        }
        Beginning::Launch => StartOutcome::Started,
        Beginning::Adopt(_) | Beginning::Finish(_) => StartOutcome::Adopted,
    };
    let agent = spawn(layout)?;
    wait_until_up(layout, &spec, agent)?;
    Ok(reply(layout, outcome))
}

fn reply(layout: &Layout, outcome: StartOutcome) -> StartReply {
    StartReply {
        outcome,
        report: report(layout),
    }
}

fn spawn(layout: &Layout) -> Result<Child, AgentError> {
    let journal = layout.journal();
    let at_journal = |error| AgentError::io(&journal, error);
    let log = File::options()
        .create(true)
        .append(true)
        .open(&journal)
        .map_err(at_journal)?;
    let program = std::env::current_exe().map_err(at_journal)?;
    let mut command = Command::new(program);
    command
        .args(["agent", "keep", "--spec"])
        .arg(layout.spec())
        .current_dir(&layout.home)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(at_journal)?)
        .stderr(log);
    in_own_session(&mut command).spawn().map_err(at_journal)
}

fn is_kept_by(keeper: u32, agent: u32) -> bool {
    Stat::of(agent).is_some_and(|agent| agent.parent == keeper)
}

/// Up is: the heartbeat, or the exit report, is of this attempt, and the agent has written it.
fn wait_until_up(layout: &Layout, spec: &AgentSpec, mut agent: Child) -> Result<(), AgentError> {
    const LIMIT: Duration = Duration::from_secs(30);
    const STEP: Duration = Duration::from_millis(20);

    let deadline = Instant::now() + LIMIT;
    loop {
        // Half-way files can't be: each is replaced as a whole.
        let beats = read_json::<Heartbeat>(&layout.heartbeat())
            .is_ok_and(|beat| beat.is_some_and(|beat| is_kept_by(agent.id(), beat.agent.pid)));
        let ended = read_json::<ExitReport>(&layout.exit()).is_ok_and(|exit| {
            exit.is_some_and(|exit| {
                exit.run_id == spec.run_id && exit.attempt == spec.attempt && exit.push_finished
            })
        });
        if beats || ended {
            return Ok(());
        }
        let ended = agent
            .try_wait()
            .map_err(|error| AgentError::io(&layout.journal(), error))?;
        if let Some(status) = ended {
            // Two starts at once: the other one's agent came first.
            if let Tried::HeldBy(Some(holder)) = AgentLock::try_take(layout)?
                && holder.serves(spec)
            {
                return Ok(());
            }
            let log = tail(&layout.journal(), 0, 1000).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).trim().to_owned();
            return Err(AgentError::NotUp {
                why: format!("{status}: {log}"),
            });
        }
        if Instant::now() >= deadline {
            return Err(AgentError::NotUp {
                why: format!("no heartbeat in {} s", LIMIT.as_secs()),
            });
        }
        thread::sleep(STEP);
    }
}

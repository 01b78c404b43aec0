//! `gpurun agent keep`: the agent, started again when something ends it. In a plain container nothing else would.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::error::AgentError;
use super::journal::Journal;
use super::layout::Layout;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// One that lived so long was well.
const WELL: Duration = Duration::from_secs(600);
/// A panic's exit code.
const PANIC: i32 = 101;

/// Runs the agent until it has ended by itself: the attempt is over, or isn't its own.
///
/// # Errors
/// When the agent can't be started.
pub(crate) fn keep(layout: &Layout) -> Result<(), AgentError> {
    let journal = Journal::new(layout.journal());
    let mut pause = FIRST;
    loop {
        let began = Instant::now();
        let status = run(layout)?;
        if !was_cut_short(status) {
            return Ok(());
        }
        if began.elapsed() >= WELL {
            pause = FIRST;
        }
        journal.note(&format!(
            "the agent was ended ({status}); it is started again in {} ms",
            pause.as_millis()
        ));
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

/// A signal ended it, or a fault of its own; not its decision.
fn was_cut_short(status: ExitStatus) -> bool {
    status.signal().is_some() || status.code() == Some(PANIC)
}

fn run(layout: &Layout) -> Result<ExitStatus, AgentError> {
    let journal = layout.journal();
    let at_journal = |error| AgentError::io(&journal, error);
    let log = File::options()
        .create(true)
        .append(true)
        .open(&journal)
        .map_err(at_journal)?;
    // This very program, also when another lies at its place by now.
    let mut agent = Command::new("/proc/self/exe");
    agent
        .arg0("gpurun")
        .args(["agent", "run", "--spec"])
        .arg(layout.spec())
        .current_dir(&layout.home)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(at_journal)?)
        .stderr(log);
    agent.status().map_err(at_journal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_decides_stays_decided() {
        assert!(was_cut_short(ExitStatus::from_raw(9)), "SIGKILL");
        assert!(was_cut_short(ExitStatus::from_raw(PANIC << 8)));
        assert!(!was_cut_short(ExitStatus::from_raw(0)));
        assert!(!was_cut_short(ExitStatus::from_raw(5 << 8)), "refused");
    }
}

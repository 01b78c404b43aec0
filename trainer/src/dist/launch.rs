//! The process that starts one worker per device, passes signals on, and leaves none behind.

use std::net::TcpListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::error::DistError;
use crate::signal::{Signals, Stop};

/// The starter's process number; a worker whose parent is another has been left behind.
const PARENT: &str = "GPURUN_TRAIN_PARENT";
/// The file in which the first worker names the run directory.
const NOTE: &str = "GPURUN_TRAIN_NOTE";
const POLL: Duration = Duration::from_millis(50);
/// How long workers may take to end once one of them has: those in a sum notice at once.
const GRACE: Duration = Duration::from_secs(10);

/// How the workers ended.
#[derive(Debug)]
pub struct Workers {
    /// Where the first one kept the run's files, if it came that far.
    pub run_dir: Option<PathBuf>,
    /// Who failed; none when all came to a good end.
    pub failed: Option<Failure>,
}

/// A worker's bad end. Of several, one that was killed, because the rest ended for want of it; else the first
/// process, because it tells what it heard of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub rank: u32,
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "training process {} ", self.rank)?;
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "ended with exit code {code}"),
            (None, Some(9)) => f.write_str("was killed, by a person or for want of memory"),
            (None, Some(signal)) => write!(f, "was ended by signal {signal}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

/// Starts this program `world` times with this process's arguments, each told its place by torchrun's
/// variables, and waits for all. Signals are passed on. When one fails, the others have ten seconds to end.
/// When this process dies, the kernel ends the workers.
///
/// # Errors
/// When a worker can't be started; those that were are ended.
pub fn launch(world: u32, signals: &Signals) -> Result<Workers, DistError> {
    let start = |error: std::io::Error| DistError::Start(error.to_string());
    let program = std::env::current_exe().map_err(start)?;
    let port = free_port().map_err(start)?;
    let note = tempfile::NamedTempFile::new().map_err(start)?;
    let mut workers = Crew(vec![]);
    for rank in 0..world {
        let mut command = Command::new(&program);
        command
            .args(std::env::args_os().skip(1))
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", world.to_string())
            .env("LOCAL_WORLD_SIZE", world.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .env(PARENT, std::process::id().to_string())
            .env(NOTE, note.path())
            .stdin(Stdio::null())
            // A terminal's Ctrl-C comes to this process alone, which passes it on once.
            .process_group(0);
        if rank > 0 {
            command.stdout(Stdio::null());
        }
        workers.0.push(command.spawn().map_err(start)?);
    }
    let failed = workers.wait(signals);
    let run_dir = std::fs::read_to_string(note.path()).unwrap_or_default();
    Ok(Workers {
        run_dir: (!run_dir.is_empty()).then(|| run_dir.into()),
        failed,
    })
}

/// Tells the process that started this one where the run's files are.
pub fn note_run_dir(run_dir: &Path) {
    if let Some(note) = std::env::var_os(NOTE) {
        // Without it, only the last word about a killed worker is missing.
        let _ = std::fs::write(note, run_dir.as_os_str().as_encoded_bytes());
    }
}

/// Ends this process when the one that started it ends. To be called first thing in a worker.
pub fn die_with_parent() {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|pid| pid.parse().ok()) else {
        return;
    };
    // Where the kernel refuses, the loss of the others still ends this process.
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    if nix::unistd::getppid() != Pid::from_raw(parent) {
        std::process::exit(1);
    }
}

/// Running workers. Dropping ends those that are left.
struct Crew(Vec<Child>);

impl Crew {
    fn wait(mut self, signals: &Signals) -> Option<Failure> {
        let mut failures: Vec<Failure> = vec![];
        let mut ended = vec![false; self.0.len()];
        let mut passed_on = None;
        let mut deadline: Option<Instant> = None;
        while ended.contains(&false) {
            for (rank, (worker, ended)) in self.0.iter_mut().zip(&mut ended).enumerate() {
                let Some(status) = (!*ended)
                    .then(|| worker.try_wait())
                    .and_then(Result::ok)
                    .flatten()
                else {
                    continue;
                };
                *ended = true;
                // After the deadline the kill is ours.
                let is_ours = deadline.is_some_and(|deadline| Instant::now() > deadline);
                if !status.success() && !is_ours {
                    failures.push(failure(rank, status));
                    deadline.get_or_insert_with(|| Instant::now() + GRACE);
                }
            }
            if passed_on.is_none()
                && let Some(stop) = signals.stop()
            {
                self.signal(stop);
                passed_on = Some(stop);
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                self.end();
            }
            thread::sleep(POLL);
        }
        self.0.clear();
        failures.sort_by_key(|failure| (failure.signal.is_none(), failure.rank));
        failures.into_iter().next()
    }

    fn signal(&self, stop: Stop) {
        let signal = match stop {
            Stop::Terminated => Signal::SIGTERM,
            Stop::Interrupted => Signal::SIGINT,
        };
        for worker in &self.0 {
            if let Ok(pid) = i32::try_from(worker.id()) {
                // One that is gone already needs none.
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
    }

    fn end(&mut self) {
        for worker in &mut self.0 {
            let _ = worker.kill();
        }
    }
}

fn failure(rank: usize, status: ExitStatus) -> Failure {
    Failure {
        rank: u32::try_from(rank).unwrap_or(u32::MAX),
        code: status.code(),
        signal: status.signal(),
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.end();
        for worker in &mut self.0 {
            let _ = worker.wait();
        }
    }
}

/// A port that nobody listens at.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

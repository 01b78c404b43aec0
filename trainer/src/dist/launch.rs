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
/// The folder in which workers leave word for their starter: the run directory, and the errors of all but the
/// first, which speaks for itself.
const NOTES: &str = "GPURUN_TRAIN_NOTES";
const RUN_DIR: &str = "run-dir";
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
    /// What it gave as its reason.
    pub words: Option<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "training process {}", self.rank)?;
        if let Some(words) = &self.words {
            return write!(f, ": {words}");
        }
        f.write_str(" ")?;
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
    let notes = tempfile::tempdir().map_err(start)?;
    let mut crew = Crew {
        workers: vec![],
        grace: GRACE,
    };
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
            .env(NOTES, notes.path())
            .stdin(Stdio::null())
            // A terminal's Ctrl-C comes to this process alone, which passes it on once.
            .process_group(0);
        if rank > 0 {
            command.stdout(Stdio::null());
        }
        crew.workers.push(command.spawn().map_err(start)?);
    }
    let failed = crew.wait(signals);
    let note = |name: &str| std::fs::read_to_string(notes.path().join(name)).ok();
    Ok(Workers {
        run_dir: note(RUN_DIR).map(PathBuf::from),
        failed: failed.map(|failure| Failure {
            words: note(&failure.rank.to_string()),
            ..failure
        }),
    })
}

/// Tells the process that started this one where the run's files are.
pub fn note_run_dir(run_dir: &Path) {
    if let Some(notes) = std::env::var_os(NOTES) {
        let run_dir = run_dir.as_os_str().as_encoded_bytes();
        // Without it, only the last word about a killed worker is missing.
        let _ = std::fs::write(Path::new(&notes).join(RUN_DIR), run_dir);
    }
}

/// Leaves this process's error to the one that started it, rather than printing what others print too. False
/// where this is the first process or stands alone, whose error is to be printed.
#[must_use]
pub fn note_error(message: &str) -> bool {
    let (Some(notes), Ok(rank)) = (std::env::var_os(NOTES), std::env::var("RANK")) else {
        return false;
    };
    rank != "0" && std::fs::write(Path::new(&notes).join(rank), message).is_ok()
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
struct Crew {
    workers: Vec<Child>,
    /// How long the rest may take to end once one has failed.
    grace: Duration,
}

impl Crew {
    fn wait(mut self, signals: &Signals) -> Option<Failure> {
        let mut failures: Vec<Failure> = vec![];
        let mut ended = vec![false; self.workers.len()];
        let mut passed_on = None;
        let mut deadline: Option<Instant> = None;
        while ended.contains(&false) {
            for (rank, (worker, ended)) in self.workers.iter_mut().zip(&mut ended).enumerate() {
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
                    deadline.get_or_insert_with(|| Instant::now() + self.grace);
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
        self.workers.clear();
        failures.sort_by_key(|failure| (failure.signal.is_none(), failure.rank));
        failures.into_iter().next()
    }

    fn signal(&self, stop: Stop) {
        let signal = match stop {
            Stop::Terminated => Signal::SIGTERM,
            Stop::Interrupted => Signal::SIGINT,
        };
        for worker in &self.workers {
            if let Ok(pid) = i32::try_from(worker.id()) {
                // One that is gone already needs none.
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
    }

    fn end(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.kill();
        }
    }
}

fn failure(rank: usize, status: ExitStatus) -> Failure {
    Failure {
        rank: u32::try_from(rank).unwrap_or(u32::MAX),
        code: status.code(),
        signal: status.signal(),
        words: None,
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.end();
        for worker in &mut self.workers {
            let _ = worker.wait();
        }
    }
}

/// A port that nobody listens at.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crew(scripts: &[&str], grace: Duration) -> Crew {
        let start = |script: &&str| Command::new("sh").args(["-c", script]).spawn().unwrap();
        Crew {
            workers: scripts.iter().map(start).collect(),
            grace,
        }
    }

    fn wait(scripts: &[&str], signals: &Signals) -> Option<(u32, Option<i32>, Option<i32>)> {
        let failure = crew(scripts, GRACE).wait(signals)?;
        Some((failure.rank, failure.code, failure.signal))
    }

    #[test]
    fn good_ends_are_no_failure() {
        assert_eq!(wait(&["exit 0", "exit 0"], &Signals::default()), None);
    }

    #[test]
    fn one_that_waits_for_the_failed_is_ended_and_not_blamed() {
        let crew = crew(&["exec sleep 600", "exit 3"], Duration::ZERO);
        let failure = crew.wait(&Signals::default()).unwrap();
        assert_eq!((failure.rank, failure.code), (1, Some(3)));
    }

    #[test]
    fn a_killed_one_is_blamed_before_those_that_fail_for_want_of_it() {
        let found = wait(&["exit 1", "kill -KILL $$"], &Signals::default());
        assert_eq!(found, Some((1, None, Some(9))));
    }

    #[test]
    fn signals_are_passed_on() {
        let signals = Signals::default();
        signals.request(Stop::Terminated);
        let found = wait(&["exec sleep 600", "exec sleep 600"], &signals);
        assert_eq!(found, Some((0, None, Some(15))));
    }

    #[test]
    fn dropped_workers_are_ended() {
        let crew = crew(&["exec sleep 600"], GRACE);
        let process = format!("/proc/{}", crew.workers[0].id());
        assert!(Path::new(&process).exists());
        drop(crew);
        assert!(!Path::new(&process).exists());
    }

    #[test]
    fn a_failure_says_who_and_why() {
        let failure = |code, signal, words: Option<&str>| {
            let words = words.map(str::to_owned);
            let rank = 2;
            Failure {
                rank,
                code,
                signal,
                words,
            }
            .to_string()
        };
        let text = failure(Some(1), None, Some("CUDA out of memory"));
        assert_eq!(text, "training process 2: CUDA out of memory");
        assert!(failure(Some(1), None, None).ends_with("2 ended with exit code 1"));
        assert!(failure(None, Some(9), None).contains("2 was killed"));
    }
}

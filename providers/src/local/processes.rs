//! Finding and ending what runs in a box. A process belongs to a box when it, its session's leader or one of its ancestors
//! was started with the box's mark in the environment; so a program that clears its environment is found as well.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The environment variable every process of a box inherits; its value is the box's id.
pub(super) const MARK: &str = "GPURUN_BOX";

/// How long a killed process may take to be gone before the stop is reported as failed.
const KILL_DEADLINE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Ends every process of box `id`: SIGTERM, `grace` to leave, then SIGKILL until none is left.
///
/// # Errors
/// The ids of the processes that are still there after SIGKILL.
pub(super) fn end_all(id: &str, grace: Duration) -> Result<(), Vec<i32>> {
    signal_all(&belonging_to(id), Signal::SIGTERM);
    if gone_within(id, grace, None) {
        return Ok(());
    }
    if gone_within(id, KILL_DEADLINE, Some(Signal::SIGKILL)) {
        return Ok(());
    }
    match belonging_to(id) {
        left if left.is_empty() => Ok(()),
        left => Err(left),
    }
}

/// The ids of the live processes of box `id`, this one excepted.
pub(super) fn belonging_to(id: &str) -> Vec<i32> {
    let processes = all_processes();
    let mark = format!("{MARK}={id}");
    let marked: HashSet<i32> = processes
        .keys()
        .copied()
        .filter(|pid| has_mark(*pid, mark.as_bytes()))
        .collect();
    let belongs = |mut pid: i32| {
        // A chain of parents is as long as the process tree is deep; the bound only guards against a torn reading.
        for _ in 0..processes.len() {
            let Some(process) = processes.get(&pid) else {
                return false;
            };
            if marked.contains(&pid) || marked.contains(&process.session) {
                return true;
            }
            pid = process.parent;
        }
        false
    };
    let this = i32::try_from(std::process::id()).unwrap_or_default();
    processes
        .keys()
        .copied()
        .filter(|pid| *pid != this && belongs(*pid))
        .collect()
}

/// Polls until the box is empty, sending `signal` to what is there each time, so that a fork can't outrun it.
fn gone_within(id: &str, time: Duration, signal: Option<Signal>) -> bool {
    let deadline = Instant::now() + time;
    loop {
        let left = belonging_to(id);
        if left.is_empty() {
            return true;
        }
        if let Some(signal) = signal {
            signal_all(&left, signal);
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

fn signal_all(pids: &[i32], signal: Signal) {
    for pid in pids {
        // A process that has gone meanwhile is what we want; one that may not be signalled shows up as left over.
        let _gone = kill(Pid::from_raw(*pid), signal);
    }
}

struct Process {
    parent: i32,
    session: i32,
}

/// Every live process of the machine; the dead that only wait for their parent to notice are left out.
fn all_processes() -> HashMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, parse_stat(&stat)?))
        })
        .collect()
}

/// `/proc/PID/stat` is `pid (name) state parent group session …`, and the name may hold spaces and parentheses.
fn parse_stat(stat: &str) -> Option<Process> {
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { parent, session })
}

/// Whether a process was started with the mark. Another user's process can't be read, and isn't ours.
fn has_mark(pid: i32, mark: &[u8]) -> bool {
    let environment =
        fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|variable| variable == mark)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// Starts `script` in box `id` and waits until it has said that it is ready.
    fn start(id: &str, script: &str) -> Result<Child, Box<dyn std::error::Error>> {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", script])
            .env(MARK, id)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        assert_eq!(line.trim(), "ready");
        Ok(child)
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_is_no_obstacle() {
        let process = parse_stat("42 (a) b (c) S 7 8 9 0 -1").expect("a live process");
        assert_eq!((process.parent, process.session), (7, 9));
        assert!(
            parse_stat("42 (sleep) Z 7 8 9 0 -1").is_none(),
            "the dead don't count"
        );
        assert!(parse_stat("").is_none());
    }

    #[test]
    fn a_cleared_environment_does_not_hide_a_process() -> Outcome {
        let id = "box-test-hidden";
        // A child without the mark; and, in a session of its own, a grandchild whose parent has gone.
        let script =
            "env -i sleep 600 & setsid sh -c 'env -i sleep 601 & sleep 602' & echo ready; wait";
        let mut child = start(id, script)?;
        let deadline = Instant::now() + Duration::from_secs(20);
        while belonging_to(id).len() < 5 {
            assert!(
                Instant::now() < deadline,
                "only {:?} are known to belong to the box",
                belonging_to(id)
            );
            std::thread::yield_now();
        }
        end_all(id, Duration::from_secs(5)).map_err(|left| format!("left over: {left:?}"))?;
        child.wait()?;
        assert_eq!(belonging_to(id), Vec::<i32>::new());
        Ok(())
    }

    #[test]
    fn what_ignores_sigterm_is_killed_and_neighbours_are_not() -> Outcome {
        let mut stubborn = start(
            "box-test-stubborn",
            "trap '' TERM; echo ready; while :; do sleep 0.05; done",
        )?;
        let mut neighbour = start("box-test-stubborn-too", "echo ready; exec sleep 600")?;
        end_all("box-test-stubborn", Duration::from_millis(100))
            .map_err(|left| format!("left over: {left:?}"))?;
        let status = stubborn.wait()?;
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9)
        );
        assert!(neighbour.try_wait()?.is_none(), "the id is compared whole");
        neighbour.kill()?;
        neighbour.wait()?;
        Ok(())
    }
}

//! Processes by identity, not by number: a pid comes back, a pid with its start time doesn't.

use std::fs;
use std::io;

use chrono::{DateTime, Utc};
use gpurun_protocol::heartbeat::ProcessRef;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable every process of a training carries, see [`super::training::mark`].
pub(crate) const MARK: &str = "GPURUN_TRAINING";

/// What `/proc/PID/stat` says of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// User and system time, in clock ticks.
    pub(crate) cpu_ticks: u64,
    /// In clock ticks after boot.
    pub(crate) start_ticks: u64,
    pub(crate) resident_pages: u64,
}

impl Stat {
    /// `None` when there is no such process.
    pub(crate) fn of(pid: u32) -> Option<Stat> {
        parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Every process that can be seen.
    pub(crate) fn all() -> Vec<Stat> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(Stat::of)
            .collect()
    }

    /// Not a zombie and not gone.
    pub(crate) fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// The identity of a process; `None` when there is none of that pid.
pub(crate) fn identify(pid: u32) -> Option<ProcessRef> {
    let stat = Stat::of(pid)?;
    Some(ProcessRef {
        pid,
        start_ticks: stat.start_ticks,
        boot_id: boot_id(),
    })
}

/// When a process was started, from its start time after boot, to the second; `None` where `/proc` doesn't say.
pub(crate) fn started_at(process: &ProcessRef, ticks_per_second: u64) -> Option<DateTime<Utc>> {
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot: i64 = system
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse()
        .ok()?;
    let seconds = i64::try_from(process.start_ticks / ticks_per_second).ok()?;
    DateTime::from_timestamp(boot + seconds, 0)
}

/// The identity of this process.
pub(crate) fn myself() -> io::Result<ProcessRef> {
    identify(std::process::id())
        .ok_or_else(|| io::Error::other("/proc does not show this process: it must be mounted"))
}

/// Whether that very process runs now. A zombie doesn't.
pub(crate) fn is_alive(process: &ProcessRef) -> bool {
    process.boot_id == boot_id()
        && Stat::of(process.pid)
            .is_some_and(|stat| stat.start_ticks == process.start_ticks && stat.lives())
}

/// The living processes of a session, and all their descendants.
pub(crate) fn family(all: &[Stat], leader: u32) -> Vec<Stat> {
    let mut family: Vec<Stat> = Vec::new();
    let mut found = true;
    while found {
        found = false;
        for stat in all.iter().filter(|stat| stat.lives()) {
            let related = stat.pid == leader
                || stat.session == leader
                || family.iter().any(|member| member.pid == stat.parent);
            if related && !family.iter().any(|member| member.pid == stat.pid) {
                family.push(stat.clone());
                found = true;
            }
        }
    }
    family
}

/// The living processes whose environment carries a training's mark, the oldest first.
pub(crate) fn marked(all: &[Stat], mark: &str) -> Vec<Stat> {
    let wanted = format!("{MARK}={mark}");
    let mut found: Vec<Stat> = all
        .iter()
        .filter(|stat| stat.lives())
        .filter(|stat| {
            fs::read(format!("/proc/{}/environ", stat.pid)).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
            })
        })
        .cloned()
        .collect();
    found.sort_by_key(|stat| (stat.start_ticks, stat.pid));
    found
}

/// Signals one process, if it still is that process.
pub(crate) fn signal_one(stat: &Stat, signal: Signal) {
    let same = Stat::of(stat.pid).is_some_and(|now| now.start_ticks == stat.start_ticks);
    if same && let Some(pid) = raw(stat.pid) {
        let _ = kill(pid, signal);
    }
}

/// The kernel's id of this boot; empty where there is none.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Pid 0 and 1 would mean whole groups and the init process: never signalled.
fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid)
        .ok()
        .filter(|pid| *pid > 1)
        .map(Pid::from_raw)
}

fn parse(stat: &str) -> Option<Stat> {
    // The command's name, in parentheses, may hold spaces and parentheses itself.
    let (head, rest) = stat.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Stat {
        pid,
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        cpu_ticks: number(14)? + number(15)?,
        start_ticks: number(22)?,
        resident_pages: number(24)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stat_line_is_read_past_a_wild_name() {
        let line = "42 (a) b (c) S 1 42 40 0 -1 4194560 9 0 0 0 11 4 0 0 20 0 1 0 777 1024 33 18446744073709551615 1";
        let stat = parse(line).unwrap();
        assert_eq!(
            (stat.pid, stat.state, stat.parent, stat.session),
            (42, 'S', 1, 40)
        );
        assert_eq!(
            (stat.cpu_ticks, stat.start_ticks, stat.resident_pages),
            (15, 777, 33)
        );
        assert_eq!(parse("42 (torn"), None);
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let me = myself().unwrap();
        assert!(is_alive(&me));
        assert!(!is_alive(&ProcessRef {
            start_ticks: me.start_ticks + 1,
            ..me.clone()
        }));
        assert!(!is_alive(&ProcessRef {
            boot_id: "another boot".to_owned(),
            ..me
        }));
    }

    #[test]
    fn a_start_time_is_a_time_of_day() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let process = identify(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let ticks = crate::agent::usage::Units::of_this_system().ticks_per_second;
        let now = crate::agent::clock::now();
        let age = now - started_at(&process, ticks).unwrap();
        assert!(age.num_seconds().abs() < 60, "{age}");
    }

    #[test]
    fn a_family_is_the_session_and_its_descendants() {
        let stat = |pid, parent, session, state| Stat {
            pid,
            state,
            parent,
            session,
            cpu_ticks: 0,
            start_ticks: 0,
            resident_pages: 0,
        };
        let all = [
            stat(13, 12, 12, 'S'), // child of a child in a session of its own
            stat(12, 11, 12, 'S'),
            stat(11, 10, 10, 'S'),
            stat(10, 1, 10, 'S'),
            stat(14, 1, 10, 'R'), // orphan of the session
            stat(15, 10, 10, 'Z'),
            stat(20, 1, 20, 'S'),
        ];
        let mut pids: Vec<u32> = family(&all, 10).iter().map(|stat| stat.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [10, 11, 12, 13, 14]);
    }
}

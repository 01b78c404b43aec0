//! A tree of processes that can be killed as a whole.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getgid, getuid};

/// How the processes of a box are held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jail {
    /// A process namespace: when its first process dies, all do.
    Root,
    /// The same, made by a user who isn't root.
    User,
    /// A mark in their environment, where namespaces are forbidden.
    Mark,
}

/// The mark: which box a process belongs to.
pub(crate) const MARK: &str = "SIMULATED_BOX";

impl Jail {
    /// The best that this machine allows.
    pub(crate) fn find() -> Self {
        let works = |jail: Self| {
            let mut command = jail.command(Path::new("true"));
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        [Self::Root, Self::User]
            .into_iter()
            .find(|jail| works(*jail))
            .unwrap_or(Self::Mark)
    }

    /// A command that runs a program in such a tree.
    pub(crate) fn command(self, program: &Path) -> Command {
        let space = ["--pid", "--fork", "--kill-child", "--mount", "--mount-proc"];
        match self {
            Self::Mark => Command::new(program),
            Self::Root => {
                let mut command = Command::new("unshare");
                command.args(space).arg("--").arg(program);
                command
            }
            Self::User => {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-root-user"]).args(space);
                // Back to the user that it was: sshd lets only root log in as others.
                command.args(["--", "unshare", "--user"]);
                command.arg(format!("--map-user={}", getuid()));
                command.arg(format!("--map-group={}", getgid()));
                command.arg("--").arg(program);
                command
            }
        }
    }

    /// Kills everything in it, and waits until it is dead.
    pub(crate) fn kill(self, child: &mut Child, mark: &str) {
        if self == Self::Mark {
            let _ = child.kill();
            while !marked(mark).is_empty() {
                for pid in marked(mark) {
                    let _ = kill(pid, Signal::SIGKILL);
                }
                std::thread::yield_now();
            }
        } else {
            // The first process of the namespace: the kernel lets nobody see its end before the others'. So the one
            // outside, which waits for it, must live until then.
            let first = children(child.id());
            for pid in &first {
                let _ = kill(*pid, Signal::SIGKILL);
            }
            if first.is_empty() {
                let _ = child.kill();
            }
        }
        let _ = child.wait();
    }
}

/// The children of a process.
pub(crate) fn children(pid: u32) -> Vec<Pid> {
    let file = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// Living processes whose environment has the mark.
fn marked(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={mark}");
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            variables
                .any(|variable| variable == wanted.as_bytes())
                .then(|| Pid::from_raw(pid))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_jail_all_its_processes_die() {
        for jail in [Jail::Root, Jail::User, Jail::Mark] {
            let folder = tempfile::tempdir().unwrap();
            let mark = folder.path().display().to_string();
            let script = "setsid sleep 100000 & echo up > up; sleep 100000";
            let mut command = jail.command(Path::new("/bin/sh"));
            command
                .args(["-c", script])
                .env(MARK, &mark)
                .current_dir(folder.path());
            let Ok(mut child) = command.stderr(Stdio::null()).spawn() else {
                continue;
            };
            // Where the namespace is forbidden, the jail's own program ends at once.
            while !folder.path().join("up").exists() && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            if folder.path().join("up").exists() {
                assert!(marked(&mark).len() >= 2, "{jail:?}");
            } else {
                assert_ne!(jail, Jail::Mark);
            }
            jail.kill(&mut child, &mark);
            assert!(marked(&mark).is_empty(), "{jail:?}");
        }
    }
}

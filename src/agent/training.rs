//! The training process: started, found again, waited for.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use chrono::{DateTime, Utc};
use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::exit_report::End;
use gpurun_protocol::heartbeat::ProcessRef;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::companions::OutputFrom;
use super::files::write_json;
use super::layout::Layout;
use super::process::{self, MARK, Stat};
use super::signals::in_own_session;
use super::{cgroup, clock, cores};

/// `training.json`: which process is the training of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrainingRecord {
    pub(crate) run_id: String,
    pub(crate) attempt: u32,
    pub(crate) process: ProcessRef,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) output_from: OutputFrom,
    /// When it started, where the kernel counts them.
    pub(crate) out_of_memory_kills: Option<u64>,
}

/// A training and how its end is learned.
#[derive(Debug)]
pub(crate) struct Training {
    pub(crate) record: TrainingRecord,
    /// Only its parent learns a process's exit status.
    child: Option<Child>,
}

/// What all processes of one attempt's training carry in their environment.
pub(crate) fn mark(layout: &Layout, spec: &AgentSpec) -> String {
    // Several boxes may share a machine, and two ledgers may give out one id.
    let box_folder = layout.folder().display();
    format!("{}.{}@{box_folder}", spec.run_id, spec.attempt)
}

impl Training {
    /// Starts the command in a session of its own, its output going to files, and records which process it is.
    ///
    /// # Errors
    /// When it can't be started, in words: what, and why.
    pub(crate) fn launch(layout: &Layout, spec: &AgentSpec) -> Result<Training, String> {
        let (program, arguments) = spec.argv.split_first().ok_or("the command is empty")?;
        let working_dir = layout.resolve(&spec.working_dir);
        let (stdout, stdout_from) = append(&layout.stdout())?;
        let (stderr, stderr_from) = append(&layout.stderr())?;
        let run_dir = layout.resolve(&spec.run_dir);
        if let Some(parent) = run_dir.parent() {
            fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        }
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(cores::thread_caps())
            .envs(&spec.env)
            .env(MARK, mark(layout, spec))
            .current_dir(&working_dir)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let kills = cgroup::out_of_memory_kills();
        let child = in_own_session(&mut command).spawn().map_err(|error| {
            format!(
                "{program} does not start in {}: {error}",
                working_dir.display()
            )
        })?;
        let started_at = clock::now();
        // A child that has ended already is still in the process table: nobody has waited for it.
        let process = process::identify(child.id()).ok_or("/proc does not show the training")?;
        let record = TrainingRecord {
            run_id: spec.run_id.clone(),
            attempt: spec.attempt,
            process,
            started_at,
            output_from: OutputFrom {
                stdout: stdout_from,
                stderr: stderr_from,
            },
            out_of_memory_kills: kills,
        };
        Ok(Training {
            record,
            child: Some(child),
        })
    }

    /// Takes over a training another agent has started.
    pub(crate) fn adopt(record: TrainingRecord) -> Training {
        Training {
            record,
            child: None,
        }
    }

    pub(crate) fn write_record(&self, layout: &Layout) -> io::Result<()> {
        write_json(&layout.training(), &self.record)
    }

    /// How it ended, once it has.
    pub(crate) fn poll(&mut self) -> Option<End> {
        match &mut self.child {
            Some(child) => match child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => Some(end_of(status)),
                Err(_) => (!process::is_alive(&self.record.process)).then_some(End::Unobserved),
            },
            None => (!process::is_alive(&self.record.process)).then_some(End::Unobserved),
        }
    }
}

/// Signals all that belongs to a training: its process group, the descendants that left it, and every process
/// with its mark.
pub(crate) fn signal_all(record: &TrainingRecord, mark: &str, signal: Signal) {
    for stat in members(record, mark) {
        process::signal_one(&stat, signal);
    }
}

/// The living processes of a training.
pub(crate) fn members(record: &TrainingRecord, mark: &str) -> Vec<Stat> {
    let all = Stat::all();
    let mut members = process::marked(&all, mark);
    let replaced = Stat::of(record.process.pid)
        .is_some_and(|stat| stat.start_ticks != record.process.start_ticks);
    if !replaced && record.process.boot_id == process::boot_id() {
        for stat in process::family(&all, record.process.pid) {
            if !members.contains(&stat) {
                members.push(stat);
            }
        }
    }
    members
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited { code },
        (None, Some(signal)) => End::Signaled {
            signal,
            name: Signal::try_from(signal)
                .map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string()),
        },
        (None, None) => End::Unobserved,
    }
}

/// Opens an output file at its end, which is where this attempt's output begins.
fn append(path: &Path) -> Result<(File, u64), String> {
    let open = || {
        let file = File::options().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        Ok((file, length))
    };
    open().map_err(|error: io::Error| format!("{}: {error}", path.display()))
}

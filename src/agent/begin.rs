//! What an agent finds to do when it starts: pure.

use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::exit_report::ExitReport;

use super::training::TrainingRecord;

/// What is known about the box's trainings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The newest recorded training, and whether its process runs.
    pub(crate) recorded: Option<(TrainingRecord, bool)>,
    /// A running process with this attempt's mark that no record names: its agent was killed between starting it
    /// and writing the record.
    pub(crate) marked: Option<TrainingRecord>,
    pub(crate) exit: Option<ExitReport>,
}

/// The first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// This attempt has never run.
    Launch,
    /// Its training runs without an agent.
    Adopt(TrainingRecord),
    /// Its training has ended and no agent saw how, or saw it and was killed before the last push.
    Finish(Box<(TrainingRecord, Option<ExitReport>)>),
    /// All of it is done.
    Nothing,
    /// Another attempt's training still runs.
    Refuse(TrainingRecord),
}

pub(crate) fn decide(spec: &AgentSpec, found: Found) -> Beginning {
    let ours = |run_id: &str, attempt| run_id == spec.run_id && attempt == spec.attempt;
    let exit = found.exit.filter(|exit| ours(&exit.run_id, exit.attempt));
    if exit.as_ref().is_some_and(|exit| exit.push_finished) {
        return Beginning::Nothing;
    }
    match (found.recorded, found.marked) {
        (Some((record, true)), _) if !ours(&record.run_id, record.attempt) => {
            Beginning::Refuse(record)
        }
        (Some((record, alive)), _) if ours(&record.run_id, record.attempt) => {
            if alive && exit.is_none() {
                Beginning::Adopt(record)
            } else {
                Beginning::Finish(Box::new((record, exit)))
            }
        }
        (_, Some(record)) => Beginning::Adopt(record),
        _ => Beginning::Launch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use gpurun_protocol::exit_report::End;
    use gpurun_protocol::heartbeat::ProcessRef;

    fn spec(attempt: u32) -> AgentSpec {
        AgentSpec {
            schema_version: 1,
            run_id: "3f".to_owned(),
            run_name: "yolo".to_owned(),
            attempt,
            argv: vec!["true".to_owned()],
            env: Default::default(),
            working_dir: String::new(),
            run_dir: "runs/yolo".to_owned(),
            heartbeat_seconds: 5,
            grace_seconds: 10,
            push: None,
            disk_limit_bytes: None,
        }
    }

    fn record(attempt: u32) -> TrainingRecord {
        TrainingRecord {
            run_id: "3f".to_owned(),
            attempt,
            process: ProcessRef {
                pid: 7,
                start_ticks: 1,
                boot_id: "boot".to_owned(),
            },
            started_at: DateTime::UNIX_EPOCH,
            output_from: Default::default(),
            out_of_memory_kills: None,
        }
    }

    fn exit(attempt: u32, push_finished: bool) -> ExitReport {
        ExitReport {
            schema_version: 1,
            run_id: "3f".to_owned(),
            attempt,
            written_at: DateTime::UNIX_EPOCH,
            training: None,
            started_at: None,
            ended_at: DateTime::UNIX_EPOCH,
            end: End::Exited { code: 0 },
            requested: None,
            strays: 0,
            out_of_memory_kills: None,
            push_finished,
            not_pushed: Vec::new(),
        }
    }

    fn beginning(
        recorded: Option<(u32, bool)>,
        marked: Option<u32>,
        exit_of: Option<(u32, bool)>,
    ) -> Beginning {
        let found = Found {
            recorded: recorded.map(|(attempt, alive)| (record(attempt), alive)),
            marked: marked.map(record),
            exit: exit_of.map(|(attempt, finished)| exit(attempt, finished)),
        };
        decide(&spec(2), found)
    }

    #[test]
    fn each_attempt_runs_once() {
        assert_eq!(beginning(None, None, None), Beginning::Launch);
        assert_eq!(
            beginning(Some((2, true)), None, None),
            Beginning::Adopt(record(2))
        );
        assert_eq!(beginning(None, Some(2), None), Beginning::Adopt(record(2)));
        assert_eq!(
            beginning(Some((1, false)), Some(2), Some((1, true))),
            Beginning::Adopt(record(2))
        );
        assert_eq!(
            beginning(Some((2, false)), None, None),
            Beginning::Finish(Box::new((record(2), None)))
        );
        assert_eq!(
            beginning(Some((2, false)), None, Some((2, false))),
            Beginning::Finish(Box::new((record(2), Some(exit(2, false)))))
        );
        assert_eq!(
            beginning(Some((2, false)), None, Some((2, true))),
            Beginning::Nothing
        );
        // A command that could not be started leaves an exit report and no training.
        assert_eq!(beginning(None, None, Some((2, true))), Beginning::Nothing);
    }

    #[test]
    fn the_next_attempt_waits_for_the_end_of_the_one_before() {
        assert_eq!(
            beginning(Some((1, true)), None, None),
            Beginning::Refuse(record(1))
        );
        assert_eq!(
            beginning(Some((1, false)), None, Some((1, true))),
            Beginning::Launch
        );
        assert_eq!(beginning(Some((1, false)), None, None), Beginning::Launch);
    }
}

//! Training processes beside the first: they learn, and the first one's files tell of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::Tensor;

use super::error::TrainError;
use super::learner::Learner;
use super::session::Session;
use super::setup::Setup;
use super::state::State;
use crate::dist::{Collective, DistError, Group};
use crate::run_dir::log;
use crate::signal::{Signals, Stop};
use crate::train::epoch::EpochEnd;

/// What the first process tells the others after each epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    End,
}

/// Learns along with the first process until that says it is over.
///
/// # Errors
/// When an operation fails here, or another process is gone.
pub(super) fn follow(
    setup: Setup,
    group: &'static Group,
    signals: &Signals,
) -> Result<(), TrainError> {
    log::quiet();
    let result = catch(|| run(setup, group, signals));
    if let Err(error) = &result
        && !is_stop(error)
        // One that only lost the others is no cause.
        && group.lost().is_none()
    {
        group.leave_word(&error.message);
    }
    result.map_err(|error| explained(error, Some(group)))
}

fn run(setup: Setup, group: &'static Group, signals: &Signals) -> Result<(), TrainError> {
    let Setup {
        mut config,
        data,
        train,
        source,
        device,
        ..
    } = setup;
    let mut state = State::build(&config, source, data.names.len(), device)?;
    // The first process keeps the average.
    state.ema = None;
    let (mut epoch, mut position) = (state.epoch, state.position.take());
    let mut learner = Learner::new(&mut config, data.names.len(), train, state, Some(group))?;
    loop {
        match learner.train_epoch(epoch, position.take(), signals, |_| ())? {
            EpochEnd::Stopped(_) => return Err(signals.stop().unwrap_or(Stop::Terminated).into()),
            EpochEnd::Done(_) => epoch += 1,
        }
        match heard(group)? {
            Verdict::GoOn => {}
            Verdict::End => return Ok(()),
        }
    }
}

impl Session {
    /// Ends or goes on with all processes alike.
    ///
    /// # Errors
    /// When one is gone.
    pub(super) fn tell_the_others(&self, verdict: Verdict) -> Result<(), TrainError> {
        let Some(group) = self.learner.group else {
            return Ok(());
        };
        let word = Tensor::from_slice(&[i64::from(verdict == Verdict::End)]);
        Ok(group.broadcast(&word, 0)?)
    }
}

fn heard(group: &Group) -> Result<Verdict, TrainError> {
    let word = Tensor::from_slice(&[0_i64]);
    group.broadcast(&word, 0)?;
    Ok(match Vec::<i64>::try_from(word)?.as_slice() {
        [0] => Verdict::GoOn,
        _ => Verdict::End,
    })
}

/// libtorch's bindings panic where an operation fails; here that becomes an error.
pub(super) fn catch<T>(run: impl FnOnce() -> Result<T, TrainError>) -> Result<T, TrainError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| Err(TrainError::from_panic(panic.as_ref())))
}

fn is_stop(error: &TrainError) -> bool {
    [Stop::Terminated, Stop::Interrupted]
        .iter()
        .any(|stop| stop.name() == error.kind)
}

/// A process's error. One for want of the others has the reason that one of them gave for its end.
pub(super) fn explained(error: TrainError, group: Option<&Group>) -> TrainError {
    let Some((group, lost)) = group.and_then(|group| Some((group, group.lost()?))) else {
        return error;
    };
    let error = TrainError::from(lost.clone());
    match group.last_words() {
        Some((rank, words)) => TrainError {
            message: format!("training process {rank}: {words}"),
            ..error
        },
        None => error,
    }
}

impl From<DistError> for TrainError {
    fn from(error: DistError) -> Self {
        use crate::config::Code;
        match &error {
            DistError::Lost { .. } => {
                TrainError::new(Code::IoError, "DistBackendError", error.to_string())
                    .suggest("resume=true goes on from the last checkpoint")
            }
            DistError::Environment { .. } => {
                TrainError::new(Code::Conflict, "ValueError", error.to_string())
                    .suggest("Start with torchrun, or unset WORLD_SIZE and give device=0,1,...")
            }
            DistError::Nccl(_) | DistError::Start(_) => {
                TrainError::new(Code::DeviceNotAvailable, "RuntimeError", error.to_string())
            }
        }
    }
}

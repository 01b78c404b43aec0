//! Why a run did not end normally.

use std::any::Any;
use std::io;

use tch::TchError;

use crate::checkpoint::{CheckpointError, Problem};
use crate::config::{Code, ConfigError};
use crate::optim::ShimError;
use crate::signal::Stop;

/// What goes into status.json, onto the terminal, and into the exit code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TrainError {
    pub code: Code,
    /// `error.type` of status.json: the exception LibreYOLO would have raised.
    pub kind: &'static str,
    pub message: String,
    pub suggestion: Option<String>,
}

impl TrainError {
    pub fn new(code: Code, kind: &'static str, message: impl Into<String>) -> Self {
        TrainError {
            code,
            kind,
            message: message.into(),
            suggestion: None,
        }
    }

    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        self.code.exit_code()
    }

    /// From the payload of a panic in libtorch's bindings, which panic where an operation fails.
    pub(super) fn from_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("panic");
        Self::from_libtorch(text)
    }

    fn from_libtorch(text: &str) -> Self {
        let message = first_line(text);
        if is_out_of_memory(text) {
            return TrainError::new(Code::OutOfMemory, "OutOfMemoryError", message)
                .suggest("Train with a smaller batch or imgsz");
        }
        TrainError::new(Code::IoError, "RuntimeError", message)
    }
}

impl From<Stop> for TrainError {
    fn from(stop: Stop) -> Self {
        let (code, signal) = match stop {
            Stop::Terminated => (Code::Terminated, "SIGTERM"),
            Stop::Interrupted => (Code::Interrupted, "SIGINT"),
        };
        TrainError::new(
            code,
            stop.name(),
            format!("stopped by {signal}; resume=true goes on from here"),
        )
    }
}

impl From<ConfigError> for TrainError {
    fn from(error: ConfigError) -> Self {
        TrainError {
            code: error.code,
            kind: "ValueError",
            message: error.message,
            suggestion: error.suggestion,
        }
    }
}

impl From<CheckpointError> for TrainError {
    fn from(error: CheckpointError) -> Self {
        let code = match &error.problem {
            Problem::Io(e) if e.kind() == io::ErrorKind::NotFound => Code::CheckpointNotFound,
            Problem::Io(_) => Code::IoError,
            _ => Code::ModelLoadFailed,
        };
        let kind = match code {
            Code::CheckpointNotFound => "FileNotFoundError",
            Code::IoError => "OSError",
            _ => "RuntimeError",
        };
        let out = TrainError::new(code, kind, error.to_string());
        if error.problem.is_disk_full() {
            return out.suggest(
                "Free some space and go on with resume=true; the previous checkpoint is whole",
            );
        }
        out
    }
}

impl From<gpurun_dataset::Error> for TrainError {
    fn from(error: gpurun_dataset::Error) -> Self {
        TrainError::new(Code::DataInvalid, "ValueError", error.to_string())
    }
}

impl From<io::Error> for TrainError {
    fn from(error: io::Error) -> Self {
        TrainError::new(Code::IoError, "OSError", error.to_string())
    }
}

impl From<TchError> for TrainError {
    fn from(error: TchError) -> Self {
        Self::from_libtorch(&error.to_string())
    }
}

impl From<ShimError> for TrainError {
    fn from(error: ShimError) -> Self {
        Self::from_libtorch(&error.to_string())
    }
}

/// A C++ backtrace follows the first line; `Result::unwrap` puts its own words before it.
fn first_line(text: &str) -> String {
    let text = text.split_once("Torch(\"").map_or(text, |(_, inner)| inner);
    let end = ["\\n", "\n"]
        .iter()
        .filter_map(|newline| text.find(newline))
        .min();
    text[..end.unwrap_or(text.len())]
        .trim_end_matches("\")")
        .to_owned()
}

fn is_out_of_memory(text: &str) -> bool {
    text.contains("out of memory") || text.contains("can't allocate memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtorchs_words_are_shortened() {
        let panic = "called `Result::unwrap()` on an `Err` value: Torch(\"CUDA out of memory. Tried to \
                     allocate 3 GiB\\nException raised from malloc at ...\")";
        let error = TrainError::from_panic(&panic.to_owned());
        assert_eq!(error.message, "CUDA out of memory. Tried to allocate 3 GiB");
        assert_eq!(
            (error.code.exit_code(), error.kind),
            (1, "OutOfMemoryError")
        );
        assert_eq!(
            TrainError::from_panic(&"index 5\nat line").message,
            "index 5"
        );
    }

    #[test]
    fn signals_have_their_codes() {
        assert_eq!(TrainError::from(Stop::Terminated).exit_code(), 143);
        let interrupted = TrainError::from(Stop::Interrupted);
        assert_eq!(
            (interrupted.exit_code(), interrupted.kind),
            (130, "KeyboardInterrupt")
        );
    }

    #[test]
    fn a_full_disk_says_what_to_do() {
        let full =
            Problem::Io(io::ErrorKind::StorageFull.into()).at(std::path::Path::new("w/last.pt"));
        let error = TrainError::from(full);
        assert_eq!((error.code, error.kind), (Code::IoError, "OSError"));
        assert!(error.message.contains("w/last.pt") && error.suggestion.is_some());
    }
}

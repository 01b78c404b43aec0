//! Refused settings, and the exit code each kind of refusal ends with.

use std::fmt;

/// A setting that can't be used, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    pub code: Code,
    pub message: String,
    pub suggestion: Option<String>,
}

/// LibreYOLO's error codes; the class decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    UnknownKey,
    WrongType,
    OutOfRange,
    RequiredKey,
    Conflict,
    Unsupported,
    InvalidImageSize,
    DataNotFound,
    DataInvalid,
    ModelNotFound,
    ModelLoadFailed,
    CheckpointNotFound,
    DeviceNotAvailable,
    OutOfMemory,
    IoError,
    Diverged,
    Interrupted,
    Terminated,
}

impl Code {
    /// The name in `--json` output.
    pub fn name(self) -> &'static str {
        match self {
            Code::UnknownKey => "config_unknown_key",
            Code::WrongType => "config_type_error",
            Code::OutOfRange => "config_range_error",
            Code::RequiredKey => "config_required_key",
            Code::Conflict => "config_conflict",
            Code::Unsupported => "config_unsupported",
            Code::InvalidImageSize => "invalid_imgsz",
            Code::DataNotFound => "data_not_found",
            Code::DataInvalid => "data_invalid",
            Code::ModelNotFound => "model_not_found",
            Code::ModelLoadFailed => "model_load_failed",
            Code::CheckpointNotFound => "checkpoint_not_found",
            Code::DeviceNotAvailable => "device_not_available",
            Code::OutOfMemory => "cuda_oom",
            Code::IoError => "io_error",
            Code::Diverged => "training_diverged",
            Code::Interrupted => "interrupted",
            Code::Terminated => "terminated",
        }
    }

    /// 2 configuration, 3 data, 4 model, 130 SIGINT, 143 SIGTERM, 1 everything else.
    pub fn exit_code(self) -> u8 {
        match self {
            Code::UnknownKey
            | Code::WrongType
            | Code::OutOfRange
            | Code::RequiredKey
            | Code::Conflict
            | Code::Unsupported
            | Code::InvalidImageSize => 2,
            Code::DataNotFound | Code::DataInvalid => 3,
            Code::ModelNotFound | Code::ModelLoadFailed | Code::CheckpointNotFound => 4,
            Code::DeviceNotAvailable | Code::OutOfMemory | Code::Diverged | Code::IoError => 1,
            Code::Interrupted => 130,
            Code::Terminated => 143,
        }
    }
}

impl ConfigError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        ConfigError {
            code,
            message: message.into(),
            suggestion: None,
        }
    }

    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, ". {suggestion}"),
            None => Ok(()),
        }
    }
}

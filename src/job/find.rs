//! Which job: the file named, else `./gpurun.toml`, else the flags alone.

use super::{
    Job, file,
    flags::JobArgs,
    layer::Layer,
    spec::{Defaults, JobSpec},
};
use crate::document::{Document, DocumentError, read_text};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The job file that is taken when none is named.
pub(crate) const DEFAULT_FILE: &str = "gpurun.toml";

/// Reads the job that the arguments mean; flags win over the file.
///
/// # Errors
/// A file that can't be read, and everything wrong with what it says.
pub(crate) fn load(
    arguments: JobArgs,
    defaults: &Defaults,
    current: &Path,
) -> Result<Job, DocumentError> {
    let file = match &arguments.file {
        Some(path) => read(path, current)?,
        None if current.join(DEFAULT_FILE).is_file() => {
            read(&PathBuf::from(DEFAULT_FILE), current)?
        }
        None => Layer::default(),
    };
    let layer = file.overlaid(arguments.layer);
    let spec = JobSpec::build(&layer, &arguments.trailing, defaults, current)?;
    Ok(Job { spec, layer })
}

fn read(path: &Path, current: &Path) -> Result<Layer, DocumentError> {
    let content = read_text(&current.join(path)).map_err(|error| {
        let help = match error.kind() {
            ErrorKind::NotFound => {
                "name a TOML file; `gpurun launch --help` lists the flags that need none"
            }
            ErrorKind::IsADirectory => "that is a directory: a data set goes with --data",
            ErrorKind::InvalidData => "a job file is UTF-8 text",
            ErrorKind::FileTooLarge => "name the TOML file that says what to train",
            _ => "check its permissions",
        };
        DocumentError::new(format!("{}: can't be read: {error}", path.display()), help)
    })?;
    file::read(&Document::new(path, content))
}

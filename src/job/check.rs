//! What only the file system knows about a job, asked before anything is rented.

use super::{keys::Key, layer::Layer, place::real_path, spec::JobSpec};
use crate::document::DocumentError;
use crate::sink::{self, Keys, SinkError};
use gpurun_protocol::manifest;
use std::path::Path;

/// A typed job, with where each of its values was written.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) spec: JobSpec,
    pub(super) layer: Layer,
}

impl Job {
    /// Checks the paths a job names. `boxes` is where the local provider keeps its boxes.
    ///
    /// # Errors
    /// A data set that isn't there or isn't a directory or `.tar`; a checkpoint directory that
    /// can't be written, lies inside a box, or holds weights of somebody else.
    pub(crate) fn check(&self, boxes: &Path, keys: &Keys) -> Result<(), DocumentError> {
        if let Some(data) = &self.spec.data {
            self.check_data(data)?;
        }
        let to = &self.spec.checkpoints.to;
        if sink::is_store(to) {
            let found = sink::of_run(to, keys, &self.spec.name, "id").map(drop);
            return found.map_err(|error| self.store_error(&error));
        }
        self.check_destination(Path::new(to), boxes)
    }

    /// Whether the store that checkpoints go to takes them: writes a small object there, reads it and removes it.
    ///
    /// # Errors
    /// What the store refuses, at the line that names it.
    pub(crate) fn probe_destination(&self, keys: &Keys) -> Result<(), DocumentError> {
        sink::probe(&self.spec.checkpoints.to, keys).map_err(|error| self.store_error(&error))
    }

    fn store_error(&self, error: &SinkError) -> DocumentError {
        let help = match error {
            SinkError::NoKey { .. } => "set the key, or name a directory: --to DIRECTORY",
            SinkError::Address { .. } => {
                "s3://bucket/folder; buckets have 3 to 63 lower-case letters, digits, dashes and dots"
            }
            SinkError::Denied { .. } => {
                "check the bucket's name and what the key may do there: put, get, list and delete objects"
            }
            _ => {
                "check the address ($AWS_ENDPOINT_URL for another store than Amazon's) and the network, and launch again"
            }
        };
        self.layer.error(Key::To, error.to_string(), help)
    }

    /// An error about the data set, at the line that names it.
    pub(crate) fn data_error(&self, message: &str, help: &str) -> DocumentError {
        self.layer.error(Key::Source, message, help)
    }

    fn check_data(&self, data: &Path) -> Result<(), DocumentError> {
        let shown = data.display();
        let metadata = std::fs::metadata(data).map_err(|error| {
            self.data_error(
                &format!("{shown}: {error}"),
                "a directory with a data.yaml, or a .tar of one; paths in a job file start at its directory",
            )
        })?;
        if metadata.is_dir() {
            return Ok(());
        }
        let name = data.to_string_lossy().to_ascii_lowercase();
        if [".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".zip"]
            .iter()
            .any(|ending| name.ends_with(ending))
        {
            return Err(self.data_error(
                &format!("{shown} is compressed; images don't get smaller that way, only slower"),
                "unpack it and name the directory, or pack it as a plain .tar",
            ));
        }
        if !metadata.is_file()
            || ![".tar", ".yaml", ".yml"]
                .iter()
                .any(|end| name.ends_with(end))
        {
            return Err(self.data_error(
                &format!("{shown} is no data set"),
                "a directory with a data.yaml, that data.yaml itself, or a .tar",
            ));
        }
        Ok(())
    }

    fn check_destination(&self, to: &Path, boxes: &Path) -> Result<(), DocumentError> {
        let shown = to.display();
        let error = |message: String, help: &str| self.layer.error(Key::To, message, help);
        let real = real_path(to);
        if real.starts_with(real_path(boxes)) {
            return Err(error(
                format!("{shown} lies inside a box and would go with it"),
                "name a directory outside of it",
            ));
        }
        if self
            .spec
            .data
            .as_deref()
            .is_some_and(|data| real.starts_with(real_path(data)))
        {
            return Err(error(
                format!("{shown} lies inside the data set, which is copied to the box as a whole"),
                "name a directory outside of it",
            ));
        }
        let existing = real
            .ancestors()
            .find(|path| path.symlink_metadata().is_ok())
            .unwrap_or(Path::new("/"));
        if !existing.is_dir() {
            return Err(error(
                format!("{} is not a directory", existing.display()),
                "name a directory; it is made when it isn't there",
            ));
        }
        if let Err(why) = try_writing(existing) {
            return Err(error(
                format!("{} can't be written: {why}", existing.display()),
                "name a directory of yours: --to DIRECTORY",
            ));
        }
        // Folders of earlier runs say whose they are, and a new run then gets one of its own beside it.
        let folder = real.join(&self.spec.name);
        if holds_weights(&folder) && !folder.join(manifest::FILE_NAME).exists() {
            return Err(error(
                format!(
                    "{} holds weights that gpurun didn't put there",
                    folder.display()
                ),
                "another --name or --to keeps both",
            ));
        }
        Ok(())
    }
}

/// Asks by doing, since permissions alone don't know read-only and special file systems. Leaves nothing.
fn try_writing(folder: &Path) -> std::io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}

fn holds_weights(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "pt")
        })
    })
}

//! Getting verified files back.

use super::{Digest, Sink, SinkError};
use gpurun_protocol::manifest::{self, Manifest};
use serde::Serialize;
use std::path::Path;

/// A file that was brought here and has the hash it was verified with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Pulled {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Brings every verified file of a run into `directory`, which is made when it isn't there.
///
/// # Errors
/// [`SinkError::Missing`] when nothing was pushed yet; [`SinkError::Damaged`] when a file isn't what was
/// verified; what either side refuses.
pub(crate) fn pull(sink: &dyn Sink, directory: &Path) -> Result<Vec<Pulled>, SinkError> {
    let manifest = manifest(sink)?;
    let io_error = |error| SinkError::from_io(directory.display().to_string(), error);
    std::fs::create_dir_all(directory).map_err(io_error)?;
    let mut pulled = Vec::new();
    for entry in &manifest.files {
        let name = &entry.file;
        if manifest.verified(name).is_none() {
            continue;
        }
        let digest = sink.get(name, &directory.join(name))?;
        if !manifest.accounts_for(name, &digest.sha256) {
            return Err(damaged(sink, name, &manifest, digest));
        }
        pulled.push(Pulled {
            name: name.clone(),
            bytes: digest.bytes,
            sha256: digest.sha256,
        });
    }
    Ok(pulled)
}

/// The run's best weights at the destination and their size, if they are there and verified.
pub(crate) fn best_weights(sink: &dyn Sink) -> Option<(String, u64)> {
    const BEST: &str = "best.pt";
    let manifest = manifest(sink).ok()?;
    let bytes = manifest.verified(BEST)?.bytes;
    Some((format!("{}/{BEST}", sink.location()), bytes))
}

/// Whether a checkpoint is still what was verified, before a training goes on from it.
///
/// # Errors
/// [`SinkError::Damaged`] when it isn't; when it can't be read.
pub(crate) fn check(location: &Path, sha256: &str) -> Result<(), SinkError> {
    let shown = location.display().to_string();
    let found = Digest::of_file(location).map_err(|error| SinkError::from_io(&shown, error))?;
    if found.sha256 == sha256 {
        return Ok(());
    }
    Err(SinkError::Damaged {
        location: shown,
        expected: sha256.to_owned(),
        found: found.sha256,
    })
}

fn manifest(sink: &dyn Sink) -> Result<Manifest, SinkError> {
    let location = format!("{}/{}", sink.location(), manifest::FILE_NAME);
    let missing = || SinkError::Missing {
        location: location.clone(),
    };
    let bytes = sink.read(manifest::FILE_NAME)?.ok_or_else(missing)?;
    serde_json::from_slice(&bytes).map_err(|error| SinkError::Io {
        location: location.clone(),
        source: std::io::Error::other(error),
    })
}

fn damaged(sink: &dyn Sink, name: &str, manifest: &Manifest, found: Digest) -> SinkError {
    SinkError::Damaged {
        location: format!("{}/{name}", sink.location()),
        expected: manifest
            .verified(name)
            .map_or_else(String::new, |content| content.sha256.clone()),
        found: found.sha256,
    }
}

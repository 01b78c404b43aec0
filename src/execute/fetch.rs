//! Checkpoints from a box that can't reach their destination, brought there by this machine.

use crate::outbox;
use crate::remote::{Remote, RemoteError};
use crate::sink::{Digest, Directory, Object, Sink, SinkError};
use chrono::Utc;
use gpurun_lifecycle::RunRecord;
use gpurun_protocol::manifest::{self, Content, Manifest};
use std::path::Path;

/// Brings every version that is verified in the box's outbox and not here. As on a box, a file is announced in the
/// manifest before it is replaced, and settled after it was read back.
pub(super) async fn fetch(
    remote: &dyn Remote,
    run: &RunRecord,
    there: &Manifest,
) -> Result<(), RemoteError> {
    let sink = outbox::here(run).map_err(refused)?;
    let mut here = outbox::manifest_of(&sink, run).map_err(refused)?;
    let scratch = tempfile::tempdir().map_err(|error| {
        RemoteError::permanent(
            format!("no temporary folder can be made: {error}"),
            "make room for the checkpoints of the run",
        )
    })?;
    for (file, content) in outbox::missing(there, &here) {
        let brought = scratch.path().join("file");
        let from = format!("{}/{file}", there.location.trim_end_matches('/'));
        remote.get_file(&from, &brought).await?;
        let digest = Digest {
            sha256: content.sha256.clone(),
            bytes: content.bytes,
        };
        here.announce(&file, content.clone());
        save(&sink, &mut here)?;
        store(&sink, &file, &brought, &digest)?;
        here.settle(&file, now_here(content));
        save(&sink, &mut here)?;
    }
    Ok(())
}

/// A file that was replaced on the box while it came here has another hash: it is fetched again.
fn store(sink: &Directory, file: &str, brought: &Path, digest: &Digest) -> Result<(), RemoteError> {
    let object = Object {
        name: file,
        source: brought,
        digest,
    };
    sink.put(&object).map_err(|error| match error {
        SinkError::SourceChanged { .. } => RemoteError::temporary(
            format!("{file} came here with another hash than the box says"),
            "it is brought again at the next look",
        ),
        error => refused(error),
    })
}

fn now_here(content: Content) -> Content {
    let now = Some(Utc::now());
    Content {
        pushed_at: now,
        verified_at: now,
        ..content
    }
}

fn save(sink: &Directory, manifest: &mut Manifest) -> Result<(), RemoteError> {
    manifest.updated_at = Utc::now();
    let text = serde_json::to_vec_pretty(manifest).map_err(|error| {
        RemoteError::permanent(format!("the manifest: {error}"), "please report this")
    })?;
    sink.put_bytes(manifest::FILE_NAME, &text).map_err(refused)
}

fn refused(error: SinkError) -> RemoteError {
    RemoteError::temporary(error.to_string(), "look at the checkpoints' destination")
}

//! Where checkpoints of a box on another machine wait: it can't write into a directory of this one.
//!
//! Its agent pushes into a folder of its own, with a manifest, as it would anywhere. What lies there is on the box still,
//! and counts as nothing until this machine has brought it to the destination and verified it there.

use crate::sink::{self, Directory, Sink, SinkError};
use chrono::Utc;
use gpurun_lifecycle::{CheckpointSpec, RunRecord};
use gpurun_protocol::manifest::{self, Content, Manifest};
use gpurun_protocol::report::BoxReport;
use gpurun_providers::Access;
use std::path::Path;

/// Relative to the box's home.
const OUTBOX: &str = "gpurun/outbox";

/// Where the box's agent is to push.
pub(crate) fn destination(access: &Access, checkpoints: &CheckpointSpec) -> String {
    match access {
        Access::Local { .. } => checkpoints.to.clone(),
        Access::Ssh(_) if sink::is_store(&checkpoints.to) => checkpoints.to.clone(),
        Access::Ssh(_) => OUTBOX.to_owned(),
    }
}

/// The run's folder at the destination.
pub(crate) fn here(run: &RunRecord) -> Result<Directory, SinkError> {
    Directory::of_run(Path::new(&run.spec.checkpoints.to), &run.name, &run.id)
}

/// The manifest there; a new one where there is none.
pub(crate) fn manifest_of(sink: &Directory, run: &RunRecord) -> Result<Manifest, SinkError> {
    let location = sink.location();
    match sink.read(manifest::FILE_NAME)? {
        None => Ok(Manifest {
            schema_version: 1,
            run_id: run.id.clone(),
            run_name: run.name.clone(),
            updated_at: Utc::now(),
            location,
            files: Vec::new(),
        }),
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| SinkError::Io {
            location: format!("{location}/{}", manifest::FILE_NAME),
            source: std::io::Error::other(error),
        }),
    }
}

/// What is verified there and not, in this version, here.
pub(crate) fn missing(there: &Manifest, here: &Manifest) -> Vec<(String, Content)> {
    let verified = there
        .files
        .iter()
        .filter_map(|entry| Some((entry.file.clone(), there.verified(&entry.file)?.clone())));
    verified
        .filter(|(file, content)| !is_here(here, file, &content.sha256))
        .collect()
}

/// A report as it looks from this machine: verified is what is verified here. Returns the names of what waits.
pub(crate) fn seen_from_here(run: &RunRecord, report: &mut BoxReport) -> Vec<String> {
    let Some(there) = report.manifest.take() else {
        return Vec::new();
    };
    // A destination that can't be read proves nothing.
    let here = here(run).and_then(|sink| manifest_of(&sink, run));
    let Ok(here) = here else {
        report
            .files
            .iter_mut()
            .for_each(|file| file.verified = false);
        return names(&there);
    };
    for file in &mut report.files {
        let name = file.file.rsplit('/').next().unwrap_or_default();
        let version = there.verified(name);
        file.verified &= version.is_some_and(|content| is_here(&here, name, &content.sha256));
    }
    let waiting = missing(&there, &here);
    report.manifest = Some(here);
    waiting.into_iter().map(|(file, _)| file).collect()
}

fn names(manifest: &Manifest) -> Vec<String> {
    manifest
        .files
        .iter()
        .map(|entry| entry.file.clone())
        .collect()
}

fn is_here(here: &Manifest, file: &str, sha256: &str) -> bool {
    here.verified(file)
        .is_some_and(|content| content.sha256 == sha256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::fixtures::{minute, run};
    use gpurun_protocol::manifest::Milestone;
    use gpurun_protocol::report::FileStamp;

    fn content(sha256: &str) -> Content {
        Content {
            sha256: sha256.to_owned(),
            bytes: 4,
            epoch: Some(1),
            milestone: Milestone::Best,
            modified_at: minute(1),
            pushed_at: Some(minute(1)),
            verified_at: Some(minute(1)),
        }
    }

    fn manifest(files: &[(&str, &str)]) -> Manifest {
        let mut manifest = Manifest {
            schema_version: 1,
            run_id: "k3v9x2mq7d".to_owned(),
            run_name: "cells".to_owned(),
            updated_at: minute(1),
            location: "/root/gpurun/outbox/cells".to_owned(),
            files: Vec::new(),
        };
        for (file, sha256) in files {
            manifest.settle(file, content(sha256));
        }
        manifest
    }

    #[test]
    fn what_waits_on_the_box_is_safe_nowhere() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut run = run("k3v9x2mq7d", "cells");
        run.spec.checkpoints.to = folder.path().display().to_string();
        let stamp = |file: &str| FileStamp {
            file: format!("weights/{file}"),
            bytes: 4,
            modified_at: minute(1),
            complete: Some(true),
            verified: true,
        };
        let report = || -> serde_json::Result<BoxReport> {
            let empty = r#"{"schema_version":1,"at":"2026-12-01T03:00:00Z"}"#;
            Ok(BoxReport {
                manifest: Some(manifest(&[("best.pt", "bb"), ("last.pt", "cc")])),
                files: vec![stamp("best.pt"), stamp("last.pt")],
                ..serde_json::from_str(empty)?
            })
        };
        let verified = |report: &BoxReport| -> Vec<bool> {
            report.files.iter().map(|file| file.verified).collect()
        };
        let mut seen = report()?;
        assert_eq!(seen_from_here(&run, &mut seen), ["best.pt", "last.pt"]);
        assert_eq!(verified(&seen), [false, false]);
        assert_eq!(seen.manifest.map(|here| here.files.len()), Some(0));

        // One is here, the other in an older version.
        let sink = here(&run)?;
        let text = serde_json::to_vec(&manifest(&[("best.pt", "bb"), ("last.pt", "aa")]))?;
        sink.put_bytes(manifest::FILE_NAME, &text)?;
        let mut seen = report()?;
        assert_eq!(seen_from_here(&run, &mut seen), ["last.pt"]);
        assert_eq!(verified(&seen), [true, false]);

        sink.put_bytes(manifest::FILE_NAME, b"torn")?;
        let mut seen = report()?;
        assert_eq!(seen_from_here(&run, &mut seen), ["best.pt", "last.pt"]);
        assert_eq!((verified(&seen), seen.manifest), (vec![false, false], None));
        Ok(())
    }
}

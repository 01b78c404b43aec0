//! The small files that go along with checkpoints.

use std::io;
use std::path::PathBuf;

use gpurun_protocol::manifest::{Content, Manifest, Milestone};

use super::clock;
use super::files::tail;
use super::push_pass::{PushJob, save};
use super::scan::Stamp;
use crate::sink::{Digest, Sink, SinkError};

/// Files of the run directory, and how much of their end is taken.
const OF_THE_RUN: [(&str, u64); 6] = [
    ("status.json", 16 << 20),
    ("metrics.jsonl", 64 << 20),
    ("results.csv", 64 << 20),
    ("summary.json", 64 << 20),
    ("train_config.yaml", 16 << 20),
    ("train.log", 1 << 20),
];

/// How much of the captured output is taken.
const OUTPUT: u64 = 1 << 20;

/// Where an attempt's output begins in `stdout.log` and `stderr.log`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct OutputFrom {
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

/// Stores those that differ from what the destination holds, and enters them in the manifest, which the caller
/// saves.
pub(super) fn push(
    sink: &dyn Sink,
    job: &PushJob<'_>,
    manifest: &mut Manifest,
) -> Result<(), (String, SinkError)> {
    let mut changed = Vec::new();
    for (name, path, from, limit) in sources(job) {
        let about = |error| {
            let path = path.display().to_string();
            (name.to_owned(), SinkError::from_io(path, error))
        };
        let Some(stamp) = Stamp::of(&path).map_err(about)? else {
            continue;
        };
        let bytes = whole_lines(name, tail(&path, from, limit).map_err(about)?);
        let digest = Digest::of_bytes(&bytes);
        let known = manifest.verified(name);
        if bytes.is_empty() || known.is_some_and(|known| known.sha256 == digest.sha256) {
            continue;
        }
        let content = Content {
            sha256: digest.sha256.clone(),
            bytes: digest.bytes,
            epoch: None,
            milestone: Milestone::Companion,
            modified_at: stamp.modified,
            pushed_at: None,
            verified_at: None,
        };
        manifest.announce(name, content.clone());
        changed.push((name, bytes, digest, content));
    }
    if changed.is_empty() {
        return Ok(());
    }
    save(sink, job.layout, manifest).map_err(|error| ("manifest.json".to_owned(), error))?;
    for (name, bytes, digest, mut content) in changed {
        let stored = sink
            .put_bytes(name, &bytes)
            .and_then(|()| sink.verify(name, &digest));
        stored.map_err(|error| (name.to_owned(), error))?;
        content.pushed_at = Some(clock::now());
        content.verified_at = content.pushed_at;
        manifest.settle(name, content);
    }
    Ok(())
}

fn sources(job: &PushJob<'_>) -> impl Iterator<Item = (&'static str, PathBuf, u64, u64)> {
    let run_dir = job.layout.resolve(&job.spec.run_dir);
    let of_the_run = OF_THE_RUN
        .into_iter()
        .map(move |(name, limit)| (name, run_dir.join(name), 0, limit));
    let output = [
        (
            "stdout.log",
            job.layout.stdout(),
            job.output_from.stdout,
            OUTPUT,
        ),
        (
            "stderr.log",
            job.layout.stderr(),
            job.output_from.stderr,
            OUTPUT,
        ),
    ];
    of_the_run.chain(output)
}

/// A history may be caught in the middle of its last line.
fn whole_lines(name: &str, mut bytes: Vec<u8>) -> Vec<u8> {
    if matches!(name, "metrics.jsonl" | "results.csv") {
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |newline| newline + 1));
    }
    bytes
}

/// The end of an attempt's standard error, as text.
pub(crate) fn stderr_tail(job_stderr: &std::path::Path, from: u64) -> io::Result<String> {
    const SHOWN: u64 = 4096;
    match tail(job_stderr, from, SHOWN) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_stays_behind() {
        let torn = b"{\"epoch\":1}\n{\"ep".to_vec();
        assert_eq!(
            whole_lines("metrics.jsonl", torn.clone()),
            b"{\"epoch\":1}\n"
        );
        assert_eq!(whole_lines("metrics.jsonl", b"{\"ep".to_vec()), b"");
        assert_eq!(whole_lines("train.log", torn.clone()), torn);
    }
}

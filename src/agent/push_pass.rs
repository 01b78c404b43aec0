//! One push pass: every due file that is whole goes to the destination, is read back, and is in the manifest.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};
use gpurun_protocol::agent_spec::{AgentSpec, PushSpec, SCHEMA_VERSION};
use gpurun_protocol::manifest::{self, Content, Manifest};

use super::complete::is_complete;
use super::files::write_json;
use super::layout::Layout;
use super::milestones::{Due, Role, Trigger, due};
use super::progress::{read_history, read_status};
use super::scan::{Look, Stamp};
use super::{clock, companions, prune};
use crate::sink::{self, Digest, Directory, Keys, Object, Sink, SinkError};

/// What a pass works on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PushJob<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) spec: &'a AgentSpec,
    pub(crate) push: &'a PushSpec,
    /// When the training began.
    pub(crate) started_at: DateTime<Utc>,
    /// Where this attempt's captured output begins in its files.
    pub(crate) output_from: companions::OutputFrom,
}

/// What a pass did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) manifest: Option<Manifest>,
    pub(crate) pushed: Vec<String>,
    /// Due, and not whole or still changing, with the reason.
    pub(crate) unfit: Vec<(String, String)>,
    /// Due, and refused by the destination or unreadable, with the reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Removed from the box.
    pub(crate) pruned: Vec<String>,
}

/// Runs a pass over what `look` saw. `settled` says which files have stopped changing; `busy` is told which
/// file is under way. Passes of several processes on one box take turns.
///
/// It never fails as a whole: what went wrong is in the outcome, and the next pass does it again.
pub(crate) fn run(
    job: &PushJob<'_>,
    look: &Look,
    trigger: Trigger,
    settled: &dyn Fn(&str) -> bool,
    busy: &dyn Fn(Option<&str>),
) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err((what, error)) = pass(job, look, trigger, settled, busy, &mut outcome) {
        outcome.failed.push((what, error.to_string()));
    }
    busy(None);
    outcome
}

fn pass(
    job: &PushJob<'_>,
    look: &Look,
    trigger: Trigger,
    settled: &dyn Fn(&str) -> bool,
    busy: &dyn Fn(Option<&str>),
    outcome: &mut Outcome,
) -> Result<(), (String, SinkError)> {
    let about_manifest = |error| (manifest::FILE_NAME.to_owned(), error);
    let _turn = take_turn(job.layout).map_err(|error| {
        let lock = job.layout.push_lock().display().to_string();
        about_manifest(SinkError::from_io(lock, error))
    })?;
    let sink = destination(job).map_err(about_manifest)?;
    let sink = sink.as_ref();
    let mut manifest = load(sink, job).map_err(about_manifest)?;

    let now = clock::now();
    let run_dir = job.layout.resolve(&job.spec.run_dir);
    for due in due(
        job.push,
        look,
        Some(&manifest),
        trigger,
        job.started_at,
        now,
    ) {
        let name = due.file.name.clone();
        if !settled(&name) {
            outcome.unfit.push((name, "still changing".to_owned()));
            continue;
        }
        busy(Some(&name));
        match push_one(sink, job.layout, &mut manifest, &due, &run_dir) {
            Ok(None) => outcome.pushed.push(name),
            Ok(Some(why)) => outcome.unfit.push((name, why)),
            Err(SinkError::SourceChanged { .. }) => {
                outcome
                    .unfit
                    .push((name, "changed while it was read".to_owned()));
            }
            Err(error) => outcome.failed.push((name, error.to_string())),
        }
    }
    if trigger != Trigger::Watch || !outcome.pushed.is_empty() {
        busy(Some("status and metrics"));
        companions::push(sink, job, &mut manifest)?;
        save(sink, job.layout, &mut manifest).map_err(about_manifest)?;
    }
    if let Some(keep) = job.push.keep_epochs {
        for file in prune::removable(look, &manifest, keep) {
            match fs::remove_file(&file.path) {
                Ok(()) => outcome.pruned.push(file.name),
                Err(error) => outcome
                    .failed
                    .push((file.name, format!("can't be pruned: {error}"))),
            }
        }
    }
    outcome.manifest = Some(manifest);
    Ok(())
}

/// The run's folder where checkpoints go. A relative directory starts at the box's home.
fn destination(job: &PushJob<'_>) -> Result<Box<dyn Sink>, SinkError> {
    let to = &job.push.to;
    let (name, id) = (&job.spec.run_name, &job.spec.run_id);
    if !sink::is_store(to) {
        let to = job.layout.resolve(to);
        return Ok(Box::new(Directory::of_run(&to, name, id)?));
    }
    let file = job.layout.sink_keys();
    let keys = match fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Keys::default()),
        Err(error) => Err(error),
    };
    let keys = keys.map_err(|error| SinkError::from_io(file.display().to_string(), error))?;
    sink::of_run(to, &keys, name, id)
}

/// Pushes one file; says why when it isn't fit to be pushed.
fn push_one(
    sink: &dyn Sink,
    layout: &Layout,
    manifest: &mut Manifest,
    due: &Due,
    run_dir: &Path,
) -> Result<Option<String>, SinkError> {
    let file = &due.file;
    let at_source = |error| SinkError::from_io(file.path.display().to_string(), error);
    if is_complete(&file.name, &file.path).map_err(at_source)? == Some(false) {
        return Ok(Some("not whole: its end is missing".to_owned()));
    }
    let digest = Digest::of_file(&file.path).map_err(at_source)?;
    // What was hashed is what was looked at and found whole.
    if Stamp::of(&file.path).map_err(at_source)? != Some(file.stamp) {
        return Ok(Some("changed while it was read".to_owned()));
    }

    let known = manifest.verified(&file.name).cloned();
    let mut content = Content {
        sha256: digest.sha256.clone(),
        bytes: digest.bytes,
        epoch: epoch_of(&file.name, run_dir),
        milestone: due.milestone,
        modified_at: file.stamp.modified,
        pushed_at: None,
        verified_at: None,
    };
    if let Some(known) = known.filter(|known| known.sha256 == digest.sha256) {
        // Written again with the same content: there already.
        content.pushed_at = known.pushed_at;
        content.verified_at = known.verified_at;
    } else {
        manifest.announce(&file.name, content.clone());
        save(sink, layout, manifest)?;
        sink.put(&Object {
            name: &file.name,
            source: &file.path,
            digest: &digest,
        })?;
        content.pushed_at = Some(clock::now());
        sink.verify(&file.name, &digest)?;
        content.verified_at = Some(clock::now());
    }
    manifest.settle(&file.name, content);
    save(sink, layout, manifest)?;
    Ok(None)
}

/// The destination's manifest, without files that are not there any more: they are due again.
fn load(sink: &dyn Sink, job: &PushJob<'_>) -> Result<Manifest, SinkError> {
    let new = || Manifest {
        schema_version: SCHEMA_VERSION,
        run_id: job.spec.run_id.clone(),
        run_name: job.spec.run_name.clone(),
        updated_at: clock::now(),
        location: sink.location(),
        files: Vec::new(),
    };
    let Some(bytes) = sink.read(manifest::FILE_NAME)? else {
        return Ok(new());
    };
    let Ok(mut manifest) = serde_json::from_slice::<Manifest>(&bytes) else {
        // Kept for people. Every file is pushed again, and only then replaced.
        sink.put_bytes("manifest.damaged.json", &bytes)?;
        return Ok(new());
    };
    let stored = sink.list()?;
    let is_there = |file: &str, content: &Content| {
        stored
            .iter()
            .any(|stored| stored.name == file && stored.bytes == content.bytes)
    };
    // A pass that was killed between the replacement and the entry about it.
    for (file, mut content) in announced(&manifest) {
        let digest = Digest {
            sha256: content.sha256.clone(),
            bytes: content.bytes,
        };
        if is_there(&file, &content) && sink.verify(&file, &digest).is_ok() {
            content.pushed_at = Some(clock::now());
            content.verified_at = content.pushed_at;
            manifest.settle(&file, content);
        }
    }
    manifest.files.retain(|entry| {
        let current = entry.current.as_ref();
        current.is_none_or(|content| is_there(&entry.file, content))
    });
    Ok(manifest)
}

fn announced(manifest: &Manifest) -> Vec<(String, Content)> {
    manifest
        .files
        .iter()
        .filter_map(|entry| Some((entry.file.clone(), entry.incoming.clone()?)))
        .collect()
}

/// Writes the manifest to the destination, then the box's copy. A full box doesn't fail a push.
pub(super) fn save(
    sink: &dyn Sink,
    layout: &Layout,
    manifest: &mut Manifest,
) -> Result<(), SinkError> {
    manifest.updated_at = clock::now();
    let mut bytes = serde_json::to_vec_pretty(manifest)
        .map_err(|error| SinkError::from_io(manifest::FILE_NAME, error.into()))?;
    bytes.push(b'\n');
    sink.put_bytes(manifest::FILE_NAME, &bytes)?;
    let _ = write_json(&layout.manifest(), manifest);
    Ok(())
}

fn epoch_of(name: &str, run_dir: &Path) -> Option<u32> {
    match Role::of(name) {
        Role::Epoch(epoch) => Some(epoch),
        Role::Best => read_status(run_dir).ok()??.best_epoch,
        Role::Last | Role::Other => Some(read_history(run_dir).ok()??.last.epoch),
    }
}

/// Waits until no other process of the box pushes; the turn ends when the file is dropped.
fn take_turn(layout: &Layout) -> io::Result<File> {
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(layout.push_lock())?;
    lock.lock()?;
    Ok(lock)
}

#[cfg(test)]
#[path = "push_pass_tests.rs"]
mod tests;

//! How a box changes its state: each step is written down before it is done, can be repeated, and can be finished by
//! anybody who looks, should whoever began it have been killed.

use std::io;
use std::time::Duration;

use super::api::{BoxFile, BoxState};
use super::boxes::{Boxes, Found, Lock, is_id};
use super::processes;

/// Why a box did not change its state.
#[derive(Debug, thiserror::Error)]
pub(super) enum Obstacle {
    #[error("there is no such box")]
    Gone,
    #[error("{0}")]
    Unreadable(String),
    #[error("the label {label} is in use by box {id}")]
    LabelInUse { label: String, id: String },
    #[error("the box is rented with {wanted} GPU(s), and {free} of that kind are free now")]
    NoFreeGpu { wanted: u32, free: usize },
    #[error("processes {0:?} are still there after SIGKILL")]
    Processes(Vec<i32>),
    #[error(transparent)]
    Files(#[from] io::Error),
}

/// A program may write while its folder is removed; it is ended again, this many times.
const REMOVE_ATTEMPTS: u32 = 5;

/// Ends all processes, keeps the folder. Stopping the stopped is success.
pub(super) fn stop(boxes: &Boxes, id: &str, grace: Duration) -> Result<(), Obstacle> {
    let lock = boxes.lock(id)?.ok_or(Obstacle::Gone)?;
    let mut file = whole(boxes, id)?;
    finish_stop(boxes, &lock, &mut file, grace)
}

/// Gives the box its GPUs back, if that many of `present` are free. Starting the running is success.
pub(super) fn start(
    boxes: &Boxes,
    id: &str,
    grace: Duration,
    present: &[u32],
) -> Result<(), Obstacle> {
    let _allocation = boxes.lock_allocation()?;
    let lock = boxes.lock(id)?.ok_or(Obstacle::Gone)?;
    let mut file = whole(boxes, id)?;
    if state(&file) == BoxState::Running {
        return Ok(());
    }
    finish_stop(boxes, &lock, &mut file, grace)?;
    file.gpus = free_gpus(boxes, present, file.gpu_count)?;
    Ok(boxes.enter(&lock, &mut file, BoxState::Running)?)
}

/// Ends all processes and removes the folder. Destroying the destroyed is success.
pub(super) fn destroy(boxes: &Boxes, id: &str, grace: Duration) -> Result<(), Obstacle> {
    let Some(lock) = boxes.lock(id)? else {
        return end_vanished(id, grace);
    };
    match boxes.read(id)? {
        None => return end_vanished(id, grace),
        Some(Found::Whole(mut file)) => boxes.enter(&lock, &mut file, BoxState::Destroying)?,
        // Nothing can be written into it; what is left of it is removed all the same.
        Some(Found::Unreadable { .. }) => {}
    }
    finish_destroy(boxes, &lock, id, grace)
}

/// A box whose folder somebody deleted is gone only when nothing runs in it any more.
pub(super) fn end_vanished(id: &str, grace: Duration) -> Result<(), Obstacle> {
    if !is_id(id) {
        return Ok(());
    }
    processes::end_all(id, grace).map_err(Obstacle::Processes)
}

/// Goes on with a stop or a destroy whose process was killed; a box that somebody is at work on is left to them.
///
/// Returns the box as it is afterwards, `None` when it is gone.
pub(super) fn settle(boxes: &Boxes, found: Found, grace: Duration) -> io::Result<Option<Found>> {
    let Found::Whole(seen) = &found else {
        return Ok(Some(found));
    };
    if !matches!(state(seen), BoxState::Stopping | BoxState::Destroying) {
        return Ok(Some(found));
    }
    let id = seen.id.clone();
    let Some(lock) = boxes.try_lock(&id)? else {
        return boxes.read(&id);
    };
    if let Some(Found::Whole(mut file)) = boxes.read(&id)? {
        let settled = match state(&file) {
            BoxState::Stopping => finish_stop(boxes, &lock, &mut file, grace),
            BoxState::Destroying => finish_destroy(boxes, &lock, &id, grace),
            BoxState::Running | BoxState::Stopped => Ok(()),
        };
        if let Err(obstacle) = settled {
            // It stays in sight in the state it is in, and the next look tries again.
            tracing::warn!(id, %obstacle, "the box could not leave its state");
        }
    }
    boxes.read(&id)
}

/// GPUs that no box has, `wanted` of them.
pub(super) fn free_gpus(boxes: &Boxes, present: &[u32], wanted: u32) -> Result<Vec<u32>, Obstacle> {
    let taken = taken_gpus(&boxes.list()?);
    let free: Vec<u32> = present
        .iter()
        .copied()
        .filter(|index| !taken.contains(index))
        .collect();
    match usize::try_from(wanted)
        .ok()
        .and_then(|count| free.get(..count))
    {
        Some(given) => Ok(given.to_vec()),
        None => Err(Obstacle::NoFreeGpu {
            wanted,
            free: free.len(),
        }),
    }
}

/// GPUs that boxes have now.
pub(super) fn taken_gpus(boxes: &[Found]) -> Vec<u32> {
    let whole = boxes.iter().filter_map(|found| match found {
        Found::Whole(file) => Some(file),
        Found::Unreadable { .. } => None,
    });
    whole.flat_map(|file| file.gpus.iter().copied()).collect()
}

fn whole(boxes: &Boxes, id: &str) -> Result<Box<BoxFile>, Obstacle> {
    match boxes.read(id)? {
        Some(Found::Whole(file)) if state(&file) != BoxState::Destroying => Ok(file),
        Some(Found::Unreadable { why, .. }) => Err(Obstacle::Unreadable(why)),
        _ => Err(Obstacle::Gone),
    }
}

/// An empty timeline is not read as a whole box, so the fallback is never taken; destroying is what can't cost money.
fn state(file: &BoxFile) -> BoxState {
    file.now().map_or(BoxState::Destroying, |now| now.state)
}

fn finish_stop(
    boxes: &Boxes,
    lock: &Lock,
    file: &mut BoxFile,
    grace: Duration,
) -> Result<(), Obstacle> {
    if state(file) == BoxState::Stopped {
        return Ok(());
    }
    boxes.enter(lock, file, BoxState::Stopping)?;
    processes::end_all(&file.id, grace).map_err(Obstacle::Processes)?;
    file.gpus.clear();
    Ok(boxes.enter(lock, file, BoxState::Stopped)?)
}

fn finish_destroy(boxes: &Boxes, lock: &Lock, id: &str, grace: Duration) -> Result<(), Obstacle> {
    let mut attempt = 1;
    loop {
        processes::end_all(id, grace).map_err(Obstacle::Processes)?;
        match boxes.remove(lock, id) {
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty
                    && attempt < REMOVE_ATTEMPTS =>
            {
                attempt += 1
            }
            result => return Ok(result?),
        }
    }
}

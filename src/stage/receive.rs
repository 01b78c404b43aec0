//! A data set into a box's home, all of it or nothing.

use super::{
    copy::{Copied, copy},
    description,
    doctor::is_archive,
    error::{Result, StageError},
    layout::Layout,
    listing,
    marker::Marker,
    space::{self, Allotment},
    unpack::{Content, unpack},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What is to be where. The paths are of the machine this runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    /// The directory, description or `.tar`.
    pub(crate) source: PathBuf,
    /// What [`super::examine`] or [`super::pack`] called it.
    pub(crate) fingerprint: String,
    /// The box's home.
    pub(crate) home: PathBuf,
    /// Relative to the home.
    pub(crate) dest: PathBuf,
    /// What the home may hold, in bytes.
    pub(crate) disk_limit: Option<u64>,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) bytes: u64,
    pub(crate) total_bytes: u64,
    pub(crate) files: u64,
}

/// Puts the data set there. Doing it again does nothing; doing it after a kill goes on.
///
/// # Errors
/// No room, a source that changed since it was examined, a file that can't be read or written. What
/// was copied so far stays beside the destination for the next try.
pub(crate) fn receive(order: &Order, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let dest = order.home.join(&order.dest);
    if Marker::read(&dest).is_some_and(|marker| marker.fingerprint == order.fingerprint) {
        return Ok(());
    }
    let places = Places::beside(&dest)?;
    let content = if is_archive(&order.source) {
        from_archive(order, &places, progress)?
    } else {
        from_directory(order, &places, progress)?
    };
    places.settle(&content, &dest)
}

/// An unpacked archive that is the right one: the folder that becomes the data set.
pub(super) fn settled_archive(unpacked: &Content, partial: &Path) -> Result<PathBuf> {
    let layout = Layout::of_unpacked(partial)?;
    let text = description::portable(&layout)?;
    describe(&layout, text.as_deref(), &layout.root)?;
    let marker = Marker {
        schema_version: 1,
        fingerprint: unpacked.fingerprint.clone(),
        files: unpacked.files,
        bytes: unpacked.bytes,
    };
    marker.write(&layout.root)?;
    Ok(layout.root)
}

/// The two folders beside the destination that a half-done copy may leave behind.
pub(super) struct Places {
    /// What is being filled.
    pub(super) partial: PathBuf,
    /// What was at the destination before.
    old: PathBuf,
}

impl Places {
    pub(super) fn beside(dest: &Path) -> Result<Self> {
        let parent = dest.parent().unwrap_or(Path::new("/"));
        let name = dest.file_name().unwrap_or_default().to_string_lossy();
        fs::create_dir_all(parent).map_err(StageError::io("can't be made", parent))?;
        let places = Self {
            partial: parent.join(format!(".{name}.partial")),
            old: parent.join(format!(".{name}.old")),
        };
        remove(&places.old)?;
        Ok(places)
    }

    pub(super) fn make_partial(&self) -> Result<()> {
        fs::create_dir_all(&self.partial).map_err(StageError::io("can't be made", &self.partial))
    }

    /// Gives the finished folder its name.
    pub(super) fn settle(&self, content: &Path, dest: &Path) -> Result<()> {
        if dest.symlink_metadata().is_ok() {
            fs::rename(dest, &self.old).map_err(StageError::io("can't be moved away", dest))?;
        }
        fs::rename(content, dest).map_err(StageError::io("can't be renamed", content))?;
        remove(&self.partial)?;
        remove(&self.old)
    }
}

pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StageError::io("can't be removed", path)(error))
        }
        _ => Ok(()),
    }
}

fn from_directory(
    order: &Order,
    places: &Places,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    let layout = Layout::of(&order.source)?;
    let text = description::portable(&layout)?;
    let items = listing::list(&layout.root)?;
    let total = listing::total(&items);
    // Left by a copy of something else: nothing of it may stay.
    if Marker::read(&places.partial).is_none_or(|old| old.fingerprint != order.fingerprint) {
        remove(&places.partial)?;
    }
    places.make_partial()?;
    let marker = Marker {
        schema_version: 1,
        fingerprint: order.fingerprint.clone(),
        files: items.len() as u64,
        bytes: total,
    };
    marker.write(&places.partial)?;
    let left = total.saturating_sub(space::used(&places.partial));
    space::check(&order.home, left, allotment(order))?;
    let mut fill = || {
        copy(
            &layout.root,
            &items,
            &places.partial,
            &mut |bytes, files| {
                progress(Progress {
                    bytes,
                    total_bytes: total,
                    files,
                });
            },
        )
    };
    let as_ordered = |copied: &Copied| copied.fingerprint == order.fingerprint;
    let mut copied = fill()?;
    if !as_ordered(&copied) && copied.reused > 0 {
        // A file of the right size and the wrong content: begin again before blaming the source.
        remove(&places.partial)?;
        places.make_partial()?;
        copied = fill()?;
    }
    if !as_ordered(&copied) {
        remove(&places.partial)?;
        return Err(changed(&order.source));
    }
    marker.write(&places.partial)?;
    describe(&layout, text.as_deref(), &places.partial)?;
    Ok(places.partial.clone())
}

fn from_archive(
    order: &Order,
    places: &Places,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    let metadata = order
        .source
        .metadata()
        .map_err(StageError::io("can't be read", &order.source))?;
    remove(&places.partial)?;
    places.make_partial()?;
    space::check(&order.home, metadata.len(), allotment(order))?;
    let mut files = 0;
    let unpacked = unpack(&order.source, &places.partial, &mut |bytes| {
        files += 1;
        progress(Progress {
            bytes,
            total_bytes: metadata.len(),
            files,
        });
    })?;
    if unpacked.fingerprint != order.fingerprint {
        remove(&places.partial)?;
        return Err(changed(&order.source));
    }
    settled_archive(&unpacked, &places.partial)
}

fn allotment(order: &Order) -> Option<Allotment> {
    order.disk_limit.map(|limit| Allotment {
        limit,
        used: space::used(&order.home),
    })
}

fn describe(layout: &Layout, text: Option<&str>, folder: &Path) -> Result<()> {
    let Some(text) = text else {
        return Ok(());
    };
    let path = folder.join(layout.staged_name());
    fs::write(&path, text).map_err(StageError::io("can't be written", &path))
}

fn changed(source: &Path) -> StageError {
    StageError::new(
        format!("{} changed after it was checked", source.display()),
        "leave the data set alone while it is copied, then launch again",
    )
}

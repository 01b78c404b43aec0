//! The folder of boxes: reading, making, changing and removing `<root>/boxes/<id>/`, safe between processes and at any
//! point where this one may be killed.
//!
//! Two renames carry that safety: a box appears whole (made as `.new-<id>`, then renamed), and disappears whole (emptied,
//! renamed to `.gone-<id>`, then removed). So every `boxes/<id>` is a box that exists, with its `box.json` in it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::api::{BoxFile, BoxState, StateChange, VERSION};
use crate::clock;

const BOX_FILE: &str = "box.json";
const LOCK_FILE: &str = "box.lock";
const HOME: &str = "home";
const NEW: &str = ".new-";
const GONE: &str = ".gone-";

/// Where the boxes of one `gpurun` state directory live.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    root: PathBuf,
}

/// One entry of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Whole(Box<BoxFile>),
    /// A box whose `box.json` can't be understood: it exists all the same.
    Unreadable {
        id: String,
        why: String,
    },
}

/// The right to change one box, or to make new ones; released when dropped, also by a kill.
#[must_use]
#[derive(Debug)]
pub(super) struct Lock(
    #[expect(
        dead_code,
        reason = "held for its lock, which closing the file releases"
    )]
    File,
);

impl Boxes {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn home(&self, id: &str) -> PathBuf {
        self.folder(id).join(HOME)
    }

    /// All boxes, in the order of their ids. No folder at all is no box at all; one that can't be read is an error.
    pub(super) fn list(&self) -> io::Result<Vec<Found>> {
        let entries = match fs::read_dir(self.all()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let Some(id) = entry?
                .file_name()
                .to_str()
                .filter(|name| is_id(name))
                .map(str::to_owned)
            else {
                continue;
            };
            found.extend(self.read(&id)?);
        }
        found.sort_by(|one, other| one.id().cmp(other.id()));
        Ok(found)
    }

    /// One box; `None` when the folder is proven not to be there.
    pub(super) fn read(&self, id: &str) -> io::Result<Option<Found>> {
        if !is_id(id) {
            return Ok(None);
        }
        let unreadable = |why: String| {
            Ok(Some(Found::Unreadable {
                id: id.to_owned(),
                why,
            }))
        };
        let path = self.folder(id).join(BOX_FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Told apart by the folder itself: a box may be removed between two looks, but never by halves.
                return if self.folder(id).try_exists()? {
                    unreadable(format!("{} is missing", path.display()))
                } else {
                    Ok(None)
                };
            }
            // A stray file among the boxes is no box.
            Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return unreadable(format!("{}: {error}", path.display())),
        };
        match serde_json::from_str::<BoxFile>(&text) {
            Ok(found) if found.version > VERSION => {
                unreadable(format!("{} is of a newer gpurun", path.display()))
            }
            Ok(found) if found.id != id => {
                unreadable(format!("{} says it is box {}", path.display(), found.id))
            }
            Ok(found) if found.timeline.is_empty() => {
                unreadable(format!("{} has no state", path.display()))
            }
            Ok(found) => Ok(Some(Found::Whole(Box::new(found)))),
            Err(error) => unreadable(format!("{}: {error}", path.display())),
        }
    }

    /// Waits for the sole right to make boxes and to hand out GPUs.
    pub(super) fn lock_allocation(&self) -> io::Result<Lock> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.all())?;
        let file = open_lock(&self.root.join("allocation.lock"))?;
        file.lock()?;
        Ok(Lock(file))
    }

    /// Waits for the sole right to change box `id`; `None` when there is no such box.
    pub(super) fn lock(&self, id: &str) -> io::Result<Option<Lock>> {
        let Some(file) = self.lock_file(id)? else {
            return Ok(None);
        };
        file.lock()?;
        Ok(Some(Lock(file)))
    }

    /// Like [`Boxes::lock`], and `None` also when somebody else is changing the box now.
    pub(super) fn try_lock(&self, id: &str) -> io::Result<Option<Lock>> {
        let Some(file) = self.lock_file(id)? else {
            return Ok(None);
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Makes a box appear. Its id must be new.
    pub(super) fn create(&self, _allocation: &Lock, new: &BoxFile) -> io::Result<()> {
        self.sweep()?;
        let folder = self.all().join(format!("{NEW}{}", new.id));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder.join(HOME))?;
        write_whole(&folder, new)?;
        fs::rename(&folder, self.folder(&new.id))?;
        sync(&self.all())
    }

    /// Rewrites a box that is locked.
    pub(super) fn write(&self, _lock: &Lock, changed: &BoxFile) -> io::Result<()> {
        write_whole(&self.folder(&changed.id), changed)
    }

    /// Writes down that a locked box is in `state` from now on.
    pub(super) fn enter(&self, lock: &Lock, file: &mut BoxFile, state: BoxState) -> io::Result<()> {
        if file.now().map(|now| now.state) != Some(state) {
            file.timeline.push(StateChange {
                state,
                at: clock::now(),
            });
        }
        self.write(lock, file)
    }

    /// Makes a locked box disappear with all it holds. What was removed before a failure stays removed, and the box stays
    /// in sight until nothing of it is left.
    pub(super) fn remove(&self, _lock: &Lock, id: &str) -> io::Result<()> {
        let folder = self.folder(id);
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name() == BOX_FILE || entry.file_name() == LOCK_FILE {
                continue;
            }
            if entry.file_type()?.is_dir() {
                remove_tree(&entry.path())?
            } else {
                fs::remove_file(entry.path())?
            }
        }
        let gone = self.all().join(format!("{GONE}{id}"));
        fs::rename(&folder, &gone)?;
        sync(&self.all())?;
        remove_tree(&gone)
    }

    /// Clears what a kill left half made or half gone. Only boxes not yet, or not any more, there are touched.
    fn sweep(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.all())? {
            let entry = entry?;
            let name = entry.file_name();
            if name
                .to_str()
                .is_some_and(|name| name.starts_with(NEW) || name.starts_with(GONE))
            {
                remove_tree(&entry.path())?;
            }
        }
        Ok(())
    }

    fn all(&self) -> PathBuf {
        self.root.join("boxes")
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.all().join(id)
    }

    fn lock_file(&self, id: &str) -> io::Result<Option<File>> {
        if !is_id(id) {
            return Ok(None);
        }
        match open_lock(&self.folder(id).join(LOCK_FILE)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Found {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Whole(file) => &file.id,
            Self::Unreadable { id, .. } => id,
        }
    }
}

/// An id no box has yet: unique by itself, and short enough to type.
pub(super) fn new_id() -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let letters = std::iter::repeat_with(|| char::from(LETTERS[fastrand::usize(..LETTERS.len())]));
    format!("box-{}", letters.take(10).collect::<String>())
}

/// Whether `name` can be a box's id, and so is safe as the name of a folder.
pub(super) fn is_id(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Replaces `box.json` so that a reader, and a kill, finds the old or the new one.
fn write_whole(folder: &Path, content: &BoxFile) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(folder.join(BOX_FILE))
        .map_err(|error| error.error)?;
    sync(folder)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Removes a tree, also where a program took the write permission off its own folders. Links are removed, not followed;
/// what somebody else has removed meanwhile is removed.
fn remove_tree(path: &Path) -> io::Result<()> {
    let result = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(path)?;
            fs::remove_dir_all(path)
        }
        result => result,
    };
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

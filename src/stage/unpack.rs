//! A `.tar` into a folder, and never out of it.

use super::{
    digest::HashingReader,
    error::{Result, StageError},
};
use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
};
use tar::{Archive, Entry, EntryType};

/// Two blocks of zeros close every archive.
const END_MARK: i64 = 1024;

/// What came out of an archive.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// The hash of the archive itself.
    pub(super) fingerprint: String,
}

/// Unpacks `archive` into `folder`, which exists and is empty. `progress` gets the bytes unpacked.
///
/// Hidden files are left out, as they are from a directory. Hard links become files of their own.
///
/// # Errors
/// A cut or broken archive; an entry that leads out of the folder, is a symbolic link or a device.
pub(super) fn unpack(
    archive: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Content> {
    check_end(archive)?;
    let file = File::open(archive).map_err(StageError::io("can't be opened", archive))?;
    unpack_from(archive, file, folder, progress)
}

/// The same from a stream, whose end only its hash can prove. `archive` is what it is called in errors.
pub(super) fn unpack_from(
    archive: &Path,
    stream: impl Read,
    folder: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Content> {
    let stream = BufReader::with_capacity(1 << 20, stream);
    let mut tar = Archive::new(HashingReader::new(stream));
    let (mut files, mut bytes) = (0, 0);
    let broken = || StageError::io("the archive can't be read on", archive);
    for entry in tar.entries().map_err(broken())? {
        let mut entry = entry.map_err(broken())?;
        let written = unpack_entry(archive, folder, &mut entry)?;
        if let Some(size) = written {
            files += 1;
            bytes += size;
            progress(bytes);
        }
    }
    let fingerprint = tar.into_inner().finish().map_err(broken())?;
    Ok(Content {
        files,
        bytes,
        fingerprint,
    })
}

/// The size of all files in an archive, read from their headers alone.
///
/// # Errors
/// A cut or broken archive.
pub(super) fn content_bytes(archive: &Path) -> Result<u64> {
    check_end(archive)?;
    let file = File::open(archive).map_err(StageError::io("can't be opened", archive))?;
    let broken = || StageError::io("the archive can't be read on", archive);
    let mut tar = Archive::new(file);
    let mut bytes: u64 = 0;
    for entry in tar.entries_with_seek().map_err(broken())? {
        bytes = bytes.saturating_add(entry.map_err(broken())?.size());
    }
    Ok(bytes)
}

/// Refuses an archive whose end is missing; one that is cut between two files shows no other sign.
pub(super) fn check_end(archive: &Path) -> Result<()> {
    let tail = || -> io::Result<Vec<u8>> {
        let mut file = File::open(archive)?;
        if file.metadata()?.len() < END_MARK.unsigned_abs() {
            return Ok(vec![1]);
        }
        file.seek(SeekFrom::End(-END_MARK))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        Ok(tail)
    };
    let tail = tail().map_err(StageError::io("can't be read", archive))?;
    if tail.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    Err(StageError::new(
        format!(
            "{} is not a whole .tar: its end mark is missing",
            archive.display()
        ),
        "copy or pack it again: tar -cf DATA.tar -C DIRECTORY .",
    ))
}

/// Unpacks one entry; the size of a file, `None` for anything else.
fn unpack_entry(
    archive: &Path,
    folder: &Path,
    entry: &mut Entry<'_, impl Read>,
) -> Result<Option<u64>> {
    let broken = || StageError::io("the archive can't be read on", archive);
    let name = entry.path().map_err(broken())?.into_owned();
    let refuse = |why: &str, help: &str| {
        StageError::new(
            format!("{}: {} {why}", archive.display(), name.display()),
            help,
        )
    };
    let leads_out = || {
        refuse(
            "leads out of the folder it is unpacked in",
            "pack it with relative names: tar -cf DATA.tar -C DIRECTORY .",
        )
    };
    let relative = plain(&name).ok_or_else(leads_out)?;
    let hidden = relative
        .components()
        .any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    if relative.as_os_str().is_empty() || hidden {
        return Ok(None);
    }
    let path = folder.join(&relative);
    match entry.header().entry_type() {
        EntryType::Directory => {
            fs::create_dir_all(&path).map_err(StageError::io("can't be made", &path))?;
            Ok(None)
        }
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            let mut file = create(&path)?;
            io::copy(entry, &mut file)
                .map(Some)
                .map_err(StageError::io("can't be unpacked", &path))
        }
        EntryType::Link => {
            let target = entry.link_name().map_err(broken())?.unwrap_or_default();
            let target = plain(&target).ok_or_else(leads_out)?;
            let target = folder.join(target);
            let mut from = File::open(&target).map_err(|_| {
                refuse(
                    "is a link to a file that doesn't come before it",
                    "pack it again with tar --hard-dereference",
                )
            })?;
            io::copy(&mut from, &mut create(&path)?)
                .map(Some)
                .map_err(StageError::io("can't be unpacked", &path))
        }
        EntryType::Symlink => Err(refuse(
            "is a symbolic link",
            "pack what it points to: tar --dereference -cf DATA.tar -C DIRECTORY .",
        )),
        // Comments of the archiver about the whole archive.
        EntryType::XGlobalHeader => Ok(None),
        _ => Err(refuse(
            "is neither a file nor a folder",
            "leave devices and pipes out of the archive",
        )),
    }
}

/// The path when it only goes down; `None` when it is absolute or goes up.
fn plain(path: &Path) -> Option<PathBuf> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect()
}

/// A new file; one of the same name that came before is replaced, as tar does. No link is followed,
/// since none is ever made in the folder.
fn create(path: &Path) -> Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(StageError::io("can't be made", parent))?;
    }
    File::create(path).map_err(StageError::io("can't be written", path))
}

//! Whether what is coming fits.

use super::error::{Result, StageError};
use nix::sys::statvfs::statvfs;
use std::{fs, path::Path};

/// What a box may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allotment {
    pub(super) limit: u64,
    pub(super) used: u64,
}

/// Refuses when `need` more bytes don't fit into the file system of `folder`, or into the box.
pub(super) fn check(folder: &Path, need: u64, allotment: Option<Allotment>) -> Result<()> {
    let stat = statvfs(folder)
        .map_err(std::io::Error::from)
        .map_err(StageError::io("its free space can't be read", folder))?;
    let free = stat.blocks_available().saturating_mul(stat.fragment_size());
    if need > free {
        return Err(StageError::new(
            format!(
                "{}: {} free, the data set needs {}",
                folder.display(),
                gigabytes(free),
                gigabytes(need)
            ),
            "make room there, or choose another place: GPURUN_HOME holds the boxes of this machine",
        ));
    }
    let Some(Allotment { limit, used }) = allotment else {
        return Ok(());
    };
    if used.saturating_add(need) > limit {
        return Err(StageError::new(
            format!(
                "the box has a disk of {}; {} are used, the data set needs {} more",
                gigabytes(limit),
                gigabytes(used),
                gigabytes(need)
            ),
            "a disk can't grow: launch again with a larger one, --disk GB",
        ));
    }
    Ok(())
}

/// Bytes below `folder` as the disk counts them; links are not followed, what vanishes counts nothing.
pub(super) fn used(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => used(&entry.path()),
            Ok(metadata) => std::os::unix::fs::MetadataExt::blocks(&metadata) * 512,
            Err(_) => 0,
        })
        .sum()
}

/// For people: decimal gigabytes, or megabytes where there are few.
pub(super) fn gigabytes(bytes: u64) -> String {
    let tenths = |unit: u64| (bytes.saturating_mul(10) / unit, unit);
    let (tenths, unit) = match bytes {
        0..1_000_000_000 => (tenths(1_000_000).0, "MB"),
        _ => (tenths(1_000_000_000).0, "GB"),
    };
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

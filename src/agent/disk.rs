//! The disk under the box's home.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use gpurun_protocol::heartbeat::Disk;
use nix::sys::statvfs::statvfs;

/// Measures the disk. What the home holds is counted only against a limit: that walks every file.
pub(crate) fn measure(home: &Path, limit_bytes: Option<u64>) -> io::Result<Disk> {
    let system = statvfs(home)?;
    let block = system.fragment_size();
    let used_bytes = match limit_bytes {
        Some(_) => Some(held(home)?),
        None => None,
    };
    Ok(Disk {
        free_bytes: system.blocks_available() * block,
        total_bytes: system.blocks() * block,
        used_bytes,
        limit_bytes,
        over_limit: used_bytes > limit_bytes && limit_bytes.is_some(),
    })
}

/// Bytes on the disk of everything below a folder. What vanishes meanwhile doesn't count.
fn held(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            bytes += metadata.blocks() * 512;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_compared_with_all_that_lies_below() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("runs")).unwrap();
        fs::write(home.path().join("runs/last.pt"), vec![1; 100_000]).unwrap();
        // Some file systems reserve a block only when the content goes to the disk.
        fs::File::open(home.path().join("runs/last.pt"))
            .unwrap()
            .sync_all()
            .unwrap();

        let tight = measure(home.path(), Some(90_000)).unwrap();
        assert!(tight.over_limit, "{tight:?}");
        let wide = measure(home.path(), Some(50_000_000)).unwrap();
        assert!(!wide.over_limit, "{wide:?}");
        assert_eq!(measure(home.path(), None).unwrap().used_bytes, None);
    }
}

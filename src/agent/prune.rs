//! Which old checkpoints may leave the box's disk: pure.

use gpurun_protocol::manifest::Manifest;

use super::milestones::{Role, is_same};
use super::scan::{FileLook, Look};

/// The `epoch_N.pt` that are older than the newest `keep` and that the destination holds, verified, in this
/// very version. No other file is ever removed.
pub(crate) fn removable(look: &Look, manifest: &Manifest, keep: u32) -> Vec<FileLook> {
    let mut epochs: Vec<(u32, &FileLook)> = look
        .files
        .iter()
        .filter_map(|file| match Role::of(&file.name) {
            Role::Epoch(epoch) => Some((epoch, file)),
            _ => None,
        })
        .collect();
    epochs.sort_by_key(|(epoch, _)| std::cmp::Reverse(*epoch));
    epochs
        .into_iter()
        .skip(keep as usize)
        .map(|(_, file)| file)
        .filter(|file| is_same(manifest.verified(&file.name), file))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::milestones::tests::{file, look, manifest};

    fn names(files: &[FileLook]) -> Vec<&str> {
        files.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn only_old_verified_epochs_go() {
        let seen = look([
            file("best.pt", 1),
            file("epoch_2.pt", 2),
            file("epoch_10.pt", 10),
            file("epoch_9.pt", 9),
            file("epoch_1.pt", 1),
            file("last.pt", 1),
        ]);
        let pushed = manifest(
            &seen,
            &[
                "best.pt",
                "last.pt",
                "epoch_1.pt",
                "epoch_9.pt",
                "epoch_10.pt",
            ],
        );
        assert_eq!(
            names(&removable(&seen, &pushed, 1)),
            ["epoch_9.pt", "epoch_1.pt"]
        );
        assert_eq!(names(&removable(&seen, &pushed, 2)), ["epoch_1.pt"]);
        assert!(removable(&seen, &pushed, 4).is_empty());
    }

    #[test]
    fn an_epoch_written_again_stays_until_it_is_pushed_again() {
        let before = look([file("epoch_1.pt", 1)]);
        let pushed = manifest(&before, &["epoch_1.pt"]);
        let after = look([file("epoch_1.pt", 5)]);
        assert_eq!(names(&removable(&before, &pushed, 0)), ["epoch_1.pt"]);
        assert!(removable(&after, &pushed, 0).is_empty());
    }
}

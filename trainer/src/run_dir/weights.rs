//! Checkpoints on disk: complete under their name, or not there.

use std::fs;
use std::io;
use std::path::Path;

use super::atomic::{sync_folder, temporary_beside};
use super::directory::RunDir;
use crate::checkpoint::{Checkpoint, CheckpointError, Problem};

/// The names one epoch's weights get beside `last.pt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedAs {
    pub best: bool,
    /// `epoch_N.pt`, N counted from 1.
    pub epoch: Option<u32>,
}

/// Writes the checkpoint once and gives it all its names.
///
/// `last.pt`, from which a run resumes, changes last: whoever finds it finds the others up to date. On a
/// failure the names still hold what they held before.
///
/// # Errors
/// When the disk is full or the folder can't be written.
pub fn save_checkpoint(
    run_dir: &RunDir,
    checkpoint: &Checkpoint,
    saved_as: SavedAs,
) -> Result<(), CheckpointError> {
    let last = run_dir.weights().join("last.pt");
    save(&last, run_dir, checkpoint, saved_as).map_err(|problem| problem.at(&last))
}

fn save(
    last: &Path,
    run_dir: &RunDir,
    checkpoint: &Checkpoint,
    saved_as: SavedAs,
) -> Result<(), Problem> {
    let temporary = temporary_beside(last)?;
    checkpoint.write(temporary.as_file())?;
    temporary.as_file().sync_all()?;
    if saved_as.best {
        link_over(temporary.path(), &run_dir.weights().join("best.pt"))?;
    }
    if let Some(epoch) = saved_as.epoch {
        link_over(
            temporary.path(),
            &run_dir.weights().join(format!("epoch_{epoch}.pt")),
        )?;
    }
    temporary.persist(last).map_err(|e| e.error)?;
    sync_folder(last)?;
    Ok(())
}

/// Gives `source` a second name, replacing `target`; a copy where the file system has no hard links.
///
/// Nothing writes into a checkpoint in place, so sharing its blocks is safe.
fn link_over(source: &Path, target: &Path) -> io::Result<()> {
    let placeholder = temporary_beside(target)?.into_temp_path();
    fs::remove_file(&placeholder)?;
    if fs::hard_link(source, &placeholder).is_err() {
        fs::copy(source, &placeholder)?;
        fs::File::open(&placeholder)?.sync_all()?;
    }
    placeholder.persist(target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Metadata;
    use std::os::unix::fs::PermissionsExt;

    fn checkpoint(value: f32) -> Checkpoint {
        Checkpoint {
            metadata: Metadata {
                model_family: "yolo9".to_owned(),
                size: "t".to_owned(),
                task: "detect".to_owned(),
                names: vec!["a".to_owned()],
                imgsz: 64,
                letterbox_pad: "topleft".to_owned(),
            },
            model: vec![("w".to_owned(), tch::Tensor::from_slice(&[value; 4096]))],
            training: None,
        }
    }

    fn value(run: &RunDir, name: &str) -> f64 {
        Checkpoint::read(&run.weights().join(name)).unwrap().model[0]
            .1
            .double_value(&[0])
    }

    #[test]
    fn every_name_holds_its_epoch() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        save_checkpoint(
            &run,
            &checkpoint(1.0),
            SavedAs {
                best: true,
                epoch: Some(10),
            },
        )
        .unwrap();
        save_checkpoint(
            &run,
            &checkpoint(2.0),
            SavedAs {
                best: false,
                epoch: None,
            },
        )
        .unwrap();
        assert_eq!(
            (
                value(&run, "best.pt"),
                value(&run, "last.pt"),
                value(&run, "epoch_10.pt")
            ),
            (1.0, 2.0, 1.0)
        );
        save_checkpoint(
            &run,
            &checkpoint(3.0),
            SavedAs {
                best: true,
                epoch: None,
            },
        )
        .unwrap();
        assert_eq!((value(&run, "best.pt"), value(&run, "last.pt")), (3.0, 3.0));
        assert_eq!(fs::read_dir(run.weights()).unwrap().count(), 3);
        let mode = fs::metadata(run.weights().join("best.pt"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o700, 0o600);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        save_checkpoint(
            &run,
            &checkpoint(1.0),
            SavedAs {
                best: true,
                epoch: None,
            },
        )
        .unwrap();
        let mut broken = checkpoint(2.0);
        broken.model.push((
            "c".to_owned(),
            tch::Tensor::zeros([2], (tch::Kind::ComplexFloat, tch::Device::Cpu)),
        ));
        assert!(
            save_checkpoint(
                &run,
                &broken,
                SavedAs {
                    best: true,
                    epoch: None
                }
            )
            .is_err()
        );
        assert_eq!((value(&run, "best.pt"), value(&run, "last.pt")), (1.0, 1.0));
        assert_eq!(fs::read_dir(run.weights()).unwrap().count(), 2);
    }
}

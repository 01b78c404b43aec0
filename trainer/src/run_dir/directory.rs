//! Which folder, and what lies where in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::atomic::{remove_leftovers, replace_file};
use crate::config::{Setting, to_yaml};

/// A run's folder, with `weights` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes `<project>/<name>`; when that exists the first free of `<name>2`, `<name>3`, ..., unless
    /// `exist_ok`. Two runs that start at once get two folders.
    ///
    /// # Errors
    /// When the folders can't be made.
    pub fn create(project: &Path, name: &str, exist_ok: bool) -> io::Result<RunDir> {
        fs::create_dir_all(project)?;
        let mut path = project.join(name);
        if exist_ok {
            fs::create_dir_all(&path)?;
            return RunDir::open(&path);
        }
        let mut number = 2_u32;
        while let Err(e) = fs::create_dir(&path) {
            if e.kind() != io::ErrorKind::AlreadyExists {
                return Err(e);
            }
            path = project.join(format!("{name}{number}"));
            number += 1;
        }
        RunDir::open(&path)
    }

    /// An existing run's folder, freed from what a killed process left half-written.
    ///
    /// # Errors
    /// When the folder can't be read or written.
    pub fn open(path: &Path) -> io::Result<RunDir> {
        let run_dir = RunDir {
            path: path.to_owned(),
        };
        fs::create_dir_all(run_dir.weights())?;
        remove_leftovers(path)?;
        remove_leftovers(&run_dir.weights())?;
        Ok(run_dir)
    }

    /// The run that a checkpoint at `<run>/weights/*.pt` belongs to.
    pub fn of_checkpoint(checkpoint: &Path) -> Option<PathBuf> {
        let weights = checkpoint.parent()?;
        (weights.file_name()? == "weights").then(|| {
            let run = weights.parent().unwrap_or(Path::new(""));
            if run.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                run.to_owned()
            }
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn weights(&self) -> PathBuf {
        self.path.join("weights")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes train_config.yaml.
    ///
    /// # Errors
    /// When the folder can't be written.
    pub fn write_config(&self, record: &[(&str, Setting)]) -> io::Result<()> {
        replace_file(&self.file("train_config.yaml"), to_yaml(record).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_up() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("runs/train");
        let name = |exist_ok| {
            let run = RunDir::create(&project, "exp", exist_ok).unwrap();
            assert!(run.weights().is_dir());
            run.path().file_name().unwrap().to_owned()
        };
        assert_eq!(name(false), "exp");
        assert_eq!(name(false), "exp2");
        assert_eq!(name(false), "exp3");
        assert_eq!(name(true), "exp");
    }

    #[test]
    fn a_checkpoint_knows_its_run() {
        let of = |path: &str| RunDir::of_checkpoint(Path::new(path));
        assert_eq!(of("runs/a/weights/last.pt"), Some(PathBuf::from("runs/a")));
        assert_eq!(of("weights/last.pt"), Some(PathBuf::from(".")));
        assert_eq!(of("elsewhere/last.pt"), None);
        assert_eq!(of("last.pt"), None);
    }
}

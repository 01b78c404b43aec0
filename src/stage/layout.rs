//! Where a data set's root and description are.

use super::error::{Result, StageError};
use gpurun_dataset::DataConfig;
use std::path::{Component, Path, PathBuf};

/// What the copy's description is called when the original lies outside of the root.
const FOREIGN_NAME: &str = "gpurun-data.yaml";

/// A data set in a folder.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Everything below it is the data set.
    pub(super) root: PathBuf,
    /// `None` when the folder has no readable description: a command may not need one.
    pub(super) config: Option<DataConfig>,
}

impl Layout {
    /// Looks at `source`: a folder, or the description itself.
    pub(super) fn of(source: &Path) -> Result<Self> {
        let source = &std::path::absolute(source).map_err(StageError::io(
            "the current directory can't be found",
            source,
        ))?;
        let folder = if source.is_dir() {
            source
        } else {
            source.parent().unwrap_or(Path::new("."))
        };
        let config = DataConfig::load(source).ok();
        let root = config.as_ref().map_or(folder, |config| &config.root);
        let root = root.canonicalize().map_err(StageError::io(
            "the root of the data set can't be found",
            root,
        ))?;
        Ok(Self { root, config })
    }

    /// Like [`Layout::of`], for what came out of an archive: at the top, or one folder down when
    /// the archive holds a single folder.
    pub(super) fn of_unpacked(folder: &Path) -> Result<Self> {
        let here = Self::of(folder)?;
        if here.config.is_some() {
            return Ok(here);
        }
        match only_folder(folder) {
            Some(inner) => Self::of(&inner),
            None => Ok(here),
        }
    }

    /// The description's name in the copy, which always lies at the root.
    pub(super) fn staged_name(&self) -> String {
        let Some(config) = &self.config else {
            return "data.yaml".to_owned();
        };
        match config.file.file_name() {
            Some(name) if self.describes_from_root(config) => name.to_string_lossy().into_owned(),
            _ => FOREIGN_NAME.to_owned(),
        }
    }

    pub(super) fn describes_from_root(&self, config: &DataConfig) -> bool {
        let folder = config.file.parent().map(Path::canonicalize);
        folder.is_some_and(|folder| folder.is_ok_and(|folder| folder == self.root))
    }

    /// `path` relative to the root; `None` when it lies outside.
    pub(super) fn inside(&self, path: &Path) -> Option<PathBuf> {
        let plain = without_dots(path);
        let from_root = |path: &Path| path.strip_prefix(&self.root).map(Path::to_path_buf).ok();
        // The root is canonical; what the description says may lead there through links.
        from_root(&plain).or_else(|| {
            let config = self.config.as_ref()?;
            let said = without_dots(&config.root);
            plain.strip_prefix(said).map(Path::to_path_buf).ok()
        })
    }
}

fn only_folder(folder: &Path) -> Option<PathBuf> {
    let mut visible = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let only = visible.next()?.path();
    (visible.next().is_none() && only.is_dir()).then_some(only)
}

/// `a/./b/../c` as `a/c`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

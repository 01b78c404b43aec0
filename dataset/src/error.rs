use std::path::{Path, PathBuf};

/// Why a dataset can't be read. Every variant names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder couldn't be read at all.
    #[error("can't read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file or folder couldn't be written.
    #[error("can't write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The folder given holds no dataset description, or several.
    #[error(
        "{} holds {found}; name the dataset's .yaml file itself, or call it data.yaml", dir.display()
    )]
    NoConfig {
        /// The folder searched.
        dir: PathBuf,
        /// "no .yaml file", or the candidates.
        found: String,
    },
    /// The file isn't YAML, or not of the expected form.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Yaml {
        /// The dataset description.
        path: PathBuf,
        /// 1-based; 0 when the parser knows none.
        line: u64,
        /// 1-based; 0 when the parser knows none.
        column: u64,
        /// What is wrong there.
        message: String,
    },
    /// The file is YAML, but doesn't describe a detection dataset.
    #[error("{}: {problem}; {remedy}", path.display())]
    Config {
        /// The dataset description.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to change.
        remedy: String,
    },
    /// A split names a folder or a list that isn't there.
    #[error("{}: '{split}' points to {}, which doesn't exist; correct the entry, or put the images there", config.display(), entry.display())]
    MissingEntry {
        /// The dataset description.
        config: PathBuf,
        /// `train`, `val` or `test`.
        split: &'static str,
        /// The entry, made absolute or relative to the dataset's root.
        entry: PathBuf,
    },
    /// An image that is there can't be decoded.
    #[error("can't decode image {}: {reason}; replace the file or remove it from the split", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// What the decoder said.
        reason: String,
    },
}

impl Error {
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Read { path, source }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Write { path, source }
    }
}

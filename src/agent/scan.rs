//! One look at the run directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

/// Where trainers put checkpoints, below the run directory.
const WEIGHTS: &str = "weights";

/// What tells one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    pub(crate) modified: DateTime<Utc>,
    pub(crate) inode: u64,
}

/// A file that may be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileLook {
    /// Its name at the destination: `weights/` is left out.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// What was there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Files of the patterns, by name.
    pub(crate) files: Vec<FileLook>,
    /// Of `status.json`.
    pub(crate) status: Option<Stamp>,
}

impl Stamp {
    /// Of a regular file.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Stamp>> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamp = Stamp {
            bytes: metadata.len(),
            modified: metadata.modified()?.into(),
            inode: metadata.ino(),
        };
        Ok(metadata.is_file().then_some(stamp))
    }
}

/// Looks at the files whose names match a pattern, in the run directory and its `weights` folder. Of two
/// files of one name that in `weights` counts. No run directory yet is nothing seen.
pub(crate) fn look(run_dir: &Path, patterns: &[String]) -> io::Result<Look> {
    let mut files: Vec<FileLook> = Vec::new();
    for folder in [run_dir.join(WEIGHTS), run_dir.to_path_buf()] {
        for (name, path) in names(&folder)? {
            let wanted = patterns.iter().any(|pattern| matches(pattern, &name));
            if !wanted || files.iter().any(|file| file.name == name) {
                continue;
            }
            if let Some(stamp) = Stamp::of(&path)? {
                files.push(FileLook { name, path, stamp });
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Look {
        files,
        status: Stamp::of(&run_dir.join("status.json"))?,
    })
}

/// File names and paths in a folder, hidden ones left out.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file of the run directory, such as `weights/best.pt`, is one of those to push.
pub(crate) fn is_wanted(patterns: &[String], file: &str) -> bool {
    let name = file.strip_prefix("weights/").unwrap_or(file);
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// `*` stands for any run of characters, `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.chars().next() {
        None => name.is_empty(),
        Some('*') => (0..=name.len())
            .filter(|at| name.is_char_boundary(*at))
            .any(|at| matches(&pattern[1..], &name[at..])),
        Some(wanted) => {
            let rest = &pattern[wanted.len_utf8()..];
            name.chars().next().is_some_and(|found| {
                (wanted == '?' || wanted == found) && matches(rest, &name[found.len_utf8()..])
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, matched) in [
            ("*.pt", "best.pt", true),
            ("*.pt", "best.pt.part", false),
            ("epoch_*.pt", "epoch_10.pt", true),
            ("epoch_?.pt", "epoch_10.pt", false),
            ("*", "", true),
            ("ä?*", "äöü", true),
            ("best.pt", "best_pt", false),
        ] {
            assert_eq!(matches(pattern, name), matched, "{pattern} {name}");
        }
    }

    #[test]
    fn weights_come_before_the_run_directory_and_hidden_files_never() {
        let run = tempfile::tempdir().unwrap();
        let weights = run.path().join("weights");
        assert_eq!(look(run.path(), &[]).unwrap(), Look::default());
        fs::create_dir(&weights).unwrap();
        for (path, content) in [
            (weights.join("best.pt"), "weights"),
            (weights.join(".best.pt.tmp"), "x"),
            (run.path().join("best.pt"), "x"),
            (run.path().join("average.pt"), "x"),
            (run.path().join("status.json"), "{}"),
        ] {
            fs::write(path, content).unwrap();
        }
        let look = look(run.path(), &["*.pt".to_owned()]).unwrap();
        let names: Vec<&str> = look.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["average.pt", "best.pt"]);
        assert_eq!(look.files[1].stamp.bytes, 7);
        assert!(look.status.is_some());
    }
}

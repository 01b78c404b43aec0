//! Splits: from an entry of the YAML file to images and label files.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::{Error, Result, file};

/// Suffixes of image files, lower case. (`.pfm`, 32-bit float images, is left out: it has no 8-bit meaning.)
pub const IMAGE_SUFFIXES: [&str; 8] = ["jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp"];

/// Which part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// What the model learns from.
    Train,
    /// What decides which epoch is best.
    Val,
    /// What neither of them sees.
    Test,
}

impl Split {
    /// All of them, in the order reports use.
    pub const ALL: [Split; 3] = [Split::Train, Split::Val, Split::Test];

    /// The key in the YAML file.
    pub fn as_str(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Val => "val",
            Split::Test => "test",
        }
    }
}

/// One image of a split and where its boxes are written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// The image.
    pub image: PathBuf,
    /// Its label file; where there is none the image is background.
    pub label: PathBuf,
}

/// The label file of an image: every folder called `images` becomes `labels`, the suffix becomes `.txt`.
///
/// Only folders below `root` count when there is one, so that a dataset that happens to lie under some
/// other folder called `images` keeps its labels.
pub fn label_path(root: &Path, image: &Path) -> PathBuf {
    let renamed = match image.strip_prefix(root) {
        Ok(below) if has_images_folder(below) => root.join(rename_images_folders(below)),
        _ => rename_images_folders(image),
    };
    renamed.with_extension("txt")
}

fn has_images_folder(path: &Path) -> bool {
    path.parent().is_some_and(|folder| {
        folder
            .components()
            .any(|part| part == Component::Normal("images".as_ref()))
    })
}

fn rename_images_folders(path: &Path) -> PathBuf {
    let mut renamed = PathBuf::new();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let is_images = part == Component::Normal("images".as_ref());
        renamed.push(if is_images {
            "labels".as_ref()
        } else {
            part.as_os_str()
        });
    }
    renamed.extend(path.file_name());
    renamed
}

/// What an entry of a split names.
pub(crate) enum Listing {
    /// Nothing that is there.
    Missing,
    /// A folder, searched through.
    Folder {
        /// Its images, sorted.
        images: Vec<PathBuf>,
        /// Its other files.
        others: Vec<PathBuf>,
    },
    /// The images of a `.txt` list, which may not exist, or a single image.
    Named(Vec<PathBuf>),
    /// Something else, or a list that can't be read.
    Unusable,
}

/// Lists an entry as far as it can be read.
pub(crate) fn list_entry(entry: &Path) -> Listing {
    if !entry.exists() {
        return Listing::Missing;
    }
    if !entry.is_dir() {
        let is_list = entry
            .extension()
            .is_some_and(|suffix| suffix.eq_ignore_ascii_case("txt"));
        return match list_images(entry) {
            Ok(images) if is_list || !images.is_empty() => Listing::Named(images),
            _ => Listing::Unusable,
        };
    }
    let (mut images, mut others) = (Vec::new(), Vec::new());
    // What can't be listed holds no image that could be read.
    let _ = walk(entry, &mut |file| {
        if is_image(&file) {
            images.push(file);
        } else {
            others.push(file);
        }
    });
    images.sort();
    Listing::Folder { images, others }
}

/// The images of one entry: a folder (searched through, sorted), a `.txt` list or a single image.
pub(crate) fn list_images(entry: &Path) -> Result<Vec<PathBuf>> {
    if entry.is_dir() {
        let mut images = Vec::new();
        walk(entry, &mut |file| {
            if is_image(&file) {
                images.push(file);
            }
        })?;
        images.sort();
        return Ok(images);
    }
    if entry
        .extension()
        .is_some_and(|suffix| suffix.eq_ignore_ascii_case("txt"))
    {
        return read_list(entry);
    }
    Ok(if is_image(entry) {
        vec![entry.to_path_buf()]
    } else {
        Vec::new()
    })
}

/// Calls `visit` with every file below `folder`, in no particular order. Links to folders aren't followed,
/// so a link to a parent can't loop.
pub(crate) fn walk(folder: &Path, visit: &mut dyn FnMut(PathBuf)) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::read(folder))? {
        let entry = entry.map_err(Error::read(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::read(&path))?;
        if kind.is_dir() {
            walk(&path, visit)?;
        } else if !kind.is_symlink() || !path.is_dir() {
            visit(path);
        }
    }
    Ok(())
}

/// Whether the suffix is one of [`IMAGE_SUFFIXES`], in any case.
pub(crate) fn is_image(path: &Path) -> bool {
    path.extension()
        .and_then(|suffix| suffix.to_str())
        .is_some_and(|suffix| {
            IMAGE_SUFFIXES
                .iter()
                .any(|known| known.eq_ignore_ascii_case(suffix))
        })
}

/// One path a line, `#` starts a comment line, relative paths are relative to the list.
fn read_list(list: &Path) -> Result<Vec<PathBuf>> {
    let text = file::read_text(list).map_err(Error::read(list))?;
    let folder = list.parent().unwrap_or(Path::new(""));
    let mut images: Vec<PathBuf> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| folder.join(line.strip_prefix("./").unwrap_or(line)))
        .filter(|path| is_image(path))
        .collect();
    images.sort();
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lie_beside_images_or_in_the_labels_folder() {
        for (root, image, label) in [
            ("/set", "/set/images/train/a.jpg", "/set/labels/train/a.txt"),
            (
                "/set",
                "/set/train/images/a.b.PNG",
                "/set/train/labels/a.b.txt",
            ),
            ("/set", "/set/images_old/a.jpg", "/set/images_old/a.txt"),
            (
                "/images/set",
                "/images/set/images/a.jpg",
                "/images/set/labels/a.txt",
            ),
            (
                "/set/images",
                "/set/images/train/a.jpg",
                "/set/labels/train/a.txt",
            ),
            ("", "images/a.jpg", "labels/a.txt"),
            ("/set", "/set/images", "/set/images.txt"),
        ] {
            assert_eq!(
                label_path(Path::new(root), Path::new(image)),
                Path::new(label),
                "{image}"
            );
        }
    }

    #[test]
    fn a_folder_is_searched_through_and_sorted() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(dir.path().join("deep")).expect("writable");
        for name in ["b.JPG", "a.png", "deep/c.tif", "notes.md", "d.pfm"] {
            fs::write(dir.path().join(name), "").expect("writable");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).expect("links work here");
        let names: Vec<_> = list_images(dir.path())
            .expect("readable")
            .iter()
            .map(|path| path.strip_prefix(dir.path()).expect("below").to_path_buf())
            .collect();
        assert_eq!(names, ["a.png", "b.JPG", "deep/c.tif"].map(PathBuf::from));
    }

    #[test]
    fn a_list_is_relative_to_itself() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let list = dir.path().join("train.txt");
        fs::write(
            &list,
            "# comment\n./images/b.jpg\n\n/abs/a.jpg\nreadme.md\n",
        )
        .expect("writable");
        let images = list_images(&list).expect("readable");
        let mut expected = vec![PathBuf::from("/abs/a.jpg"), dir.path().join("images/b.jpg")];
        expected.sort();
        assert_eq!(images, expected);
    }
}

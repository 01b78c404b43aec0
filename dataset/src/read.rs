//! From a split of the description to its images and their boxes.

use std::path::{Path, PathBuf};

use crate::annotations::{Annotations, SplitData};
use crate::split::{Sample, Split, list_images};
use crate::{DataConfig, Error, Result, label_path};

/// Where a split's images and boxes are.
enum Source {
    /// Images, with a text file each.
    Text(Vec<PathBuf>),
    /// A COCO file, and the folder its images are in.
    Coco { file: PathBuf, folder: PathBuf },
}

impl DataConfig {
    /// The images of a split with their label files, in sorted order within each entry; with a COCO file, those that
    /// it names, in its order.
    ///
    /// Neither image nor label is opened; an image named by a list may not exist.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn samples(&self, split: Split) -> Result<Vec<Sample>> {
        Ok(self.read(split)?.samples)
    }

    /// [`Self::samples`], and their boxes: a COCO file is read once for both.
    ///
    /// Where the description names no COCO file, LibreYOLO's rules find one: `annotations/instances_train2017.json`
    /// when `train` has no images of its own; `annotations/instances_SPLIT2017.json` or `instances_SPLIT.json` before
    /// any text file for `val` and `test`. Its images are then in `images/SPLIT2017` or `SPLIT2017`, without the year
    /// where the file has none. A split that isn't described at all is looked for in `images/SPLIT`.
    ///
    /// # Errors
    /// When an entry doesn't exist or can't be read; and when a COCO file can't be read or names a category that the
    /// dataset doesn't.
    pub fn read(&self, split: Split) -> Result<SplitData> {
        let (images, annotations) = match self.locate(split)? {
            Source::Text(images) => (images, Annotations::text(&self.selection)),
            Source::Coco { file, folder } => {
                Annotations::coco(&file, &folder, &self.source_names, &self.selection)?
            }
        };
        let sample = |image: PathBuf| Sample {
            label: label_path(&self.root, &image),
            image,
        };
        Ok(SplitData {
            samples: images.into_iter().map(sample).collect(),
            annotations,
        })
    }

    fn locate(&self, split: Split) -> Result<Source> {
        if let Some(file) = self.annotation_file(split) {
            return Ok(Source::Coco {
                folder: self.image_folder(split, file)?,
                file: file.to_path_buf(),
            });
        }
        let usual = usual_annotations(&self.root, split);
        if split != Split::Train
            && let Some(file) = &usual
        {
            return Ok(self.usual(split, file));
        }
        let listed = self.list(split);
        let nothing = listed.as_ref().map_or(true, Vec::is_empty);
        match usual {
            Some(file) if nothing => Ok(self.usual(split, &file)),
            _ => listed.map(Source::Text),
        }
    }

    /// What the entries hold.
    fn list(&self, split: Split) -> Result<Vec<PathBuf>> {
        let entries = self.entries(split);
        if let Some(entry) = entries.iter().find(|entry| !entry.exists()) {
            return Err(Error::MissingEntry {
                config: self.file.clone(),
                split: split.as_str(),
                entry: entry.clone(),
            });
        }
        let mut images = Vec::new();
        for entry in entries {
            images.extend(list_images(entry)?);
        }
        let undescribed = self.root.join("images").join(split.as_str());
        if entries.is_empty() && undescribed.is_dir() {
            images = list_images(&undescribed)?;
        }
        Ok(images)
    }

    /// The one folder whose images a COCO file of the description names.
    fn image_folder(&self, split: Split, file: &Path) -> Result<PathBuf> {
        match self.entries(split) {
            [] => Ok(usual_folder(&self.root, split, file)),
            [folder] if folder.extension().is_none_or(|suffix| suffix != "txt") => {
                Ok(folder.clone())
            }
            _ => Err(Error::Config {
                path: self.file.clone(),
                problem: format!("'{}' is not one folder", split.as_str()),
                remedy: "a COCO file needs one folder of images".into(),
            }),
        }
    }

    fn usual(&self, split: Split, file: &Path) -> Source {
        Source::Coco {
            file: file.to_path_buf(),
            folder: usual_folder(&self.root, split, file),
        }
    }
}

/// COCO's own name for a split's boxes, where the dataset has such a file.
pub(crate) fn usual_annotations(root: &Path, split: Split) -> Option<PathBuf> {
    let name = split.as_str();
    let with_year = format!("instances_{name}2017.json");
    let candidates = match split {
        Split::Train => vec![with_year],
        Split::Val | Split::Test => vec![with_year, format!("instances_{name}.json")],
    };
    let files = candidates
        .iter()
        .map(|name| root.join("annotations").join(name));
    files.into_iter().find(|file| file.is_file())
}

/// COCO's own folder for the images of `file`.
fn usual_folder(root: &Path, split: Split, file: &Path) -> PathBuf {
    let with_year = format!("{}2017", split.as_str());
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let name = if file.contains(&with_year) {
        with_year.as_str()
    } else {
        split.as_str()
    };
    let below_images = root.join("images").join(name);
    if below_images.exists() {
        return below_images;
    }
    root.join(name)
}

#[cfg(test)]
mod tests;

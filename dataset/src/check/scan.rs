//! One pass over the files of a dataset, on several threads.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::content::{Contents, identify};
use super::description::Description;
use super::image_facts::{ImageFacts, ImageScanner, Picture};
use super::label_facts::{LabelFacts, read_label_facts};
use super::run::CheckOptions;
use crate::split::{Listing, list_entry};
use crate::{Sample, Split, label_path};

/// Files a thread takes at a time: enough not to wait for each other, few enough to end together.
const CHUNK: usize = 16;

/// Everything the checks look at. It grows with the number of images, not with their size or that of their labels.
pub(super) struct Scan {
    pub(super) description: Description,
    pub(super) options: CheckOptions,
    /// Those that have images.
    pub(super) splits: Vec<SplitScan>,
    /// The entries that name nothing usable, of every split.
    pub(super) problems: Vec<(Split, EntryProblem)>,
    /// Files among the images that are none and belong to nothing known.
    pub(super) strangers: Vec<(Split, PathBuf)>,
    /// Whether the images were read.
    pub(super) images_scanned: bool,
    /// Well-formed label lines by number of fields.
    pub(super) fields: HashMap<usize, u64>,
    pub(super) contents: Contents,
}

pub(super) struct SplitScan {
    pub(super) split: Split,
    pub(super) items: Vec<Item>,
    /// Boxes by class id.
    pub(super) classes: std::collections::BTreeMap<i64, u64>,
}

/// Why an entry of a split gives no image.
pub(super) enum EntryProblem {
    Missing(PathBuf),
    Empty(PathBuf),
    /// A list, or something that is neither list nor folder nor image.
    NoImages(PathBuf),
}

/// One image and its label file.
pub(super) struct Item {
    pub(super) sample: Sample,
    pub(super) image_exists: bool,
    pub(super) labels: LabelFacts,
    /// None where images aren't read, and of an image that isn't there.
    pub(super) image: Option<ImageFacts>,
}

impl Item {
    /// Whether the image is there and has no box.
    pub(super) fn is_background(&self) -> bool {
        self.image_exists && self.labels.boxes == 0
    }

    /// What the image is like, where it could be decoded.
    pub(super) fn picture(&self) -> Option<&Picture> {
        self.image.as_ref()?.picture.as_ref().ok()
    }
}

impl Scan {
    pub(super) fn split(&self, split: Split) -> Option<&SplitScan> {
        self.splits.iter().find(|scan| scan.split == split)
    }

    /// Size of all files, each once.
    pub(super) fn bytes(&self) -> u64 {
        let items = self.splits.iter().flat_map(|split| &split.items);
        let sizes: HashMap<&Path, u64> = items
            .map(|item| {
                let image = item.image.as_ref().map_or(0, |image| image.bytes);
                (item.sample.image.as_path(), image + item.labels.bytes)
            })
            .collect();
        sizes.values().sum()
    }
}

/// Lists the splits and reads the label file of every image; the image too where `with_images` is set.
pub(super) fn scan(description: Description, options: &CheckOptions, reading: Reading) -> Scan {
    let mut scan = Scan {
        description,
        options: options.clone(),
        splits: Vec::new(),
        problems: Vec::new(),
        strangers: Vec::new(),
        images_scanned: reading == Reading::ImagesToo,
        fields: HashMap::new(),
        contents: Contents::default(),
    };
    for split in Split::ALL {
        list_split(&mut scan, split);
    }
    let samples: Vec<&Sample> = scan
        .splits
        .iter()
        .flat_map(|split| split.items.iter().map(|item| &item.sample))
        .collect();
    let read = read_all(&samples, &scan.description, options, reading);
    let items = scan.splits.iter_mut().flat_map(|split| &mut split.items);
    for (item, read) in items.zip(read) {
        item.image_exists = read.image_exists;
        item.labels = read.labels;
        item.image = read.image;
    }
    for split in &mut scan.splits {
        for item in &split.items {
            for (class, count) in &item.labels.classes {
                *split.classes.entry(*class).or_default() += u64::from(*count);
            }
            for (fields, count) in &item.labels.fields {
                *scan.fields.entry(*fields).or_default() += u64::from(*count);
            }
        }
    }
    scan.contents = identify(&scan.splits);
    scan
}

/// What of a dataset is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    LabelsOnly,
    ImagesToo,
}

fn list_split(scan: &mut Scan, split: Split) {
    let entries = scan.description.entries(split);
    let mut images = Vec::new();
    let mut problems = Vec::new();
    // A training reads all entries or none.
    let mut is_readable = true;
    for entry in entries {
        match list_entry(entry) {
            Listing::Unusable => is_readable = false,
            Listing::Missing => problems.push(EntryProblem::Missing(entry.clone())),
            Listing::Folder {
                images: found,
                others,
            } => {
                if found.is_empty() {
                    problems.push(EntryProblem::Empty(entry.clone()));
                }
                images.extend(found);
                let strangers = others
                    .into_iter()
                    .filter(|file| !super::files::is_companion(file));
                scan.strangers.extend(strangers.map(|file| (split, file)));
            }
            Listing::Named(found) => images.extend(found),
        }
    }
    is_readable &= !problems
        .iter()
        .any(|problem| matches!(problem, EntryProblem::Missing(_)));
    if !is_readable {
        images.clear();
    }
    if images.is_empty() && problems.is_empty() {
        let nothing = entries.iter().cloned().map(EntryProblem::NoImages);
        problems.extend(nothing);
    }
    scan.problems
        .extend(problems.into_iter().map(|problem| (split, problem)));
    if images.is_empty() {
        return;
    }
    let root = &scan.description.root;
    let items = images.into_iter().map(|image| Item {
        sample: Sample {
            label: label_path(root, &image),
            image,
        },
        image_exists: false,
        labels: LabelFacts::default(),
        image: None,
    });
    scan.splits.push(SplitScan {
        split,
        items: items.collect(),
        classes: std::collections::BTreeMap::new(),
    });
}

struct ReadItem {
    image_exists: bool,
    labels: LabelFacts,
    image: Option<ImageFacts>,
}

/// Images differ in size, so the threads take a few at a time instead of equal shares.
fn read_all(
    samples: &[&Sample],
    description: &Description,
    options: &CheckOptions,
    reading: Reading,
) -> Vec<ReadItem> {
    let next = AtomicUsize::new(0);
    let large = Mutex::new(());
    let work = || {
        let mut scanner = ImageScanner::default();
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            let Some(chunk) = samples.get(start..samples.len().min(start + CHUNK)) else {
                return done;
            };
            if chunk.is_empty() {
                return done;
            }
            let read = chunk.iter().map(|sample| {
                let image_exists = fs::metadata(&sample.image).is_ok();
                let image = (image_exists && reading == Reading::ImagesToo)
                    .then(|| scanner.scan(&sample.image, &large));
                let picture = image.as_ref().and_then(|image| image.picture.as_ref().ok());
                let size = picture.map(|picture| (picture.width, picture.height));
                ReadItem {
                    image_exists,
                    labels: read_label_facts(&sample.label, size, description.nc, options),
                    image,
                }
            });
            done.push((start, read.collect::<Vec<_>>()));
        }
    };
    let threads = options
        .threads
        .clamp(1, samples.len().div_ceil(CHUNK).max(1));
    let mut chunks: Vec<(usize, Vec<ReadItem>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("reading a file never panics"))
            .collect()
    });
    chunks.sort_unstable_by_key(|(start, _)| *start);
    chunks.into_iter().flat_map(|(_, items)| items).collect()
}

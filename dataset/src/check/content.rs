//! Which files are byte for byte the same.

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::image_facts::ImageFacts;
use super::scan::{Item, SplitScan};
use crate::file;

/// Numbers for contents: images of one content have one number.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Of the images that are in question at all; every other image's content is its own.
    shared: HashMap<usize, usize>,
}

impl Contents {
    /// The number of this image's content, where another image has the same; images count through all splits.
    pub(super) fn shared(&self, image: usize) -> Option<usize> {
        self.shared.get(&image).copied()
    }

    /// Whether two images, by their count through all splits, are the same file.
    pub(super) fn are_equal(&self, first: usize, second: usize) -> bool {
        self.shared(first).is_some() && self.shared(first) == self.shared(second)
    }
}

/// Finds equal files. Those that differ in length, in their middle or in what they look like differ; only the others
/// are read once more, and told apart by their SHA-256.
pub(super) fn identify(splits: &[SplitScan]) -> Contents {
    let items: Vec<&Item> = splits.iter().flat_map(|split| &split.items).collect();
    let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
    for (number, item) in items.iter().enumerate() {
        if let Some(image) = &item.image
            && image.bytes > 0
        {
            alike.entry(likeness(image)).or_default().push(number);
        }
    }
    let mut contents = Contents::default();
    for numbers in alike.into_values().filter(|numbers| numbers.len() > 1) {
        let mut first_of: HashMap<[u8; 32], Vec<usize>> = HashMap::new();
        for number in numbers {
            if let Some(digest) = digest(&items[number].sample.image) {
                first_of.entry(digest).or_default().push(number);
            }
        }
        for equal in first_of.into_values().filter(|equal| equal.len() > 1) {
            let name = equal[0];
            contents
                .shared
                .extend(equal.into_iter().map(|number| (number, name)));
        }
    }
    contents
}

fn likeness(image: &ImageFacts) -> (u64, [u8; 8], u64) {
    let hash = image.picture.as_ref().map_or(0, |picture| picture.hash);
    (image.bytes, image.sample, hash)
}

/// None where the file went away meanwhile.
fn digest(path: &Path) -> Option<[u8; 32]> {
    Some(Sha256::digest(file::read(path).ok()?).into())
}

//! `images.*`: what the pixels are like.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::json;

use super::image_facts::{Mode, Picture};
use super::near::near_pairs;
use super::report::{Finding, Place, Severity};
use super::scan::{Item, Scan, SplitScan};

/// Pixels of the shorter side.
const SMALLEST_SIDE: u32 = 32;
/// The longer side over the shorter one.
const EXTREME_ASPECT: f64 = 20.0;

pub(super) fn corrupt(scan: &Scan) -> Vec<Finding> {
    let mut findings = scan.images(
        |item| reason(item).is_some(),
        |split, _, _| Finding::new("images.corrupt", Severity::Error, "").split(split),
    );
    for finding in &mut findings {
        let bad = scan
            .splits
            .iter()
            .filter(|split| Some(split.split) == finding.split);
        let reasons: Vec<String> = bad
            .flat_map(|split| &split.items)
            .filter_map(|item| {
                let name = item.sample.image.file_name().unwrap_or_default();
                Some(format!("{} ({})", name.to_string_lossy(), reason(item)?))
            })
            .take(3)
            .collect();
        finding.message = format!(
            "{} images can't be decoded: {}.",
            finding.count.unwrap_or(0),
            reasons.join("; ")
        );
        finding.remedy = "fetch the files again, or remove them from the split".into();
    }
    findings
}

fn reason(item: &Item) -> Option<&String> {
    item.image.as_ref()?.picture.as_ref().err()
}

pub(super) fn exif_orientation(scan: &Scan) -> Vec<Finding> {
    pictures(
        scan,
        |picture| (2..=8).contains(&picture.orientation),
        Finding::new(
            "images.exif_orientation",
            Severity::Warning,
            "images say that they are to be turned; training doesn't turn them, so boxes drawn on the turned image lie wrong.",
        )
        .remedy("turn the pixels and drop the mark: mogrify -auto-orient"),
    )
}

pub(super) fn tiny_or_extreme(scan: &Scan) -> Vec<Finding> {
    pictures(
        scan,
        |picture| {
            let (long, short) = (
                picture.width.max(picture.height),
                picture.width.min(picture.height),
            );
            short < SMALLEST_SIDE || f64::from(long) / f64::from(short) > EXTREME_ASPECT
        },
        Finding::new(
            "images.tiny_or_extreme",
            Severity::Warning,
            "images are less than 32 pixels wide or high, or over 20 times as long as that.",
        )
        .remedy("remove them, unless they are meant"),
    )
}

pub(super) fn uniform(scan: &Scan) -> Vec<Finding> {
    pictures(
        scan,
        |picture| picture.is_uniform,
        Finding::new(
            "images.uniform",
            Severity::Warning,
            "images are of one colour, or nearly so.",
        )
        .remedy("look at them: they may be downloads that failed, or padding"),
    )
}

/// A finding for each split with such pictures, whose message begins with their number.
fn pictures(scan: &Scan, is_hit: impl Fn(&Picture) -> bool, finding: Finding) -> Vec<Finding> {
    scan.images(
        |item| item.picture().is_some_and(&is_hit),
        |split, count, _| {
            let mut finding = finding.clone().split(split);
            finding.message = format!("{count} {}", finding.message);
            finding
        },
    )
}

pub(super) fn odd_mode(scan: &Scan) -> Vec<Finding> {
    let items = || scan.splits.iter().flat_map(|split| &split.items);
    let mode = |item: &Item| item.picture().map(|picture| picture.mode);
    let mut channels: Vec<(u8, usize)> = Vec::new();
    for mode in items().filter_map(mode) {
        match channels
            .iter_mut()
            .find(|(known, _)| *known == mode.channels())
        {
            Some((_, count)) => *count += 1,
            None => channels.push((mode.channels(), 1)),
        }
    }
    // Of those that are equally frequent, the one seen first.
    let Some((usual, _)) = channels
        .iter()
        .rev()
        .max_by_key(|(_, count)| *count)
        .copied()
    else {
        return Vec::new();
    };
    if channels.len() < 2 {
        return Vec::new();
    }
    let odd: Vec<(&Item, Mode)> = items()
        .filter_map(|item| Some((item, mode(item)?)))
        .filter(|(_, mode)| mode.channels() != usual)
        .collect();
    let mut modes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, mode) in &odd {
        *modes.entry(mode.name()).or_default() += 1;
    }
    let list: Vec<String> = modes
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    vec![
        Finding::new(
            "images.odd_mode",
            Severity::Warning,
            format!(
                "{} images have other channels than the rest ({}); each is made RGB when it is read.",
                odd.len(),
                list.join(", ")
            ),
        )
        .count(odd.len())
        .at(odd.iter().map(|(item, _)| Place::file(&item.sample.image)))
        .details(json!({ "modes": modes }))
        .remedy("convert them, if the difference means something"),
    ]
}

pub(super) fn exact_duplicates(scan: &Scan) -> Vec<Finding> {
    let of_split = |(first, split): (usize, &SplitScan)| {
        let mut groups: HashMap<usize, Vec<&Path>> = HashMap::new();
        let mut order = Vec::new();
        for (number, item) in (first..).zip(&split.items) {
            let Some(content) = scan.contents.shared(number) else {
                continue;
            };
            let group = groups.entry(content).or_insert_with(|| {
                order.push(content);
                Vec::new()
            });
            group.push(&item.sample.image);
        }
        let groups: Vec<&Vec<&Path>> = order
            .iter()
            .map(|content| &groups[content])
            .filter(|images| images.len() > 1)
            .collect();
        let extra: usize = groups.iter().map(|images| images.len() - 1).sum();
        (extra > 0).then(|| {
            Finding::new(
                "images.exact_duplicates",
                Severity::Warning,
                format!(
                    "{extra} images are copies of others, of {}; they count more than once.",
                    groups.len()
                ),
            )
            .split(split.split)
            .count(extra)
            .at(groups.into_iter().flatten().map(|path| Place::file(path)))
            .remedy("keep one of each")
        })
    };
    numbered(scan).filter_map(of_split).collect()
}

pub(super) fn near_duplicates(scan: &Scan) -> Vec<Finding> {
    let of_split = |(first, split): (usize, &SplitScan)| {
        let looks = Looks::of(first, split);
        let (mut count, mut places) = (0, Vec::new());
        near_pairs(&looks.hashes, |a, b| {
            let (a, b) = (looks.numbers[a], looks.numbers[b]);
            // Copies have a check of their own.
            if scan.contents.are_equal(a, b) {
                return;
            }
            count += 1;
            if places.len() < 20 {
                let place = |number: usize| Place::file(&split.items[number - first].sample.image);
                places.extend([place(a), place(b)]);
            }
        });
        (count > 0).then(|| {
            Finding::new(
                "images.near_duplicates",
                Severity::Info,
                format!("{count} pairs of images look nearly the same, as frames of one film do."),
            )
            .split(split.split)
            .count(count)
            .at(places)
            .remedy("nothing, or keep every n-th frame")
        })
    };
    numbered(scan).filter_map(of_split).collect()
}

/// The hashes of all decoded images of a split, and the images' numbers through all splits.
#[derive(Default)]
pub(super) struct Looks {
    pub(super) hashes: Vec<u64>,
    pub(super) numbers: Vec<usize>,
}

impl Looks {
    pub(super) fn of(first: usize, split: &SplitScan) -> Self {
        let mut looks = Self::default();
        for (number, item) in (first..).zip(&split.items) {
            if let Some(picture) = item.picture() {
                looks.hashes.push(picture.hash);
                looks.numbers.push(number);
            }
        }
        looks
    }
}

/// The splits, each with the number of its first image through all of them.
pub(super) fn numbered(scan: &Scan) -> impl Iterator<Item = (usize, &SplitScan)> {
    scan.splits.iter().scan(0, |next, split| {
        let first = *next;
        *next += split.items.len();
        Some((first, split))
    })
}

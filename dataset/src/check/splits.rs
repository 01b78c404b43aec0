//! `splits.*`: images that are in more than one split, so that a validation measures memory.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::images::{Looks, numbered};
use super::near::near_pairs;
use super::report::{Finding, Place, Severity};
use super::scan::{Item, Scan, SplitScan};

pub(super) fn leakage_exact(scan: &Scan) -> Vec<Finding> {
    // Of the copies within a split, the last stands for all.
    let contents: Vec<(&SplitScan, BTreeMap<usize, &Item>)> = numbered(scan)
        .map(|(first, split)| {
            let shared = (first..)
                .zip(&split.items)
                .filter_map(|(number, item)| Some((scan.contents.shared(number)?, item)));
            (split, shared.collect())
        })
        .collect();
    let mut findings = Vec::new();
    for (index, (first, first_contents)) in contents.iter().enumerate() {
        for (second, second_contents) in &contents[index + 1..] {
            let shared: Vec<(&Item, &Item)> = first_contents
                .iter()
                .filter_map(|(content, item)| Some((*item, *second_contents.get(content)?)))
                .collect();
            if shared.is_empty() {
                continue;
            }
            let (first, second) = (first.split.as_str(), second.split.as_str());
            let images = shared.iter().flat_map(|(one, other)| [*one, *other]);
            findings.push(
                Finding::new(
                    "splits.leakage_exact",
                    Severity::Error,
                    format!("{} images are both in {first} and in {second}: what is measured there was learnt by heart.", shared.len()),
                )
                .count(shared.len())
                .at(images.map(|item| Place::file(&item.sample.image)))
                .details(json!({ "splits": [first, second] }))
                .remedy("take them out of one of the splits"),
            );
        }
    }
    findings
}

pub(super) fn leakage_near(scan: &Scan) -> Vec<Finding> {
    let mut looks = Looks::default();
    let mut items: HashMap<usize, (&SplitScan, &Item)> = HashMap::new();
    for (first, split) in numbered(scan) {
        let of_split = Looks::of(first, split);
        for number in &of_split.numbers {
            items.insert(*number, (split, &split.items[number - first]));
        }
        looks.hashes.extend(of_split.hashes);
        looks.numbers.extend(of_split.numbers);
    }
    let (mut count, mut places) = (0, Vec::new());
    near_pairs(&looks.hashes, |a, b| {
        let (a, b) = (looks.numbers[a], looks.numbers[b]);
        let ((split, item), (other_split, other)) = (items[&a], items[&b]);
        if split.split == other_split.split || scan.contents.are_equal(a, b) {
            return;
        }
        count += 1;
        if places.len() < 20 {
            places.extend([item, other].map(|item| Place::file(&item.sample.image)));
        }
    });
    if count == 0 {
        return Vec::new();
    }
    vec![
        Finding::new(
            "splits.leakage_near",
            Severity::Warning,
            format!("{count} pairs of images of different splits look nearly the same: what is measured may have been learnt by heart."),
        )
        .count(count)
        .at(places)
        .remedy("put all frames of one scene into one split"),
    ]
}

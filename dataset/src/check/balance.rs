//! `balance.*`: whether there is enough of everything to learn from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::description::Description;
use super::report::{Finding, Severity};
use super::scan::{Scan, SplitScan};
use crate::Split;

/// Boxes of a class from which something is learnt.
const FEW: u64 = 10;
/// The most frequent class over the least frequent one: from here on a word, from there on a warning.
const UNEVEN: f64 = 1.5;
const VERY_UNEVEN: f64 = 100.0;
/// The share of images without a box that is a warning.
const MUCH_BACKGROUND: f64 = 0.5;
/// The difference of a class's shares in two splits that is a word.
const SKEW: f64 = 0.1;
/// Classes that a message names.
const MOST_NAMED: usize = 10;
/// Classes that the details name.
const MOST_DETAILED: i64 = 1000;

pub(super) fn class_zero_instances(scan: &Scan) -> Vec<Finding> {
    let (Some(train), Some(nc)) = (scan.split(Split::Train), scan.description.nc) else {
        return Vec::new();
    };
    let present = train
        .classes
        .keys()
        .filter(|class| (0..nc).contains(*class))
        .count();
    let missing = usize::try_from(nc).unwrap_or(0) - present;
    if missing == 0 {
        return Vec::new();
    }
    let names: Vec<String> = (0..nc.min(MOST_DETAILED))
        .filter(|class| !train.classes.contains_key(class))
        .map(|class| scan.description.class_name(class))
        .collect();
    vec![
        Finding::new(
            "balance.class_zero_instances",
            Severity::Warning,
            format!(
                "{missing} classes have no box in the train split: {}.",
                listed(&names)
            ),
        )
        .split(Split::Train)
        .count(missing)
        .details(json!({ "classes": names }))
        .remedy("label some of each, or drop the classes: they can't be learnt"),
    ]
}

pub(super) fn class_few_instances(scan: &Scan) -> Vec<Finding> {
    let Some(train) = scan.split(Split::Train) else {
        return Vec::new();
    };
    let few: Vec<(i64, u64)> = known(&scan.description, train)
        .filter(|(_, count)| *count < FEW)
        .collect();
    if few.is_empty() {
        return Vec::new();
    }
    let name = |class| scan.description.class_name(class);
    let list: Vec<String> = few
        .iter()
        .map(|(class, count)| format!("{} ({count})", name(*class)))
        .collect();
    let counts: Map<String, Value> = few
        .iter()
        .map(|(class, count)| (name(*class), json!(count)))
        .collect();
    vec![
        Finding::new(
            "balance.class_few_instances",
            Severity::Warning,
            format!(
                "{} classes have fewer than {FEW} boxes in the train split: {}.",
                few.len(),
                listed(&list)
            ),
        )
        .split(Split::Train)
        .count(few.len())
        .details(json!({ "classes": counts }))
        .remedy("label more of each"),
    ]
}

pub(super) fn imbalance(scan: &Scan) -> Vec<Finding> {
    let Some(train) = scan.split(Split::Train) else {
        return Vec::new();
    };
    let counts: Vec<(i64, u64)> = known(&scan.description, train).collect();
    let most = counts.iter().rev().max_by_key(|(_, count)| *count);
    let least = counts.iter().min_by_key(|(_, count)| *count);
    let (Some((most_class, most)), Some((least_class, least))) = (most, least) else {
        return Vec::new();
    };
    let ratio = *most as f64 / *least as f64;
    if counts.len() < 2 || ratio < UNEVEN {
        return Vec::new();
    }
    let severity = if ratio > VERY_UNEVEN {
        Severity::Warning
    } else {
        Severity::Info
    };
    let name = |class: &i64| scan.description.class_name(*class);
    vec![
        Finding::new(
            "balance.imbalance",
            severity,
            format!(
                "the train split has {ratio:.1} times as many boxes of {} ({most}) as of {} ({least}).",
                name(most_class),
                name(least_class)
            ),
        )
        .split(Split::Train)
        .details(json!({ "ratio": rounded(ratio, 1) }))
        .remedy("label more of the rare classes, if they matter"),
    ]
}

/// The classes of a split that are the dataset's: others have a check of their own.
fn known(description: &Description, split: &SplitScan) -> impl Iterator<Item = (i64, u64)> {
    let counts = split.classes.iter().map(|(class, count)| (*class, *count));
    counts.filter(|(class, _)| description.has_class(*class))
}

pub(super) fn split_coverage(scan: &Scan) -> Vec<Finding> {
    let (Some(train), Some(val)) = (scan.split(Split::Train), scan.split(Split::Val)) else {
        return Vec::new();
    };
    let classes = |split| -> BTreeSet<i64> {
        known(&scan.description, split)
            .map(|(class, _)| class)
            .collect()
    };
    let (train, val) = (classes(train), classes(val));
    let finding = |only: Vec<i64>, message: &str, remedy: &str| {
        let names: Vec<String> = only
            .iter()
            .map(|class| scan.description.class_name(*class))
            .collect();
        (!only.is_empty()).then(|| {
            Finding::new(
                "balance.split_coverage",
                Severity::Warning,
                format!("{} classes {message}: {}.", only.len(), listed(&names)),
            )
            .count(only.len())
            .details(json!({ "classes": names }))
            .remedy(remedy)
        })
    };
    [
        finding(
            val.difference(&train).copied().collect(),
            "are in val, but not in train, and will not be found there",
            "move some images that show them from val to train",
        ),
        finding(
            train.difference(&val).copied().collect(),
            "are in train, but not in val, and will not be measured",
            "move some images that show them from train to val",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn background_ratio(scan: &Scan) -> Vec<Finding> {
    let of_split = |split: &SplitScan| {
        let all = split.items.len();
        let background = split
            .items
            .iter()
            .filter(|item| item.is_background())
            .count();
        let ratio = background as f64 / all as f64;
        let severity = if ratio > MUCH_BACKGROUND {
            Severity::Warning
        } else {
            Severity::Info
        };
        (background > 0).then(|| {
            Finding::new(
                "balance.background_ratio",
                severity,
                format!(
                    "{background} of {all} images ({:.1} %) have no box.",
                    100.0 * ratio
                ),
            )
            .split(split.split)
            .count(background)
            .details(json!({ "ratio": rounded(ratio, 4) }))
            .remedy("nothing, if they show none of the classes; a tenth of such images is plenty")
        })
    };
    scan.splits.iter().filter_map(of_split).collect()
}

pub(super) fn split_skew(scan: &Scan) -> Vec<Finding> {
    let (Some(train), Some(val)) = (scan.split(Split::Train), scan.split(Split::Val)) else {
        return Vec::new();
    };
    let total = |split: &SplitScan| split.classes.values().sum::<u64>() as f64;
    if total(train) == 0.0 || total(val) == 0.0 {
        return Vec::new();
    }
    let share = |split: &SplitScan, class: &i64| {
        split.classes.get(class).map_or(0.0, |count| *count as f64) / total(split)
    };
    let classes: BTreeSet<&i64> = train.classes.keys().chain(val.classes.keys()).collect();
    let mut skewed: Vec<(i64, f64)> = classes
        .into_iter()
        .filter(|class| scan.description.has_class(**class))
        .map(|class| (*class, (share(train, class) - share(val, class)).abs()))
        .filter(|(_, difference)| *difference > SKEW)
        .collect();
    if skewed.is_empty() {
        return Vec::new();
    }
    skewed.sort_by(|one, other| other.1.total_cmp(&one.1));
    let name = |class: i64| scan.description.class_name(class);
    let list: Vec<String> = skewed
        .iter()
        .map(|(class, difference)| format!("{} ({:.0})", name(*class), 100.0 * difference))
        .collect();
    let details: BTreeMap<String, f64> = skewed
        .iter()
        .map(|(class, difference)| (name(*class), rounded(*difference, 3)))
        .collect();
    vec![
        Finding::new(
            "balance.split_skew",
            Severity::Info,
            format!(
                "the shares of {} classes in train and val are more than 10 points apart: {}.",
                skewed.len(),
                listed(&list)
            ),
        )
        .count(skewed.len())
        .details(json!({ "classes": details }))
        .remedy("split at random, or so that each class has its share"),
    ]
}

fn listed(names: &[String]) -> String {
    let more = if names.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", names[..names.len().min(MOST_NAMED)].join(", "))
}

/// By the number's exact decimal digits: multiplying first would round 0.2875 up, which is a little less.
fn rounded(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.digits$}");
    text.parse().unwrap_or(value)
}

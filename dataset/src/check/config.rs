//! `config.*`: the dataset description itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::report::{Finding, Place, Severity};
use super::scan::{EntryProblem, Scan};
use crate::Split;

pub(super) fn missing_names(scan: &Scan) -> Vec<Finding> {
    if !scan.description.names.is_empty() {
        return Vec::new();
    }
    vec![
        Finding::new(
            "config.missing_names",
            Severity::Error,
            "'names' is missing or names no class.",
        )
        .remedy("add 'names:' with one name per class id"),
    ]
}

pub(super) fn nc_names_mismatch(scan: &Scan) -> Vec<Finding> {
    let names = scan.description.names.len();
    let Some(nc) = scan.description.declared_nc else {
        return Vec::new();
    };
    if names == 0 || nc == names as f64 {
        return Vec::new();
    }
    let nc = if nc.fract() == 0.0 && nc.abs() < 1e15 {
        json!(nc as i64)
    } else {
        json!(nc)
    };
    vec![
        Finding::new(
            "config.nc_names_mismatch",
            Severity::Error,
            format!("'nc' is {nc}, but 'names' has {names}."),
        )
        .details(json!({ "nc": nc, "names": names }))
        .remedy("name every class id from 0 to nc - 1, or drop 'nc'"),
    ]
}

pub(super) fn missing_split(scan: &Scan) -> Vec<Finding> {
    let missing = |split: Split, severity, consequence| {
        let name = split.as_str();
        let finding = Finding::new(
            "config.missing_split",
            severity,
            format!("'{name}' is not given: {consequence}."),
        );
        scan.description
            .entries(split)
            .is_empty()
            .then(|| finding.remedy(format!("add '{name}: <folder or list of images>'")))
    };
    [
        missing(
            Split::Train,
            Severity::Error,
            "there is nothing to learn from",
        ),
        missing(
            Split::Val,
            Severity::Warning,
            "no epoch can be evaluated and no best one chosen",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn path_not_found(scan: &Scan) -> Vec<Finding> {
    Split::ALL
        .into_iter()
        .flat_map(|split| unusable_entries(scan, split))
        .collect()
}

fn unusable_entries(scan: &Scan, split: Split) -> Vec<Finding> {
    let name = split.as_str();
    let (mut missing, mut empty, mut imageless) = (Vec::new(), Vec::new(), Vec::new());
    for (_, problem) in scan.problems.iter().filter(|(of, _)| *of == split) {
        match problem {
            EntryProblem::Missing(path) => missing.push(path),
            EntryProblem::Empty(path) => empty.push(path),
            EntryProblem::NoImages(path) => imageless.push(path),
        }
    }
    let finding = |paths: &[&PathBuf], message: &str| {
        (!paths.is_empty()).then(|| {
            let message = format!("'{name}' {message}.");
            Finding::new("config.path_not_found", Severity::Error, message)
                .split(split)
                .at(paths.iter().map(|path| Place::file(path)))
        })
    };
    let missing_remedy = missing.first().map_or_else(String::new, |entry| {
        missing_remedy(&scan.description.root, entry)
    });
    [
        finding(&missing, "points to what doesn't exist")
            .map(|finding| finding.count(missing.len()).remedy(missing_remedy)),
        finding(&empty, "points to a folder without images").map(|finding| {
            finding
                .count(empty.len())
                .remedy("put images there, or correct the entry")
        }),
        finding(&imageless, "names no image").map(|finding| {
            finding.remedy("name a folder of images, or a .txt list with one image a line")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Some exporters write `../train/images` for what lies at `train/images` beside the file.
fn missing_remedy(root: &Path, entry: &Path) -> String {
    let below = entry
        .strip_prefix(root)
        .ok()
        .and_then(|entry| entry.strip_prefix("..").ok());
    match below {
        Some(below) if root.join(below).exists() => {
            format!("write '{}': it lies beside the file", below.display())
        }
        _ => format!(
            "relative entries start at {}: correct the entry, or put the images there",
            root.display()
        ),
    }
}

pub(super) fn duplicate_names(scan: &Scan) -> Vec<Finding> {
    let mut ids: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (id, name) in &scan.description.names {
        ids.entry(name).or_default().push(*id);
    }
    ids.retain(|_, ids| ids.len() > 1);
    if ids.is_empty() {
        return Vec::new();
    }
    let list: Vec<String> = ids
        .iter()
        .map(|(name, ids)| format!("'{name}' ({})", join(ids)))
        .collect();
    let counts: serde_json::Map<_, _> = ids
        .iter()
        .map(|(name, ids)| ((*name).to_owned(), json!(ids.len())))
        .collect();
    vec![
        Finding::new(
            "config.duplicate_names",
            Severity::Warning,
            format!("several classes have one name: {}.", list.join(", ")),
        )
        .details(json!({ "duplicates": counts }))
        .remedy("merge the classes, or tell their names apart"),
    ]
}

fn join(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(", ")
}

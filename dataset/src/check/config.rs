//! `config.*`: the dataset description itself.

use std::collections::BTreeMap;
use std::path::Path;

use super::report::{Finding, Place, Severity};
use super::scan::{EntryProblem, Scan, SplitScan};
use crate::Split;

pub(super) fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    names(scan, findings);
    for (split, severity, consequence) in [
        (
            Split::Train,
            Severity::Error,
            "there is nothing to learn from",
        ),
        (
            Split::Val,
            Severity::Warning,
            "no epoch can be evaluated and no best one chosen",
        ),
    ] {
        if scan.config.entries(split).is_empty() {
            let message = format!("'{}' is not given: {consequence}.", split.as_str());
            findings.push(
                Finding::new("config.missing_split", severity, message)
                    .split(split)
                    .at([Place::file(&scan.config.file)])
                    .remedy(format!(
                        "add '{}: <folder or list of images>' to the file",
                        split.as_str()
                    )),
            );
        }
    }
    for split in &scan.splits {
        entries(&scan.config.root, split, findings);
    }
}

fn names(scan: &Scan, findings: &mut Vec<Finding>) {
    let declared = &scan.config.declared;
    if declared.names.is_empty() {
        findings.push(
            Finding::new(
                "config.missing_names",
                Severity::Error,
                "'names' is missing or empty.",
            )
            .at([Place::file(&scan.config.file)])
            .remedy("add 'names:' with one name per class id"),
        );
        return;
    }
    let is_gapless = declared.names.keys().copied().eq(0..scan.config.nc as i64);
    if declared
        .nc
        .is_some_and(|nc| nc != declared.names.len() as f64)
        || !is_gapless
    {
        let ids: Vec<String> = declared.names.keys().map(i64::to_string).collect();
        let message = format!(
            "there are {} classes, but 'names' names the ids {}.",
            scan.config.nc,
            ids.join(", ")
        );
        findings.push(
            Finding::new("config.nc_names_mismatch", Severity::Error, message)
                .at([Place::file(&scan.config.file)])
                .remedy("name every class id from 0 to nc - 1, or drop 'nc'"),
        );
    }
    let mut ids_by_name: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (id, name) in &declared.names {
        ids_by_name.entry(name).or_default().push(*id);
    }
    for (name, ids) in ids_by_name.into_iter().filter(|(_, ids)| ids.len() > 1) {
        findings.push(
            Finding::new(
                "config.duplicate_names",
                Severity::Warning,
                format!("classes {ids:?} are all called '{name}'."),
            )
            .at([Place::file(&scan.config.file)])
            .remedy("merge the classes or tell their names apart"),
        );
    }
}

fn entries(root: &Path, split: &SplitScan, findings: &mut Vec<Finding>) {
    for problem in &split.problems {
        let (path, message, remedy) = match problem {
            EntryProblem::Missing(path) => {
                (path, "doesn't exist".to_owned(), missing_remedy(root, path))
            }
            EntryProblem::Empty(path) => (
                path,
                "has no images".to_owned(),
                "put images there, or correct the entry".into(),
            ),
            EntryProblem::Unreadable(path, reason) => (
                path,
                format!("can't be listed ({reason})"),
                "make it readable".to_owned(),
            ),
        };
        let message = format!(
            "'{}' points to {}, which {message}.",
            split.split.as_str(),
            path.display()
        );
        findings.push(
            Finding::new("config.path_not_found", Severity::Error, message)
                .split(split.split)
                .at([Place::file(path)])
                .remedy(remedy),
        );
    }
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

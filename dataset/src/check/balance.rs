//! `balance.*`: whether there is enough of everything to learn from.

use super::report::{Finding, Place, Severity};
use super::scan::Scan;
use crate::Split;

pub(super) fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let Some(train) = scan.splits.iter().find(|split| split.split == Split::Train) else {
        return;
    };
    let Some(first) = train.items.first() else {
        return;
    };
    let counts = scan.train_instances();
    if counts.iter().sum::<usize>() == 0 {
        findings.push(
            Finding::new(
                "balance.no_instances",
                Severity::Error,
                "no image of the train split has a usable box.",
            )
            .split(Split::Train)
            .at([Place::file(&first.sample.label)])
            .remedy(format!(
                "label files are looked for where {} would lie: put them there",
                first.sample.label.display()
            )),
        );
        return;
    }
    let absent: Vec<&str> = counts
        .iter()
        .zip(&scan.config.names)
        .filter(|(count, _)| **count == 0)
        .map(|(_, name)| name.as_str())
        .collect();
    if !absent.is_empty() {
        let message = format!(
            "{} classes have no box in the train split: {}.",
            absent.len(),
            absent.join(", ")
        );
        let mut finding = Finding::new("balance.class_zero_instances", Severity::Warning, message)
            .split(Split::Train)
            .remedy("label some of each, or drop the classes: they can't be learnt");
        finding.count = absent.len();
        findings.push(finding);
    }
}

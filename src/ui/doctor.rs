//! How a check of a data set reads.

use gpurun_dataset::check::{Finding, Report, Severity};

/// Places of a finding that are shown; `--json` has more.
const MOST_PLACES: usize = 3;

/// The whole report: what there is, what is wrong by how much it matters, and the sum.
pub(crate) fn doctor(report: &Report) -> String {
    let stats = &report.stats;
    let mut lines = vec![stats.yaml.display().to_string()];
    for (split, stats) in &stats.splits {
        lines.push(format!(
            "  {split:<6} {} images, {} boxes, {} without a box",
            stats.images, stats.instances, stats.background
        ));
    }
    lines.extend(stats.nc.map(|nc| format!("  {nc} classes")));
    for (severity, title, mark) in [
        (Severity::Error, "ERRORS", 'E'),
        (Severity::Warning, "WARNINGS", 'W'),
        (Severity::Info, "INFO", 'i'),
    ] {
        let count = report.count(severity);
        if count == 0 {
            continue;
        }
        lines.push(format!("\n{title} ({count})"));
        let findings = report.findings.iter();
        for finding in findings.filter(|finding| finding.severity == severity) {
            lines.extend(paragraph(finding, mark));
        }
    }
    lines.push(String::new());
    if !report.skipped_checks.is_empty() {
        lines.push(format!("skipped: {}", report.skipped_checks.join(", ")));
    }
    lines.push(sum(report));
    lines.join("\n")
}

/// One finding on one line: "error labels.syntax [train]: 2 lines …: /data/labels/a.txt:3 (remedy)".
pub(crate) fn finding(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let places: Vec<String> = finding
        .places
        .iter()
        .take(MOST_PLACES)
        .map(ToString::to_string)
        .collect();
    let more = finding.places.len() - places.len();
    let places = match (places.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" [{}]", places.join(", ")),
        (false, more) => format!(" [{} and {more} more]", places.join(", ")),
    };
    let remedy = if finding.remedy.is_empty() {
        String::new()
    } else {
        format!("; {}", finding.remedy)
    };
    format!(
        "{severity:<8} {}{}: {}{places}{remedy}",
        finding.id,
        of_split(finding),
        finding.message
    )
}

fn paragraph(finding: &Finding, mark: char) -> Vec<String> {
    let mut lines = vec![format!(
        "  {mark} {}{}: {}",
        finding.id,
        of_split(finding),
        finding.message
    )];
    let shown = finding.places.iter().take(MOST_PLACES);
    lines.extend(shown.map(|place| format!("      {place}")));
    if finding.places.len() > MOST_PLACES {
        let more = finding.places.len() - MOST_PLACES;
        lines.push(format!("      and {more} more files, see --json"));
    }
    if !finding.remedy.is_empty() {
        lines.push(format!("      help: {}", finding.remedy));
    }
    lines
}

fn of_split(finding: &Finding) -> String {
    finding
        .split
        .map_or_else(String::new, |split| format!(" [{}]", split.as_str()))
}

fn sum(report: &Report) -> String {
    let count = |severity| report.count(severity);
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors + warnings == 0 {
        return "No problems found.".to_owned();
    }
    format!(
        "{errors} error(s), {warnings} warning(s), {} info(s).",
        count(Severity::Info)
    )
}

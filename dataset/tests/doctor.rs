//! Broken data sets by the hundred, checked by us and by LibreYOLO 1.6.0's doctor: the same findings.
//!
//! What LibreYOLO found is kept in `data/libreyolo_doctor.json`. Where `GPURUN_LIBREYOLO_PYTHON` names a Python that has
//! it, it is asked again; with `GPURUN_UPDATE_DOCTOR` set, its answers are kept.

mod doctor_cases;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use doctor_cases::{Case, cases};
use gpurun_dataset::check::{CheckError, CheckOptions, CheckSelection, check};
use serde_json::{Value, json};

const DRIVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/doctor_with_libreyolo.py"
);
const KEPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/libreyolo_doctor.json"
);

#[test]
fn the_same_findings_as_libreyolo_kept() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let cases = cases(home.path());
    let kept = std::fs::read_to_string(KEPT).expect("it is part of the repository");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    compare_all(home.path(), &cases, |case| kept[&case.name].clone());
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn the_same_findings_as_libreyolo_itself() {
    let Some(python) = std::env::var_os("GPURUN_LIBREYOLO_PYTHON") else {
        eprintln!("skipped: GPURUN_LIBREYOLO_PYTHON names no Python with libreyolo==1.6.0");
        return;
    };
    let home = tempfile::tempdir().expect("a temporary folder");
    let cases = cases(home.path());
    let answers = ask(Path::new(&python), home.path(), &cases);
    assert_eq!(answers.len(), cases.len());
    let answers: serde_json::Map<String, Value> = cases
        .iter()
        .map(|case| case.name.clone())
        .zip(answers.iter().map(|answer| essence(answer, home.path())))
        .collect();
    if std::env::var_os("GPURUN_UPDATE_DOCTOR").is_some() {
        let lines: Vec<String> = answers
            .iter()
            .map(|(name, answer)| format!("{}: {answer}", Value::from(name.clone())))
            .collect();
        let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
        std::fs::write(KEPT, text).expect("the repository is writable");
    }
    compare_all(home.path(), &cases, |case| answers[&case.name].clone());
}

#[test]
fn every_check_finds_something_in_them() {
    let kept = std::fs::read_to_string(KEPT).expect("it is part of the repository");
    let kept: serde_json::Map<String, Value> = serde_json::from_str(&kept).expect("JSON");
    let found: BTreeSet<&str> = kept
        .values()
        .filter_map(|answer| answer["findings"].as_array())
        .flatten()
        .filter_map(|finding| finding[0].as_str())
        .collect();
    assert_eq!(found.len(), 36, "{found:?}");
}

fn compare_all(home: &Path, cases: &[Case], theirs: impl Fn(&Case) -> Value) {
    let differences: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let (ours, theirs) = (essence(&answer(case), home), theirs(case));
            difference(&ours, &theirs).map(|what| format!("{}: {what}", case.name))
        })
        .collect();
    assert!(
        differences.is_empty(),
        "{} of {} differ\n{}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}

fn ask(python: &Path, home: &Path, cases: &[Case]) -> Vec<Value> {
    let mut child = Command::new(python)
        .arg(DRIVER)
        .current_dir(home)
        // A folder that isn't there: a relative `path` is then relative to the description.
        .env("LIBREYOLO_DATASETS_DIR", home.join("none"))
        .env("OMP_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the Python starts");
    let input = serde_json::to_vec(cases).expect("cases are JSON");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(&input).expect("it reads its cases");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    serde_json::from_slice(&output.stdout).expect("answers are JSON")
}

/// Our report as JSON.
fn answer(case: &Case) -> Value {
    let selection = CheckSelection::default();
    let options = CheckOptions {
        selection: match case.fast {
            true => selection.without_images().expect("many are left"),
            false => selection,
        },
        imgsz: case.imgsz,
        threads: 2,
    };
    match check(&case.data, &options) {
        Ok(report) => json!({
            "stats": report.stats,
            "findings": report.findings,
            "skipped_checks": report.skipped_checks,
        }),
        Err(CheckError::OtherTask(_)) => json!({ "refused": "NotADetectionDatasetError" }),
        Err(CheckError::Unreadable(_)) => json!({ "refused": "DoctorError" }),
    }
}

/// What both reports have in common: no words, and paths below `home`.
fn essence(report: &Value, home: &Path) -> Value {
    if report.get("refused").is_some() {
        return report.clone();
    }
    let home = format!("{}/", home.display());
    let findings = report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|finding| {
            let paths = finding["paths"].as_array().map_or(&[][..], Vec::as_slice);
            let mut paths: Vec<String> = paths
                .iter()
                .map(|path| path.as_str().expect("a path").replace(&home, ""))
                .collect();
            // Theirs come out of a set, in no order.
            if finding["check_id"] == "splits.leakage_exact" {
                paths.sort();
            }
            let details = Some(&finding["details"]).filter(|details| !details.is_null());
            json!([
                finding["check_id"],
                finding["severity"],
                finding["split"],
                finding["count"],
                paths,
                details.unwrap_or(&json!({})),
            ])
        });
    let stats = &report["stats"];
    json!({
        "findings": findings.collect::<Vec<_>>(),
        "nc": stats["nc"],
        "splits": stats["splits"],
        "train_instance_counts": stats["train_instance_counts"],
        "images_scanned": stats["images_scanned"],
        "skipped_checks": report["skipped_checks"],
    })
}

/// The first thing in which the two differ.
fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    if let (Some(our), Some(their)) = (ours["findings"].as_array(), theirs["findings"].as_array()) {
        let longest = our.len().max(their.len());
        let different = (0..longest).find(|index| !is_equal(our.get(*index), their.get(*index)));
        if let Some(index) = different {
            let show = |finding: Option<&Value>| finding.map_or("nothing".into(), Value::to_string);
            return Some(format!(
                "{}\n  LibreYOLO {}",
                show(our.get(index)),
                show(their.get(index))
            ));
        }
    }
    let without_findings = |report: &Value| {
        let mut report = report.clone();
        report["findings"].take();
        report
    };
    let (ours, theirs) = (without_findings(ours), without_findings(theirs));
    (!is_equal(Some(&ours), Some(&theirs))).then(|| format!("{ours}\n  LibreYOLO {theirs}"))
}

/// Equal, where 1 and 1.0 are the same number.
fn is_equal(ours: Option<&Value>, theirs: Option<&Value>) -> bool {
    match (ours, theirs) {
        (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(our, their)| is_equal(Some(our), Some(their)))
        }
        (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .all(|(key, our)| is_equal(Some(our), theirs.get(key)))
        }
        (Some(Value::Number(our)), Some(Value::Number(their))) => our.as_f64() == their.as_f64(),
        (ours, theirs) => ours == theirs,
    }
}

//! `gpurun cost` as a script sees it.

use assert_cmd::Command;
use serde_json::Value;

fn cost(flags: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpurun"));
    command
        .arg("cost")
        .args(flags)
        .output()
        .expect("gpurun runs")
}

fn document(flags: &[&str]) -> Value {
    let output = cost(&[flags, &["--json"]].concat());
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn number(document: &Value, key: &str) -> f64 {
    document[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {document}"))
}

#[test]
fn the_measured_box_in_figures() {
    let answer = document(&["--disk", "250"]);
    assert_eq!(answer["schema_version"], 1);
    let near = |key: &str, expected: f64| (number(&answer, key) - expected).abs() < 0.000_001;
    assert!(near("running_per_hour", 3.4828));
    assert!(near("stopped_per_hour", 250.0 * 0.20 / 730.0));
    assert!(near("destroyed_per_hour", 0.0));
    assert!(near("rebuild_cost", 0.25 * 3.4828 + 43.0 * 0.003));
    assert!(near("break_even_hours", 0.9997 / (250.0 * 0.20 / 730.0)));
    assert_eq!(answer["verdict"], "stop");
    assert!(
        answer["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("= 14.6 h"))
    );
    assert_eq!(answer["inputs"]["hours_per_month"], 730);

    let as_billed = document(&["--disk", "250", "--hours-per-month", "720"]);
    assert!((number(&as_billed, "stopped_per_hour") - 0.069_444).abs() < 0.000_001);
    assert!((number(&as_billed, "break_even_hours") - 14.4).abs() < 0.05);
}

#[test]
fn the_declared_gap_decides() {
    let verdict = |away: &str| document(&["--away", away])["verdict"].clone();
    assert_eq!(verdict("10h"), "stop");
    assert_eq!(verdict("14h"), "stop");
    assert_eq!(verdict("15h"), "destroy");
    assert_eq!(
        document(&["--away", "10h", "--restart-probability", "0"])["verdict"],
        "destroy"
    );
}

#[test]
fn what_does_not_exist_is_null() {
    let lambda = document(&["--gpu", "h100-sxmx8", "--provider", "lambda"]);
    assert_eq!(lambda["stopped_per_hour"], Value::Null);
    assert_eq!(lambda["break_even_hours"], Value::Null);
    assert_eq!(lambda["verdict"], "destroy");
}

#[test]
fn data_goes_to_stdout_and_talk_to_stderr() {
    let output = cost(&["--disk", "250"]);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(text(&output.stdout).contains("break-even $1.00 / $0.0685/h = 14.6 h"));
    assert!(text(&output.stderr).contains("help: --away 10h"));
    assert!(cost(&["--disk", "250", "--quiet"]).stderr.is_empty());
}

#[test]
fn bad_numbers_end_with_the_usage_code() {
    for flags in [
        ["--running", "-1"],
        ["--hours-per-month", "0"],
        ["--restart-probability", "2"],
        ["--gpu", "3090"],
    ] {
        let output = cost(&flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
fn an_unknown_run_is_not_found() {
    let home = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_gpurun"))
        .env("GPURUN_HOME", home.path().join("state"))
        .args(["cost", "3f"])
        .output()
        .expect("gpurun runs");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(
        !home.path().join("state").exists(),
        "asking makes no ledger"
    );
}

#[test]
fn every_key_of_the_document_is_documented() {
    let page = include_str!("../../docs/json.md");
    let answer = document(&["--away", "10h"]);
    for key in answer.as_object().expect("an object").keys() {
        assert!(
            page.contains(&format!("`{key}`")),
            "docs/json.md lacks `{key}`"
        );
    }
}

//! What is refused, with which code, before anything is written.

use serde_json::Value;

use crate::support::{Bench, fail, succeed};

#[test]
fn refusals_have_codes_and_write_nothing() {
    let bench = Bench::new();
    for (extra, code, words) in [
        (&["epochs=0"][..], 2, "epochs must be from 1"),
        (&["epochz=3"], 2, "Did you mean `epochs`?"),
        (&["mixup=1"], 2, "LibreYOLO"),
        (&["data=none.yaml"], 3, "none.yaml"),
        (&["model=none.pt"], 4, "none.pt"),
        (&["model=shapes/data.yaml.pt"], 4, "data.yaml.pt"),
        (&["resume=true"], 4, "last.pt"),
        (&["device=7"], 1, "cuda:7"),
    ] {
        let told = fail(&mut bench.train(extra), code);
        assert!(told.contains(words), "{extra:?}: {told}");
    }
    assert_eq!(bench.names(""), ["shapes"]);
}

#[test]
fn errors_are_json_when_asked() {
    let bench = Bench::new();
    let output = bench.train(&["epochz=3", "--json"]).output().unwrap();
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown key `epochz`"));
    assert_eq!(
        (&error["error"], &error["schema_version"]),
        (&"config_unknown_key".into(), &1.into())
    );
    assert_eq!(error["suggestion"], "Did you mean `epochs`?");
}

#[test]
fn smoke_proves_the_cpu() {
    let bench = Bench::new();
    let report: Value = serde_json::from_str(&succeed(
        &mut bench.command(&["smoke", "--device", "cpu", "--json"]),
    ))
    .unwrap();
    assert_eq!(
        (&report["status"], &report["libtorch"]),
        (&"ok".into(), &"2.13.0".into())
    );
    assert_eq!(report["devices"][0]["device"], "cpu");
    assert!(fail(&mut bench.command(&["smoke", "device=cuda:9"]), 1).contains("CUDA"));
}

#[test]
fn help_and_version_answer() {
    let bench = Bench::new();
    assert!(succeed(&mut bench.command(&["--version"])).starts_with("gpurun-train "));
    assert!(succeed(&mut bench.command(&["train", "--help"])).contains("eval_interval"));
}

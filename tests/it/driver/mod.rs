//! A first kernel on every card, against a stand-in for the driver's library: the calls, their order, and each failure.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Two cards as `nvidia-smi` shows them, and a driver that the test breaks.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
            .arg(folder.path().join("libcuda.so.1"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/driver/libcuda.c"))
            .output()
            .expect("a C compiler");
        assert!(built.status.success(), "{}", crate::world::text(&built));
        let query = "#!/bin/sh\necho '0, NVIDIA H100, 0, 0, 81559, 580.10'\necho '1, NVIDIA H100, 0, 0, 81559, 580.10'\n";
        let smi = folder.path().join("nvidia-smi");
        std::fs::write(&smi, query).expect("room");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&smi, mode).expect("ours");
        Self(folder)
    }

    /// What `gpurun agent proof` finds, with these variables for the stand-in.
    fn proof(&self, variables: &[(&str, &str)]) -> Value {
        let path = std::env::var("PATH").expect("a path");
        let output = Command::new(env!("CARGO_BIN_EXE_gpurun"))
            .args(["agent", "proof"])
            .env("HOME", self.0.path())
            .env("PATH", format!("{}:{path}", self.0.path().display()))
            .env("LD_LIBRARY_PATH", self.0.path())
            .envs(variables.iter().copied())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", crate::world::text(&output));
        serde_json::from_slice(&output.stdout).expect("a proof")
    }
}

fn outcomes(proof: &Value) -> Vec<&str> {
    let gpus = proof["gpus"].as_array().expect("a list");
    gpus.iter()
        .map(|gpu| gpu["kernel"]["outcome"].as_str().expect("an outcome"))
        .collect()
}

/// The messages of one severity, one after the other.
fn said(proof: &Value, severity: &str) -> String {
    let found = proof["findings"].as_array().expect("a list").iter();
    let said = found.filter(|finding| finding["severity"] == severity);
    said.map(|finding| finding["message"].as_str().expect("text").to_owned() + "\n")
        .collect()
}

#[test]
fn every_card_computes_or_is_told_with_the_drivers_own_words() {
    let machine = Machine::new();
    let sound = machine.proof(&[("CARDS", "2")]);
    assert_eq!(outcomes(&sound), ["right", "right"]);
    assert_eq!(said(&sound, "fatal"), "");

    // It says that it is there, and dies at its first kernel.
    let broken = machine.proof(&[("CARDS", "2"), ("FAIL", "cuCtxSynchronize:1:719")]);
    assert_eq!(outcomes(&broken), ["right", "failed"]);
    let why = said(&broken, "fatal");
    assert!(
        why.contains("GPU 1 (NVIDIA H100) fails its first kernel"),
        "{why}"
    );
    assert!(why.contains("unspecified launch failure"), "{why}");

    let image = machine.proof(&[("CARDS", "2"), ("FAIL", "cuModuleLoadData:-1:209")]);
    assert_eq!(outcomes(&image), ["failed", "failed"]);
    let why = said(&image, "fatal");
    assert!(
        why.contains("its driver can't make programs for it"),
        "{why}"
    );
    assert!(why.contains("no kernel image is available"), "{why}");

    let wrong = machine.proof(&[("CARDS", "2"), ("WRONG", "0")]);
    assert_eq!(outcomes(&wrong), ["failed", "right"]);
    assert!(
        said(&wrong, "fatal").contains("23 where 22 is right"),
        "{wrong}"
    );
    for call in [
        "cuDeviceGet",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent",
        "cuMemAlloc",
        "cuLaunchKernel",
        "cuMemcpyDtoH",
    ] {
        let fail = format!("{call}:0:2");
        let found = machine.proof(&[("CARDS", "2"), ("FAIL", &fail)]);
        assert_eq!(outcomes(&found), ["failed", "right"], "{call}");
        assert!(said(&found, "fatal").contains(call), "{found}");
    }
}

#[test]
fn a_driver_that_doesnt_answer_proves_nothing_and_condemns_nothing() {
    let machine = Machine::new();
    let none = machine.proof(&[("FAIL", "cuInit:-1:100")]);
    assert_eq!(outcomes(&none), ["untried", "untried"]);
    assert_eq!(said(&none, "fatal"), "");
    assert!(said(&none, "warning").contains("no CUDA-capable device is detected"));
    let fewer = machine.proof(&[("CARDS", "1")]);
    assert_eq!(outcomes(&fewer), ["untried", "untried"]);
    let why = said(&fewer, "warning");
    assert!(
        why.contains("nvidia-smi shows 2 GPUs and the driver's library 1"),
        "{why}"
    );
}

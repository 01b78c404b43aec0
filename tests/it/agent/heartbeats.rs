//! What the heartbeat tells, and what must not stop it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::support::{TestBox, until};

/// Starts the agent with an `nvidia-smi` of this content first on its path.
fn start_with_nvidia_smi(here: &TestBox, script: &str) {
    let folder = here.home().join("path");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("nvidia-smi");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let started = here.command(&["start"]).env("PATH", path).output().unwrap();
    assert!(started.status.success());
}

#[test]
fn it_samples_processes_disk_and_gpus() {
    let mut here = TestBox::new();
    here.change_spec(|spec| spec["disk_limit_bytes"] = 1000.into());
    start_with_nvidia_smi(
        &here,
        "echo '0, NVIDIA GeForce RTX 4090, 97, 20480, 24564, 570.86.15'",
    );
    here.order("(while :; do :; done) & true");
    let beat = until("a core's worth of use is in the heartbeat", || {
        let beat = here.heartbeat()?;
        (beat["usage"]["cpu_percent"].as_f64()? > 5.0 && beat["gpus"][0].is_object())
            .then_some(beat)
    });
    assert!(beat["usage"]["processes"].as_u64().unwrap() >= 2);
    assert!(beat["usage"]["resident_bytes"].as_u64().unwrap() > 0);
    assert_eq!(beat["gpus"][0]["utilization_percent"], 97);
    assert_eq!(beat["disk"]["over_limit"], true);
    assert!(beat["disk"]["free_bytes"].as_u64().unwrap() > 0);
    assert_eq!(here.report()["disk"]["over_limit"], true);
}

#[test]
fn a_gpu_driver_that_hangs_does_not_stop_it() {
    let here = TestBox::new();
    start_with_nvidia_smi(&here, "exec sleep 600");
    for _ in 0..3 {
        let before = here.heartbeat();
        until("the next heartbeat", || {
            (here.heartbeat() != before).then_some(())
        });
    }
}

#[test]
fn progress_is_what_moves_not_what_is_rewritten() {
    let mut here = TestBox::new();
    here.start();
    let moved_at = |here: &TestBox| {
        here.heartbeat()
            .map(|beat| beat["last_progress_at"].clone())
    };
    here.order("echo '{\"state\":\"running\",\"current_epoch\":1}' > $RUN/status.json");
    let first = until("the first progress", || {
        let beat = here.heartbeat()?;
        let moved = beat["last_progress_at"] != beat["training"]["started_at"];
        moved.then(|| beat["last_progress_at"].clone())
    });
    here.order("touch $RUN/status.json");
    let written = here.heartbeat().unwrap()["written_at"].clone();
    until("a later heartbeat", || {
        (here.heartbeat()?["written_at"] != written).then_some(())
    });
    assert_eq!(moved_at(&here), Some(first.clone()));
    here.order("echo '{\"state\":\"running\",\"current_epoch\":2}' > $RUN/status.json");
    until("the second progress", || {
        (moved_at(&here)? != first).then_some(())
    });
}

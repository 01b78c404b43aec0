//! What a job comes to: command lines, destinations, environments.

use super::at_home;
use super::spec;
use crate::job::{StagedData, WorkPlace, resolve};
use gpurun_lifecycle::VolumeSpec;
use std::path::PathBuf;

fn staged(source: &str) -> StagedData {
    StagedData {
        source: PathBuf::from(source),
        bytes: 7,
        fingerprint: "f00d".into(),
        config: "data.yaml".into(),
    }
}

#[test]
fn an_engine_gets_one_command_line_and_one_to_go_on_with() {
    let flags = [
        "--gpu", "cpu", "--data", "bccd", "--epochs", "15", "--batch", "8", "--imgsz", "320",
    ];
    let job = spec(
        "name = 'cells'",
        &[&flags[..], &["--", "lr0=0.02", "--pretrained=false"]].concat(),
    );
    let resolved = resolve(&job, Some(&staged("/sets/bccd")), &at_home());
    let stage = resolved.stage.expect("data is staged");
    assert_eq!(
        (stage.source.as_str(), stage.dest.as_str()),
        ("/sets/bccd", "data/bccd")
    );
    let launch = resolved.launch.expect("a training");
    assert_eq!(launch.run_dir, "runs/cells");
    assert_eq!(
        launch.argv.join(" "),
        "gpurun-train train model=yolo9-t data=data/bccd/data.yaml project=runs name=cells exist_ok=true \
         device=cpu epochs=15 batch=8 imgsz=320 lr0=0.02 pretrained=false"
    );
    assert_eq!(
        launch.resume_argv.expect("it can go on").join(" "),
        "gpurun-train train model=runs/cells/weights/last.pt data=data/bccd/data.yaml project=runs name=cells \
         exist_ok=true device=cpu epochs=15 batch=8 imgsz=320 lr0=0.02 resume=true"
    );
    assert_eq!(
        (resolved.prove.device.as_str(), resolved.install.version),
        ("cpu", None)
    );
}

#[test]
fn with_a_volume_all_work_is_on_it() {
    let volume = VolumeSpec {
        id: "vol-1".to_owned(),
        path: "/workspace/".to_owned(),
        rate: None,
    };
    let place = WorkPlace::new(Some(&volume), "3f");
    let job = spec(
        "name = 'cells'",
        &["--gpu", "4090", "--data", "d.tar", "--model", "yolo9-t"],
    );
    let resolved = resolve(&job, Some(&staged("/x/d.tar")), &place);
    assert_eq!(
        resolved.stage.expect("data").dest,
        "/workspace/gpurun/data/d"
    );
    let launch = resolved.launch.expect("a training");
    assert_eq!(launch.working_dir, "/workspace/gpurun");
    assert_eq!(launch.run_dir, "/workspace/gpurun/runs/3f/cells");
    assert_eq!(launch.env["HF_HOME"], "/workspace/gpurun/huggingface");
    let argv = launch.argv.join(" ");
    assert!(
        argv.contains(
            " data=/workspace/gpurun/data/d/data.yaml project=/workspace/gpurun/runs/3f "
        ),
        "{argv}"
    );
    let resume = launch.resume_argv.expect("it can go on").join(" ");
    assert!(
        resume.contains(" model=/workspace/gpurun/runs/3f/cells/weights/last.pt "),
        "{resume}"
    );
}

#[test]
fn libreyolo_is_installed_in_the_version_that_was_tested() {
    let job = spec(
        "",
        &[
            "--gpu",
            "4090",
            "--data",
            "d.tar",
            "--engine",
            "libreyolo",
            "--model",
            "LibreYOLO9s.pt",
        ],
    );
    let resolved = resolve(&job, Some(&staged("/x/d.tar")), &at_home());
    assert_eq!(resolved.install.version.as_deref(), Some("1.6.0"));
    let argv = resolved.launch.expect("a training").argv.join(" ");
    assert!(
        argv.starts_with("libreyolo train model=LibreYOLO9s.pt data=data/d/data.yaml"),
        "{argv}"
    );
    assert!(argv.contains(" device=0"), "{argv}");
}

#[test]
fn a_command_learns_its_places_from_the_environment() {
    let job = spec(
        "name = 'mine'",
        &["--gpu", "cpu", "--data", "/s/set", "--command", "./go"],
    );
    let launch = resolve(&job, Some(&staged("/s/set")), &at_home())
        .launch
        .expect("a command");
    assert_eq!(launch.resume_argv, None);
    assert_eq!(launch.env["GPURUN_DATA"], "data/set");
    assert_eq!(launch.env["GPURUN_RUN_DIR"], "runs/mine");
}

//! Whole runs of the second family.

use std::fs;

use gpurun_protocol::status::State;
use gpurun_train::checkpoint::Checkpoint;

use crate::support::{Bench, fail, losses, signal, start_until, succeed, wait};

/// A run in memory and on disk, validated, and stopped within an epoch as within the switch to plain images: it goes on
/// bit for bit.
#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let bench = Bench::with(32, 4);
    let settings = ["model=yolox-n", "epochs=3", "no_aug_epochs=1"];
    succeed(&mut bench.train(&[&settings[..], &["name=whole"]].concat()));
    let status = bench.status("runs/whole");
    assert_eq!(status.model_family.as_deref(), Some("yolox"));
    let rows = bench.history("runs/whole").rows;
    for part in ["iou", "obj", "cls", "l1"] {
        let value = |epoch: usize| rows[epoch].value(&format!("train/{part}_loss")).unwrap();
        // The boxes' raw outputs count in the epochs without mosaics.
        assert_eq!(value(0) > 0.0, part != "l1", "{part}");
        assert!(value(2) > 0.0, "{part}");
    }
    assert!(rows[2].value("metrics/mAP50-95").is_some());

    let last = "runs/within/weights/last.pt";
    let child = start_until(
        &mut bench.train(&[&settings[..], &["name=within"]].concat()),
        "Checkpoint saved",
    );
    signal(&child, "-TERM");
    assert_eq!(wait(child).code(), Some(143));
    let checkpoint = Checkpoint::read(&bench.path(last)).unwrap();
    assert_eq!(checkpoint.metadata.model_family, "yolox");
    let position = checkpoint.training.unwrap().position.unwrap();
    assert_eq!(position.loss_sums.len(), 5);
    succeed(bench.command(&["train", "resume=true"]).args([
        "data=shapes/data.yaml",
        "device=cpu",
        &format!("model={last}"),
    ]));
    assert_eq!(losses(&bench, "runs/within"), losses(&bench, "runs/whole"));
    assert_eq!(bench.status("runs/within").state, Some(State::Completed));
}

/// Weights say what they are of: defaults, validation, export and profile follow them, not the name of the file.
#[test]
fn a_weights_file_brings_its_family() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["model=yolox-n", "epochs=1", "name=first"]));
    fs::copy(
        bench.path("runs/first/weights/last.pt"),
        bench.path("mine.pt"),
    )
    .unwrap();
    succeed(&mut bench.train(&["model=mine.pt", "epochs=1", "name=second"]));
    let settings = fs::read_to_string(bench.path("runs/second/train_config.yaml")).unwrap();
    for line in [
        "scheduler: yoloxwarmcos",
        "mixup_prob: 1.0",
        "degrees: 10.0",
    ] {
        assert!(settings.contains(line), "{line} is not in\n{settings}");
    }
    assert!(!settings.contains("aux_weight"), "{settings}");
    let data = "data=shapes/data.yaml";
    for words in [
        vec!["val", "model=mine.pt", data, "imgsz=64", "device=cpu"],
        vec!["export", "model=mine.pt", "imgsz=64"],
        vec![
            "profile",
            "model=mine.pt",
            data,
            "imgsz=64",
            "batch=4",
            "device=cpu",
            "steps=2",
            "warmup=0",
        ],
    ] {
        succeed(&mut bench.command(&words));
    }
    assert!(bench.path("mine.onnx").exists());
}

#[test]
fn one_family_never_goes_on_as_the_other() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["model=yolox-n", "epochs=1", "name=first"]));
    let last = "resume=runs/first/weights/last.pt";
    let error = fail(&mut bench.train(&["model=yolo9-t", "epochs=2", last]), 4);
    assert!(
        error.contains("yolo9") && error.contains("yolox"),
        "{error}"
    );
    let error = fail(&mut bench.train(&["model=yolox-n", "scheduler=linear"]), 2);
    assert!(error.contains("scheduler=linear"), "{error}");
}

//! Optimizers, frozen layers, and a batch that is found out.

use std::collections::BTreeMap;

use gpurun_train::checkpoint::Checkpoint;
use gpurun_train::optim::Method;
use tch::Tensor;

use crate::support::{Bench, fail, losses, signal, start_until, succeed, wait};

fn weights(bench: &Bench, run: &str) -> BTreeMap<String, Tensor> {
    let last = bench.path(&format!("runs/{run}/weights/last.pt"));
    let training = Checkpoint::read(&last).unwrap().training.unwrap();
    training.train_model.into_iter().collect()
}

#[test]
fn adam_resumes_bit_for_bit() {
    let bench = Bench::with(16, 4);
    let settings = ["epochs=2", "optimizer=adamw", "lr0=0.001", "val=false"];
    succeed(&mut bench.train(&[&settings[..], &["name=whole"]].concat()));
    let child = start_until(
        &mut bench.train(&[&settings[..], &["name=parts"]].concat()),
        "Checkpoint saved",
    );
    signal(&child, "-TERM");
    wait(child);
    let last = bench.path("runs/parts/weights/last.pt");
    let state = Checkpoint::read(&last).unwrap().training.unwrap();
    assert_eq!(state.optimizer.unwrap().method, Method::AdamW);
    succeed(&mut bench.train(&["resume=true", "model=runs/parts/weights/last.pt"]));
    assert_eq!(losses(&bench, "runs/parts"), losses(&bench, "runs/whole"));
    let (parts, whole) = (weights(&bench, "parts"), weights(&bench, "whole"));
    assert!(whole.iter().all(|(name, tensor)| parts[name].equal(tensor)));
    let text = fail(
        &mut bench.train(&[
            "resume=true",
            "model=runs/parts/weights/last.pt",
            "optimizer=sgd",
            "epochs=3",
        ]),
        4,
    );
    assert!(text.contains("optimizer=adamw"), "{text}");
}

#[test]
fn frozen_layers_stay() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1", "name=first", "val=false"]));
    let first = weights(&bench, "first");
    succeed(&mut bench.train(&[
        "epochs=1",
        "name=second",
        "val=false",
        "model=runs/first/weights/last.pt",
        "freeze=10",
        "ema=false",
    ]));
    let second = weights(&bench, "second");
    let before = start(&bench);
    // Counters of batches count those that a frozen layer saw, too; nothing reads them.
    let moved = |prefix: &str| {
        second.iter().any(|(name, tensor)| {
            let is_here = name.starts_with(prefix) && !name.ends_with("num_batches_tracked");
            is_here && !tensor.equal(&before[name])
        })
    };
    assert_eq!(first.len(), second.len());
    assert!(!moved("backbone."), "the backbone is ten groups");
    assert!(moved("neck.") && moved("head."));
    let text = fail(&mut bench.train(&["freeze=nose"]), 2);
    assert!(text.contains("freeze=nose matches no parameter"), "{text}");
    fail(&mut bench.train(&["freeze=all"]), 2);
}

/// What a fine-tune of the first run starts from: its averaged weights.
fn start(bench: &Bench) -> BTreeMap<String, Tensor> {
    let last = bench.path("runs/first/weights/last.pt");
    Checkpoint::read(&last).unwrap().model.into_iter().collect()
}

#[test]
fn a_cpu_cannot_find_its_batch_out() {
    let bench = Bench::with(16, 1);
    succeed(&mut bench.train(&["epochs=1", "batch=-1", "val=false"]));
    let log = std::fs::read_to_string(bench.path("runs/r/train.log")).unwrap();
    assert!(log.contains("batch size 16"), "{log}");
    let config = std::fs::read_to_string(bench.path("runs/r/train_config.yaml")).unwrap();
    assert!(config.contains("batch: 16"), "{config}");
}

#[test]
fn several_processes_share_a_batch_that_was_found_out() {
    let bench = Bench::with(20, 1);
    succeed(&mut bench.train(&["epochs=1", "batch=-1", "val=false", "device=cpu,cpu,cpu"]));
    let config = std::fs::read_to_string(bench.path("runs/r/train_config.yaml")).unwrap();
    assert!(config.contains("batch: 18"), "{config}");
}

#[test]
fn a_profile_measures_and_leaves_nothing() {
    let bench = Bench::new();
    let words = [
        "profile",
        "data=shapes/data.yaml",
        "batch=4",
        "imgsz=64",
        "device=cpu",
    ];
    let mut command = bench.command(&words);
    let json = succeed(command.args(["steps=4", "warmup=1", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["window"]["real_steps"], 2);
    let number = |pointer: &str| report.pointer(pointer).unwrap().as_f64().unwrap();
    let step = number("/real/step_ms");
    assert!(
        (number("/img_per_s") - 4e3 / step).abs() < 0.1 * 4e3 / step,
        "{report}"
    );
    let phases = ["to_device", "forward", "backward", "optimizer"];
    let sum: f64 = phases
        .map(|phase| number(&format!("/composition_ms/{phase}")))
        .iter()
        .sum();
    assert!((sum - number("/composition_total_ms")).abs() < 0.01);
    assert!(["compute", "dataloader"].contains(&report["bound"].as_str().unwrap()));
    assert!(number("/peak_memory_bytes") > 1e7);
    assert_eq!(bench.names("."), ["shapes"]);
}

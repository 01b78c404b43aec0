//! Some classes, or all as one; and steps of several batches.

use gpurun_train::checkpoint::{Checkpoint, TrainingState};

use crate::support::{Bench, fail, losses, signal, start_until, succeed, wait};

fn training(bench: &Bench, run: &str) -> TrainingState {
    let last = bench.path(&format!("runs/{run}/weights/last.pt"));
    Checkpoint::read(&last).unwrap().training.unwrap()
}

#[test]
fn weights_remember_their_classes() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1", "single_cls=true", "classes=0,2"]));
    let last = bench.path("runs/r/weights/last.pt");
    let metadata = Checkpoint::read_metadata(&last).unwrap();
    assert_eq!(metadata.names, ["object"]);
    let config = std::fs::read_to_string(bench.path("runs/r/train_config.yaml")).unwrap();
    for line in ["num_classes: 1\n", "single_cls: true\nclasses:\n- 0\n- 2\n"] {
        assert!(config.contains(line), "{line} is not in {config}");
    }

    // Neither a validation nor a resume has to be told.
    let val = [
        "val",
        "model=runs/r/weights/last.pt",
        "data=shapes/data.yaml",
    ];
    succeed(bench.command(&val).args(["device=cpu", "batch=4"]));
    let resumed = ["model=runs/r/weights/last.pt", "resume=true", "epochs=2"];
    succeed(&mut bench.train(&resumed));
    assert_eq!(losses(&bench, "runs/r").len(), 2);
    assert_eq!(Checkpoint::read_metadata(&last).unwrap().names, ["object"]);
    let text = fail(&mut bench.train(&["classes=3"]), 3);
    assert!(text.contains("no class 3"), "{text}");
}

#[test]
fn a_selection_changes_what_is_learnt() {
    let bench = Bench::new();
    for (name, classes) in [("all", "none"), ("some", "1")] {
        let classes = format!("classes={classes}");
        let name = format!("name={name}");
        succeed(&mut bench.train(&["epochs=1", "val=false", &name, &classes]));
    }
    let last = bench.path("runs/some/weights/last.pt");
    let metadata = Checkpoint::read_metadata(&last).unwrap();
    assert_eq!(metadata.names.len(), 3, "kept classes keep their ids");
    assert_ne!(losses(&bench, "runs/some"), losses(&bench, "runs/all"));
}

#[test]
fn a_step_of_several_batches_is_resumed_whole() {
    // Five batches an epoch: steps of two, two and one.
    let bench = Bench::with(20, 4);
    let settings = ["epochs=2", "nbs=8", "val=false"];
    succeed(&mut bench.train(&[&settings[..], &["name=whole"]].concat()));
    assert_eq!(training(&bench, "whole").ema_updates, Some(2 * 3));
    let child = start_until(
        &mut bench.train(&[&settings[..], &["name=parts"]].concat()),
        "Checkpoint saved",
    );
    signal(&child, "-TERM");
    wait(child);
    if let Some(position) = training(&bench, "parts").position {
        assert!([0, 2, 4, 5].contains(&position.batch), "{position:?}");
    }
    succeed(&mut bench.train(&["resume=true", "model=runs/parts/weights/last.pt"]));
    assert_eq!(losses(&bench, "runs/parts"), losses(&bench, "runs/whole"));
    let (whole, parts) = (training(&bench, "whole"), training(&bench, "parts"));
    let mut tensors = whole.train_model.iter().zip(&parts.train_model);
    assert!(tensors.all(|((_, a), (_, b))| a.equal(b)));
}

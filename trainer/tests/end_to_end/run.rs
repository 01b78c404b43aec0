//! A run that ends normally.

use std::fs;

use gpurun_dataset::{DataConfig, Split, image_size, read_labels};
use gpurun_protocol::status::State;
use gpurun_protocol::summary::Summary;
use gpurun_train::checkpoint::Checkpoint;
use serde_json::{Value, json};

use crate::support::{Bench, is_file, succeed};

#[test]
fn a_run_leaves_all_its_files() {
    let bench = Bench::new();
    let result = succeed(&mut bench.train(&["epochs=2", "save_period=1", "--json"]));
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(
        (&result["status"], &result["epochs_completed"]),
        (&"complete".into(), &2.into())
    );
    assert_eq!(result["last_weights"], "runs/r/weights/last.pt");

    assert_eq!(
        bench.names("runs/r"),
        [
            "metrics.jsonl",
            "results.csv",
            "status.json",
            "summary.json",
            "train.log",
            "train_config.yaml",
            "weights"
        ]
    );
    assert_eq!(
        bench.names("runs/r/weights"),
        ["best.pt", "epoch_1.pt", "epoch_2.pt", "last.pt"]
    );

    let status = bench.status("runs/r");
    assert_eq!(status.state, Some(State::Completed));
    assert_eq!(
        (status.completed_epochs, status.progress),
        (Some(2), Some(1.0))
    );
    assert_eq!(
        status.checkpoints.unwrap().best.as_deref(),
        Some("runs/r/weights/best.pt")
    );
    assert!(status.unknown.is_empty(), "{:?}", status.unknown);

    let history = bench.history("runs/r");
    assert_eq!((history.rows.len(), history.skipped.len()), (2, 0));
    for row in &history.rows {
        let parts: f64 = ["train/box_loss", "train/cls_loss", "train/dfl_loss"]
            .iter()
            .map(|part| row.value(part).unwrap())
            .sum();
        assert!((parts - row.train_loss.unwrap()).abs() < 1e-3, "{row:?}");
        assert!(
            row.value("metrics/mAP50-95").is_some() && row.value("speed/images_seen") == Some(4.0)
        );
        assert!(row.value("lr/group2").unwrap() > 0.0);
    }

    let summary =
        Summary::from_json(&fs::read(bench.path("runs/r/summary.json")).unwrap()).unwrap();
    assert_eq!(
        (summary.completed_epochs, summary.logged_epochs),
        (Some(2), vec![1, 2])
    );
    assert_eq!(summary.results.epoch_losses.len(), 2);
    assert_eq!(
        summary.results.epoch_loss_items[0]
            .keys()
            .collect::<Vec<_>>(),
        ["box", "cls", "dfl"]
    );
    assert_eq!(
        summary.results.epoch_lrs[0].keys().collect::<Vec<_>>(),
        ["group0", "group1", "group2"]
    );

    let config = fs::read_to_string(bench.path("runs/r/train_config.yaml")).unwrap();
    assert!(
        config.starts_with("size: t\nnum_classes: 3\ndata: shapes/data.yaml\n"),
        "{config}"
    );
    let log = fs::read_to_string(bench.path("runs/r/train.log")).unwrap();
    assert!(
        log.contains(" | INFO     | Epoch 2 - Average loss: "),
        "{log}"
    );
}

/// What a loader of LibreYOLO's checkpoints finds in ours.
#[test]
fn weights_hold_the_averages_and_the_training_state() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1"]));
    let checkpoint = Checkpoint::read(&bench.path("runs/r/weights/last.pt")).unwrap();
    assert_eq!(
        checkpoint.metadata.names,
        ["circle", "rectangle", "triangle"]
    );
    assert_eq!(
        (checkpoint.metadata.imgsz, checkpoint.metadata.size.as_str()),
        (64, "t")
    );
    assert_eq!(checkpoint.model.len(), 1770);
    // Three float copies, of which the averages are under two names.
    let size = fs::metadata(bench.path("runs/r/weights/last.pt"))
        .unwrap()
        .len();
    assert!((30_000_000..40_000_000).contains(&size), "{size} bytes");
    let training = checkpoint.training.unwrap();
    assert_eq!(
        (
            training.finished_epochs,
            training.ema_updates,
            training.position
        ),
        (1, Some(2), None)
    );
    assert_eq!(training.config.len(), 92);
    let optimizer = training.optimizer.unwrap();
    let groups: Vec<usize> = optimizer
        .groups
        .iter()
        .map(|group| group.parameters.len())
        .collect();
    assert_eq!(groups, [291, 303, 303]);
    assert_eq!(optimizer.memory.len(), 897);
    let differs = checkpoint
        .model
        .iter()
        .zip(&training.train_model)
        .any(|((_, average), (_, raw))| !average.equal(raw));
    assert!(differs, "the averages are the raw weights");
    let (name, batches) = &training.train_model[5];
    assert_eq!(name, "backbone.conv0.bn.num_batches_tracked");
    assert_eq!(batches.int64_value(&[]), 2);
}

#[test]
fn val_measures_what_the_training_measured() {
    let bench = Bench::with(16, 8);
    succeed(&mut bench.train(&["epochs=3", "lr0=0.02"]));
    let report = succeed(&mut bench.command(&[
        "val",
        "model=runs/r/weights/last.pt",
        "data=shapes/data.yaml",
        "device=cpu",
        "--json",
    ]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["imgsz"], 64);
    let row = bench.history("runs/r").rows.pop().unwrap();
    for metric in ["metrics/mAP50-95", "metrics/mAP50", "metrics/AR100"] {
        let (found, expected) = (
            report["metrics"][metric].as_f64().unwrap(),
            row.value(metric).unwrap(),
        );
        assert!(
            (found - expected).abs() < 1e-6,
            "{metric}: {found}, not {expected}"
        );
    }
}

#[test]
fn weights_start_another_run() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1"]));
    succeed(&mut bench.train(&["epochs=1", "model=runs/r/weights/best.pt", "name=second"]));
    assert!(is_file(&bench.path("runs/second/weights/last.pt")));
    let log = fs::read_to_string(bench.path("runs/second/train.log")).unwrap();
    assert!(log.contains("Starting training"), "{log}");
}

#[test]
fn without_validation_there_is_no_best() {
    let bench = Bench::new();
    succeed(&mut bench.train(&[
        "epochs=1",
        "val=false",
        "ema=false",
        "aux_weight=0",
        "mosaic=0",
        "scheduler=cos",
    ]));
    assert_eq!(bench.names("runs/r/weights"), ["last.pt"]);
    let status = bench.status("runs/r");
    assert_eq!(
        (status.best_epoch, status.state),
        (None, Some(State::Completed))
    );
    let checkpoint = Checkpoint::read(&bench.path("runs/r/weights/last.pt")).unwrap();
    assert_eq!(checkpoint.model.len(), 1338);
}

#[test]
fn bad_items_are_left_out_and_named_once() {
    let bench = Bench::new();
    fs::write(bench.path("shapes/images/train/0003.jpg"), b"no image").unwrap();
    fs::write(
        bench.path("shapes/labels/train/0002.txt"),
        "7 0.5 0.5 0.1 0.1\n0 0.5 0.5 0.2 0.2\n",
    )
    .unwrap();
    succeed(&mut bench.train(&["epochs=2", "val=false", "mosaic=0"]));
    let log = fs::read_to_string(bench.path("runs/r/train.log")).unwrap();
    let named = |what: &str| {
        log.lines()
            .filter(|line| line.contains("left out") && line.contains(what))
            .count()
    };
    assert_eq!((named("0003.jpg"), named("0002.txt:1")), (1, 1), "{log}");
    let summary = fs::read(bench.path("runs/r/summary.json")).unwrap();
    assert_eq!(Summary::from_json(&summary).unwrap().left_out, Some(2));
}

#[test]
fn runs_with_one_name_get_two_folders() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1", "val=false"]));
    succeed(&mut bench.train(&["epochs=1", "val=false"]));
    assert_eq!(bench.names("runs"), ["r", "r2"]);
}

/// The same boxes, once in text files and once in COCO's form, teach the same.
#[test]
fn a_coco_file_is_as_good_as_text_files() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1", "name=text"]));
    let data = DataConfig::load(&bench.path("shapes/data.yaml")).unwrap();
    for split in [Split::Train, Split::Val] {
        let (mut images, mut annotations) = (vec![], vec![]);
        for (id, sample) in data.samples(split).unwrap().iter().enumerate() {
            let (width, height) = image_size(&sample.image).unwrap();
            let name = sample.image.file_name().unwrap().to_str().unwrap();
            images.push(json!({"id": id, "file_name": name, "width": width, "height": height}));
            for label in read_labels(&sample.label, 3).unwrap().boxes {
                let [x1, y1, x2, y2] = label.corners(width, height);
                let bbox = [x1, y1, x2 - x1, y2 - y1];
                annotations
                    .push(json!({"image_id": id, "category_id": label.class + 1, "bbox": bbox}));
            }
        }
        let categories: Vec<Value> = data
            .names
            .iter()
            .zip(1..)
            .map(|(name, id)| json!({"id": id, "name": name}))
            .collect();
        let file = json!({"images": images, "annotations": annotations, "categories": categories});
        let path = bench.path(&format!("shapes/{}.json", split.as_str()));
        fs::write(path, file.to_string()).unwrap();
    }
    fs::rename(bench.path("shapes/labels"), bench.path("shapes/gone")).unwrap();
    let yaml =
        "train: images/train\nval: images/val\nannotations: {train: train.json, val: val.json}\n";
    fs::write(bench.path("shapes/coco.yaml"), yaml).unwrap();
    succeed(&mut bench.train(&[
        "epochs=1",
        "name=coco",
        "data=shapes/coco.yaml",
        "cache=ram",
    ]));
    let loss = |run: &str| bench.history(run).rows[0].train_loss.unwrap();
    let (coco, text) = (loss("runs/coco"), loss("runs/text"));
    // The corners pass through pixels and back.
    assert!((coco / text - 1.0).abs() < 1e-3, "{coco} {text}");
}

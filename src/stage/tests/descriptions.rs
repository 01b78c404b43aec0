//! What a description says, and what its copy says.

use super::{Ground, pack};
use gpurun_dataset::{DataConfig, Split};
use std::fs;

#[test]
fn a_path_key_is_written_out_of_the_copy_only() {
    let ground = Ground::new();
    let original = format!(
        "path: .\ntrain: images/train\nval: [{}/images/val]\nnames: {{0: 'a: b', 1: \"c\", 2: d}}\n",
        ground.set().display()
    );
    ground.describe(&original);
    ground.put(&ground.set()).expect("it can travel");
    assert_eq!(
        fs::read_to_string(ground.set().join("data.yaml")).expect("there"),
        original
    );
    let text = fs::read_to_string(ground.dest().join("data.yaml")).expect("there");
    assert!(!text.contains("path:"), "{text}");
    let before = DataConfig::load(&ground.set()).expect("the original");
    let after = DataConfig::load(&ground.dest()).expect("the copy");
    assert_eq!(after.names, before.names);
    for split in [Split::Train, Split::Val] {
        let names = |config: &DataConfig| -> Vec<_> {
            let samples = config.samples(split).expect("the images are there");
            samples
                .iter()
                .map(|sample| sample.image.file_name().map(ToOwned::to_owned))
                .collect()
        };
        assert!(!names(&after).is_empty());
        assert_eq!(names(&after), names(&before));
    }
    assert_eq!(after.root, ground.dest());
}

#[test]
fn a_description_that_lies_elsewhere_comes_along() {
    let ground = Ground::new();
    let config = ground.0.path().join("configs/cells.yaml");
    fs::create_dir(config.parent().expect("a parent")).expect("made");
    let text = "path: ../set\ntrain: images/train\nval: images/val\nnames: [a, b, c]\n";
    fs::write(&config, text).expect("written");
    let packed = pack(&config).expect("it can travel");
    assert_eq!(packed.config, "gpurun-data.yaml");
    ground.put(&config).expect("room for it");
    let copy = DataConfig::load(&ground.dest().join(packed.config)).expect("the copy");
    assert_eq!(
        copy.samples(Split::Val)
            .expect("the images are there")
            .len(),
        2
    );
}

#[test]
fn what_leads_out_of_the_data_set_is_refused_with_its_place() {
    let ground = Ground::new();
    for (yaml, expected) in [
        (
            "train: ../other\nval: images/val\nnames: [a]\n",
            "'train' leads to",
        ),
        (
            "train: /abs/images\nval: images/val\nnames: [a]\n",
            "'train' leads to /abs/images",
        ),
        (
            "train: images/train\nval: list.txt\nnames: [a]\n",
            "list.txt:3: /abs/x.jpg",
        ),
        (
            "train: images/train\nval: up.txt\nnames: [a]\n",
            "up.txt:1: ../x.jpg",
        ),
    ] {
        ground.describe(yaml);
        fs::write(
            ground.set().join("list.txt"),
            "images/a.jpg\n# /abs/no.jpg\n/abs/x.jpg\n",
        )
        .expect("written");
        fs::write(ground.set().join("up.txt"), "../x.jpg\n").expect("written");
        let error = pack(&ground.set()).expect_err(yaml);
        assert!(error.message.contains(expected), "{error}");
    }
}

use std::fs;

use super::*;
use crate::ClassSelection;

/// A folder with empty files, a text for `data.yaml`, and COCO files that name one image each.
fn dataset(yaml: &str, files: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("writable");
        let text = match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("json") => {
                r#"{"images": [{"id": 1, "file_name": "coco.jpg", "width": 10, "height": 10}],
                    "categories": [{"id": 4, "name": "b"}, {"id": 2, "name": "a"}],
                    "annotations": [{"image_id": 1, "category_id": 4, "bbox": [0, 0, 5, 5]}]}"#
            }
            Some("txt") => "0 0.5 0.5 0.5 0.5\n1 0.5 0.5 0.2 0.2\n5 0.5 0.5 0.2 0.2\n",
            _ => "",
        };
        fs::write(path, text).expect("writable");
    }
    fs::write(dir.path().join("data.yaml"), yaml).expect("writable");
    dir
}

/// The images of a split below the folder.
fn images(dir: &tempfile::TempDir, split: Split) -> Vec<String> {
    let config = DataConfig::load(dir.path()).expect("a dataset");
    let samples = config.samples(split).expect("listed");
    let below = |sample: &Sample| {
        let below = sample.image.strip_prefix(dir.path()).expect("below");
        below.display().to_string()
    };
    samples.iter().map(below).collect()
}

#[test]
fn cocos_own_names_are_found_without_being_named() {
    let files = [
        "annotations/instances_train2017.json",
        "annotations/instances_val.json",
        "images/val/x.jpg",
        "images/test/y.jpg",
    ];
    let dir = dataset("train: nowhere\nval: images/val\nnames: [a, b]\n", &files);
    assert_eq!(images(&dir, Split::Train), ["train2017/coco.jpg"]);
    assert_eq!(images(&dir, Split::Val), ["images/val/coco.jpg"]);
    assert_eq!(images(&dir, Split::Test), ["images/test/y.jpg"]);

    // The first file names the classes where the description doesn't.
    let dir = dataset("train: nowhere\n", &files);
    let config = DataConfig::load(dir.path()).expect("a dataset");
    assert_eq!(config.names, ["a", "b"]);
}

#[test]
fn images_of_its_own_come_before_cocos_names_in_training_alone() {
    let files = [
        "annotations/instances_train2017.json",
        "annotations/instances_val2017.json",
        "images/train/x.jpg",
        "images/val2017/x.jpg",
    ];
    let yaml = "train: images/train\nval: images/val2017\nnames: [a, b]\n";
    let dir = dataset(yaml, &files);
    assert_eq!(images(&dir, Split::Train), ["images/train/x.jpg"]);
    assert_eq!(images(&dir, Split::Val), ["images/val2017/coco.jpg"]);
}

#[test]
fn a_missing_entry_is_named() {
    let dir = dataset("train: nowhere\nnames: [a]\n", &[]);
    let config = DataConfig::load(dir.path()).expect("a dataset");
    let error = config.read(Split::Train).expect_err("nothing there");
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert_eq!(config.read(Split::Val).expect("none").samples, []);
}

#[test]
fn selected_classes_alone_have_boxes() {
    let files = [
        "images/a.jpg",
        "labels/a.txt",
        "annotations/instances_val.json",
    ];
    let dir = dataset("train: images\nnames: [a, b]\n", &files);
    // The ids of a split's first image, and its number of bad lines.
    let ids = |split, classes: &[usize], single| {
        let config = DataConfig::load(dir.path()).expect("a dataset");
        let selection = ClassSelection {
            classes: classes.to_vec(),
            single,
        };
        let config = config.select(selection).expect("known classes");
        let data = config.read(split).expect("readable");
        let labels = data.annotations.labels(&data.samples[0], config.nc);
        let labels = labels.expect("readable");
        let ids: Vec<_> = labels.boxes.iter().map(|label| label.class).collect();
        (config.names, ids, labels.issues.len())
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let (all, one) = (names(&["a", "b"]), names(&["object"]));
    assert_eq!(ids(Split::Train, &[], false), (all.clone(), vec![0, 1], 1));
    assert_eq!(ids(Split::Train, &[1], false), (all.clone(), vec![1], 0));
    assert_eq!(
        ids(Split::Train, &[], true),
        (one.clone(), vec![0, 0, 0], 0)
    );
    assert_eq!(ids(Split::Train, &[1], true), (one.clone(), vec![0], 0));
    assert_eq!(ids(Split::Val, &[0], false), (all.clone(), vec![], 0));
    assert_eq!(ids(Split::Val, &[1], false), (all, vec![1], 0));
    assert_eq!(ids(Split::Val, &[1], true), (one, vec![0], 0));
}

#[test]
fn a_class_that_is_not_there_cannot_be_selected() {
    let dir = dataset("train: images\nnames: [a, b]\n", &[]);
    let config = DataConfig::load(dir.path()).expect("a dataset");
    let selection = ClassSelection {
        classes: vec![0, 2],
        single: false,
    };
    let error = config.select(selection).expect_err("class 2");
    assert!(error.to_string().contains("class 2"), "{error}");
}

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::shapes::{ShapesConfig, generate};

fn options() -> CheckOptions {
    CheckOptions {
        threads: 2,
        ..CheckOptions::default()
    }
}

fn checked(dir: &Path) -> Report {
    check(dir, &options()).expect("a dataset")
}

/// A sound dataset to break: 4 train and 2 val images.
fn sound() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    generate(
        dir.path(),
        ShapesConfig {
            train: 4,
            val: 2,
            size: 64,
            seed: 1,
        },
    )
    .expect("writable");
    dir
}

fn label(dir: &Path) -> PathBuf {
    dir.join("labels/train/0001.txt")
}

fn found<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let finding = report.findings.iter().find(|finding| finding.id == id);
    finding.unwrap_or_else(|| panic!("no {id} in {:#?}", report.findings))
}

#[test]
fn a_sound_dataset_is_usable() {
    let dir = sound();
    let report = checked(dir.path());
    // So few images can't be balanced, and shapes on plain ground look alike.
    let about_content = [
        "balance.",
        "images.near",
        "images.uniform",
        "splits.leakage_near",
    ];
    for finding in &report.findings {
        let is_content = about_content
            .iter()
            .any(|start| finding.id.starts_with(start));
        assert!(is_content, "{finding:#?}");
    }
    assert!(report.is_usable());
    let train = report
        .stats
        .split(crate::Split::Train)
        .expect("it is there");
    let val = report.stats.split(crate::Split::Val).expect("it is there");
    assert_eq!((train.images, val.images), (4, 2));
    let counts = report.stats.train_instance_counts.iter();
    assert_eq!(
        counts.map(|(_, count)| *count as usize).sum::<usize>(),
        train.instances
    );
    assert!(report.stats.bytes > 1000 && report.stats.images_scanned);
}

#[test]
fn every_bad_line_is_named_with_file_and_line() {
    let dir = sound();
    let text = "0 0.5 0.5\n9 0.5 0.5 0.1 0.1\n0 320 240 50 50\n0 0.9 0.5 0.4 0.1\n0 0.5 0.5 0 0.1\n\
                0 0.1 0.1 0.2 0.1 0.2 0.2\n";
    fs::write(label(dir.path()), text).expect("writable");
    let report = checked(dir.path());
    for (id, severity, line) in [
        ("labels.syntax", Severity::Error, 1),
        ("labels.class_out_of_range", Severity::Error, 2),
        ("labels.degenerate_box", Severity::Error, 5),
        ("labels.polygon_line", Severity::Info, 6),
    ] {
        let finding = found(&report, id);
        assert_eq!(finding.severity, severity, "{id}");
        assert_eq!(
            finding.places,
            [Place {
                path: label(dir.path()),
                line: Some(line)
            }],
            "{id}"
        );
        assert_eq!(finding.count, Some(1));
        assert!(!finding.remedy.is_empty());
    }
    let ranges: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.id == "labels.coords_out_of_range")
        .collect();
    assert_eq!(
        ranges
            .iter()
            .map(|finding| finding.severity)
            .collect::<Vec<_>>(),
        [Severity::Error, Severity::Warning]
    );
    assert_eq!(
        ranges
            .iter()
            .map(|finding| finding.places[0].line)
            .collect::<Vec<_>>(),
        [Some(3), Some(4)]
    );
    assert!(
        found(&report, "labels.syntax").places[0]
            .to_string()
            .ends_with("0001.txt:1")
    );
}

#[test]
fn broken_images_are_found_where_images_are_read() {
    let dir = sound();
    let images = dir.path().join("images/train");
    let cut = images.join("0002.jpg");
    let bytes = fs::read(&cut).expect("readable");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("writable");
    fs::write(images.join("0003.jpg"), "").expect("writable");
    let report = checked(dir.path());
    let corrupt = found(&report, "images.corrupt");
    assert_eq!(corrupt.count, Some(2));
    assert!(
        corrupt.message.contains("0003.jpg (the file is empty)"),
        "{}",
        corrupt.message
    );
    assert!(!report.is_usable());
    let labels_only = CheckOptions {
        selection: CheckSelection::default()
            .without_images()
            .expect("many are left"),
        ..options()
    };
    let report = check(dir.path(), &labels_only).expect("a dataset");
    assert!(report.is_usable() && !report.stats.images_scanned);
    assert!(report.skipped_checks.contains(&"images.corrupt"));
}

#[test]
fn missing_and_misplaced_files_are_found() {
    let dir = sound();
    fs::remove_file(label(dir.path())).expect("there");
    fs::write(
        dir.path().join("labels/train/lost.txt"),
        "0 0.5 0.5 0.1 0.1\n",
    )
    .expect("writable");
    fs::write(dir.path().join("images/train/readme.md"), "").expect("writable");
    fs::copy(
        dir.path().join("images/train/0000.jpg"),
        dir.path().join("images/train/0000.jpeg"),
    )
    .expect("copied");
    let report = checked(dir.path());
    assert!(report.is_usable(), "{:#?}", report.findings);
    assert_eq!(
        found(&report, "files.missing_label").severity,
        Severity::Info
    );
    assert!(
        found(&report, "files.orphan_label").places[0]
            .path
            .ends_with("lost.txt")
    );
    assert!(
        found(&report, "files.unsupported_ext").places[0]
            .path
            .ends_with("readme.md")
    );
    assert_eq!(found(&report, "files.case_collision").count, Some(1));
    let train = report
        .stats
        .split(crate::Split::Train)
        .expect("it is there");
    assert_eq!(train.background, 1);
}

#[test]
fn a_list_that_names_what_is_not_there() {
    let dir = sound();
    fs::write(
        dir.path().join("train.txt"),
        "images/train/0000.jpg\nimages/train/nope.jpg\n",
    )
    .expect("writable");
    fs::write(
        dir.path().join("data.yaml"),
        "train: train.txt\nval: images/val\nnc: 4\nnames: [a, b, b]\n",
    )
    .expect("writable");
    let report = checked(dir.path());
    assert_eq!(found(&report, "files.missing_image").count, Some(1));
    assert_eq!(
        found(&report, "config.nc_names_mismatch").severity,
        Severity::Error
    );
    assert_eq!(
        found(&report, "config.duplicate_names").severity,
        Severity::Warning
    );
    assert!(
        found(&report, "balance.class_zero_instances")
            .message
            .contains("class 3")
    );
}

#[test]
fn wrong_paths_are_found_with_a_remedy() {
    let dir = sound();
    fs::create_dir(dir.path().join("empty")).expect("writable");
    fs::write(
        dir.path().join("data.yaml"),
        "train: [../images/train, empty]\nnames: [a]\n",
    )
    .expect("writable");
    let report = checked(dir.path());
    let paths: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.id == "config.path_not_found")
        .collect();
    assert_eq!(paths.len(), 2);
    assert!(
        paths[0].remedy.contains("write 'images/train'"),
        "{}",
        paths[0].remedy
    );
    assert_eq!(
        found(&report, "config.missing_split").severity,
        Severity::Warning
    );
}

#[test]
fn labels_that_lie_nowhere_keep_from_launching() {
    let dir = sound();
    fs::rename(dir.path().join("labels"), dir.path().join("annotations")).expect("movable");
    assert!(checked(dir.path()).is_usable(), "as LibreYOLO has it");
    let report = check_for_launch(dir.path(), &options());
    assert_eq!(
        found(&report, "balance.no_instances").severity,
        Severity::Error
    );
}

#[test]
fn what_is_no_dataset_keeps_from_launching() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let report = check_for_launch(&dir.path().join("data.yaml"), &options());
    assert_eq!(
        found(&report, "config.unreadable").severity,
        Severity::Error
    );
    assert!(!report.is_usable());
}

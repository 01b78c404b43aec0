//! The check on a real dataset: blood cells, 364 photographs.

use std::path::PathBuf;

use gpurun_dataset::check::{CheckOptions, Severity, check};
use gpurun_dataset::{DataConfig, Split, decode_rgb, image_size};

/// The material beside the repository, when it is there.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
fn bccd() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    let shared = std::env::var_os("GPURUN_SHARED").map_or(beside, PathBuf::from);
    let data = shared.join("data/bccd");
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("skipped: {} is not there", data.display());
    None
}

#[test]
fn blood_cells_pass_the_check() {
    let Some(data) = bccd() else { return };
    let report = check(&data, &CheckOptions::default()).expect("a dataset");
    assert_eq!(report.count(Severity::Error), 0, "{:#?}", report.findings);
    let images = |split| report.stats.split(split).map(|stats| stats.images);
    assert_eq!(
        [
            images(Split::Train),
            images(Split::Val),
            images(Split::Test)
        ],
        [Some(205), Some(87), Some(72)]
    );
    let (name, count) = &report.stats.train_instance_counts[0];
    assert!(name == "RBC" && *count > 1000, "{name}: {count}");
}

#[test]
fn headers_and_pixels_agree_on_the_size() {
    let Some(data) = bccd() else { return };
    let config = DataConfig::load(&data).expect("a dataset");
    for sample in config.samples(Split::Test).expect("listed").iter().take(8) {
        let decoded = decode_rgb(&sample.image).expect("decodes");
        assert_eq!(
            image_size(&sample.image).expect("has a header"),
            (decoded.width, decoded.height)
        );
    }
}

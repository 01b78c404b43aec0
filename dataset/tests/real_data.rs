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
    let report = check(&data, CheckOptions::default());
    assert_eq!(report.count(Severity::Error), 0, "{:#?}", report.findings);
    let images = |split| report.stats.splits[&split].images;
    assert_eq!(
        [
            images(Split::Train),
            images(Split::Val),
            images(Split::Test)
        ],
        [205, 87, 72]
    );
    assert_eq!(report.stats.classes[0].name, "RBC");
    assert!(report.stats.classes[0].train_instances > 1000);
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

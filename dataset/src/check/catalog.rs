//! The checks by name, in the order in which they are known.

use super::report::Finding;
use super::scan::Scan;
use super::{balance, config, files, images, labels, splits};

/// One check: a pure function from what was read to what is wrong.
pub(super) struct Check {
    /// `family.name`; one finding's id is its check's.
    pub(super) id: &'static str,
    /// Whether it needs the content of the images.
    pub(super) needs_images: bool,
    pub(super) run: fn(&Scan) -> Vec<Finding>,
}

const fn of_text(id: &'static str, run: fn(&Scan) -> Vec<Finding>) -> Check {
    Check {
        id,
        needs_images: false,
        run,
    }
}

const fn of_images(id: &'static str, run: fn(&Scan) -> Vec<Finding>) -> Check {
    Check {
        id,
        needs_images: true,
        run,
    }
}

/// All of them: those of LibreYOLO 1.6.0's doctor.
pub(super) const CATALOG: [Check; 36] = [
    of_text(
        "balance.class_zero_instances",
        balance::class_zero_instances,
    ),
    of_text("balance.class_few_instances", balance::class_few_instances),
    of_text("balance.imbalance", balance::imbalance),
    of_text("balance.split_coverage", balance::split_coverage),
    of_text("balance.background_ratio", balance::background_ratio),
    of_text("balance.split_skew", balance::split_skew),
    of_text("config.missing_names", config::missing_names),
    of_text("config.nc_names_mismatch", config::nc_names_mismatch),
    of_text("config.missing_split", config::missing_split),
    of_text("config.path_not_found", config::path_not_found),
    of_text("config.duplicate_names", config::duplicate_names),
    of_text("files.missing_label", files::missing_label),
    of_text("files.missing_image", files::missing_image),
    of_text("files.orphan_label", files::orphan_label),
    of_text("files.unsupported_ext", files::unsupported_ext),
    of_text("files.case_collision", files::case_collision),
    of_images("images.corrupt", images::corrupt),
    of_images("images.exif_orientation", images::exif_orientation),
    of_images("images.odd_mode", images::odd_mode),
    of_images("images.tiny_or_extreme", images::tiny_or_extreme),
    of_images("images.uniform", images::uniform),
    of_images("images.exact_duplicates", images::exact_duplicates),
    of_images("images.near_duplicates", images::near_duplicates),
    of_images("splits.leakage_exact", splits::leakage_exact),
    of_images("splits.leakage_near", splits::leakage_near),
    of_text("labels.syntax", labels::syntax),
    of_text("labels.polygon_line", labels::polygon_line),
    of_text("labels.class_out_of_range", labels::class_out_of_range),
    of_text("labels.coords_out_of_range", labels::coords_out_of_range),
    of_text("labels.degenerate_box", labels::degenerate_box),
    of_text("labels.tiny_object", labels::tiny_object),
    of_text("labels.huge_box", labels::huge_box),
    of_text("labels.extreme_aspect", labels::extreme_aspect),
    of_text("labels.duplicate_box", labels::duplicate_box),
    of_text("labels.crowded_image", labels::crowded_image),
    of_text("labels.identical_files", labels::identical_files),
];

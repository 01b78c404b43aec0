//! Object-detection datasets in YOLO layout.
//!
//! A dataset is a `data.yaml` beside folders of images and of label files with one box a line. This
//! crate reads that layout ([`DataConfig`], [`read_labels`]), reads image sizes and pixels
//! ([`image_size`], [`decode_rgb`]), finds what is wrong before a GPU is paid for ([`check`](check::check)),
//! and draws a small learnable set of its own ([`shapes`]).
//!
//! It needs no tensor library and starts no runtime, so that the command line and the trainer can both use it.

mod annotations;
mod config;
mod error;
mod file;
mod image_file;
mod label;
mod read;
mod selection;
mod split;

pub mod check;
pub mod shapes;

pub use annotations::{Annotations, CocoBox, SplitData};
pub use config::DataConfig;
pub use error::Error;
pub use image_file::{RgbImage, decode_rgb, decode_rgb_bytes, image_size};
pub use label::{
    Label, LabelIssue, LabelIssueKind, LabelLine, Labels, parse_label_line, read_labels,
};
pub use selection::ClassSelection;
pub use split::{IMAGE_SUFFIXES, Sample, Split, label_path};

/// What every fallible function here returns.
pub type Result<T> = std::result::Result<T, Error>;

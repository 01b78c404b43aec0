//! Batches: images decoded, augmented, letterboxed and collected on threads.
//!
//! The recipe is LibreYOLO's for YOLO9, step by step: shrink to fit, mosaic with random affine until the last
//! epochs, HSV jitter, mirroring, letterbox. Pixels follow OpenCV's bilinear resize to the last bit or one off
//! it. Every sample draws from a generator of its own, seeded by (seed, epoch, index), so neither the number
//! of threads nor their timing changes a batch.

mod affine;
mod cache;
mod epoch;
mod hsv;
mod letterbox;
mod loader;
mod maker;
mod mixup;
mod mosaic;
mod random;
mod resample;
mod skips;
mod transform;

pub use epoch::{Batch, Epoch, ImageInfo};
pub use letterbox::{Letterbox, Padding};
pub use loader::{Loader, LoaderConfig};
pub use skips::Skip;
pub use transform::AugmentConfig;

/// What fills a canvas where there is no image.
pub const FILL: u8 = 114;

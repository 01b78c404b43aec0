//! The images of a dataset, decoded and shrunk to fit; kept in memory as far as a limit allows.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gpurun_dataset::{Label, RgbImage, decode_rgb};

use super::letterbox::{Letterbox, Padding};
use super::resample::resize;
use super::skips::Skips;
use super::transform::PixelBox;

/// An image scaled so that it just fits the canvas, without any padding.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub image: RgbImage,
    /// Of the file.
    pub original: (u32, u32),
}

impl Fitted {
    /// Labels in pixels of the scaled image.
    pub(super) fn boxes(&self, labels: &[Label], canvas: (u32, u32)) -> Vec<PixelBox> {
        let ratio = Letterbox::fit(self.original, canvas, Padding::TopLeft).ratio as f32;
        let scale = |label: &Label| {
            let corners = label.corners(self.original.0, self.original.1);
            PixelBox {
                class: label.class,
                corners: corners.map(|edge| edge as f32 * ratio),
            }
        };
        labels.iter().map(scale).collect()
    }
}

/// Loads images by index.
pub(super) struct ImageCache {
    slots: Vec<Slot>,
    free_bytes: AtomicU64,
}

#[derive(Default)]
struct Slot {
    kept: OnceLock<Arc<Fitted>>,
    is_bad: AtomicBool,
}

impl ImageCache {
    /// For `images` images of which up to `bytes` bytes of pixels are kept.
    pub(super) fn new(images: usize, bytes: u64) -> Self {
        Self {
            slots: (0..images).map(|_| Slot::default()).collect(),
            free_bytes: AtomicU64::new(bytes),
        }
    }

    /// The image, from memory or from its file; `None` when it can't be decoded, which is noted once.
    pub(super) fn load(
        &self,
        index: usize,
        path: &Path,
        canvas: (u32, u32),
        skips: &Skips,
    ) -> Option<Arc<Fitted>> {
        let slot = &self.slots[index];
        if let Some(kept) = slot.kept.get() {
            return Some(Arc::clone(kept));
        }
        if slot.is_bad.load(Ordering::Relaxed) {
            return None;
        }
        let decoded = match decode_rgb(path) {
            Ok(decoded) => decoded,
            Err(error) => {
                slot.is_bad.store(true, Ordering::Relaxed);
                skips.add(path, None, error.to_string());
                return None;
            }
        };
        let original = (decoded.width, decoded.height);
        let fit = Letterbox::fit(original, canvas, Padding::TopLeft);
        let image = if (fit.width, fit.height) == original {
            decoded
        } else {
            resize(&decoded, fit.width, fit.height)
        };
        let fitted = Arc::new(Fitted { image, original });
        if self.reserve(fitted.image.pixels.len() as u64) {
            // When two threads load the same image at once, the loser's bytes stay reserved: a little is lost.
            let _ = slot.kept.set(Arc::clone(&fitted));
        }
        Some(fitted)
    }

    fn reserve(&self, bytes: u64) -> bool {
        self.free_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                free.checked_sub(bytes)
            })
            .is_ok()
    }
}

//! What a thread of an epoch does.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use fastrand::Rng;

use super::epoch::{Batch, ImageInfo};
use super::letterbox::Letterbox;
use super::loader::Shared;
use super::mixup::{Overlay, mix};
use super::mosaic::{Tile, compose, random_centre};
use super::random;
use super::transform::{augment, letterbox};

/// Makes the batches of one thread.
pub(super) struct Maker {
    pub shared: Arc<Shared>,
    pub epoch: usize,
}

impl Maker {
    /// Makes the batches of these numbers until all are sent or nobody wants them any more.
    pub(super) fn run(
        &self,
        order: &[usize],
        batches: impl Iterator<Item = usize>,
        sender: &SyncSender<Option<Batch>>,
    ) {
        let size = self.shared.config.batch;
        for batch in batches {
            let whole = &order[batch * size..order.len().min((batch + 1) * size)];
            let share = &whole[self.shared.config.shard.of(whole.len())];
            if sender.send(self.batch(share)).is_err() {
                return;
            }
        }
    }

    fn batch(&self, indices: &[usize]) -> Option<Batch> {
        let (width, height) = self.shared.canvas().size;
        let bytes = 3 * width as usize * height as usize;
        let mut images = vec![0; bytes * indices.len()];
        let (mut targets, mut infos) = (Vec::new(), Vec::new());
        for index in indices {
            let out = &mut images[infos.len() * bytes..][..bytes];
            if let Some((found, info)) = self.sample(*index, out) {
                targets.push(found);
                infos.push(info);
            }
        }
        images.truncate(bytes * infos.len());
        (!infos.is_empty()).then_some(Batch {
            images,
            height,
            width,
            targets,
            infos,
        })
    }

    /// Writes one image; `None` when it can't be decoded.
    fn sample(&self, index: usize, out: &mut [u8]) -> Option<(Vec<[f32; 5]>, ImageInfo)> {
        let canvas = self.shared.canvas();
        let first = self.load(index)?;
        let info = ImageInfo {
            image_id: index,
            original: first.fitted.original,
            letterbox: Letterbox::fit(first.fitted.original, canvas.size, canvas.padding),
        };
        let Some(config) = &self.shared.config.augment else {
            return Some((
                letterbox(&first.fitted.image, &first.boxes, canvas, out),
                info,
            ));
        };
        let mut random = random::for_sample(self.shared.config.seed, self.epoch, index);
        if self.epoch >= config.mosaic_until || random.f64() >= config.mosaic {
            let targets = augment(
                &first.fitted.image,
                &first.boxes,
                config,
                canvas,
                &mut random,
                out,
            );
            return Some((targets, info));
        }
        let centre = random_centre(canvas.size, &mut random);
        let partners = [(); 3].map(|()| self.partner(&mut random));
        let [second, third, fourth] = partners.map(|index| self.load(index));
        let tiles = [
            Some(&first),
            second.as_ref(),
            third.as_ref(),
            fourth.as_ref(),
        ];
        let (mut image, mut boxes) = compose(tiles, centre, canvas.size, config, &mut random);
        if !boxes.is_empty() && random.f64() < config.mixup {
            let partner = self.partner(&mut random);
            let has_boxes = !self.shared.entries[partner].labels.is_empty();
            if let Some(partner) = self.load(partner).filter(|_| has_boxes) {
                let overlay = Overlay::random(canvas.size, config.mixup_scale, &mut random);
                mix(&mut image, &mut boxes, &partner, overlay);
            }
        }
        Some((
            augment(&image, &boxes, config, canvas, &mut random, out),
            info,
        ))
    }

    /// Draws an image, one with boxes if a few tries find any.
    fn partner(&self, random: &mut Rng) -> usize {
        const TRIES: usize = 20;
        let mut index = 0;
        for _ in 0..TRIES {
            index = random.usize(..self.shared.entries.len());
            if !self.shared.entries[index].labels.is_empty() {
                break;
            }
        }
        index
    }

    /// An image and its boxes in pixels, fitted to the canvas; `None` when it can't be decoded.
    fn load(&self, index: usize) -> Option<Tile> {
        let size = self.shared.canvas().size;
        let entry = &self.shared.entries[index];
        let fitted = self
            .shared
            .images
            .load(index, &entry.image, size, &self.shared.skips)?;
        let boxes = fitted.boxes(&entry.labels, size);
        Some(Tile { fitted, boxes })
    }
}

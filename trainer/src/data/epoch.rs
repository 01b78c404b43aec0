//! One pass over the dataset: threads make batches, the iterator hands them out in order.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use fastrand::Rng;

use super::letterbox::Letterbox;
use super::loader::Shared;
use super::mosaic::{Tile, compose, random_centre};
use super::random;
use super::transform::{AugmentConfig, augment, letterbox};

/// Some images and their targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// `len * 3 * height * width` bytes: of each image all red, then all green, then all blue, rows from the top.
    pub images: Vec<u8>,
    /// Of the canvas, in pixels.
    pub height: u32,
    /// Of the canvas, in pixels.
    pub width: u32,
    /// For each image `[class, x1, y1, x2, y2]`, corners normalised to the canvas.
    pub targets: Vec<Vec<[f32; 5]>>,
    /// For each image where it came from.
    pub infos: Vec<ImageInfo>,
}

impl Batch {
    /// Number of images; smaller than asked for when some can't be decoded, never 0.
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Never true for a batch of an [`Epoch`].
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }
}

/// Where an image of a batch came from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageInfo {
    /// Position in the samples of the loader.
    pub image_id: usize,
    /// Of the file, `(width, height)`.
    pub original: (u32, u32),
    /// How it was fitted into the canvas. Of a mosaic, this is the fit of its first image.
    pub letterbox: Letterbox,
}

/// The batches of one epoch, in an order that depends on the seed and the epoch alone.
///
/// Batch `k` is made by thread `k mod threads`; each has a bounded channel, so memory is bounded and no batch
/// has to wait in a heap of early ones. Dropping the iterator ends the threads after the sample in hand.
pub struct Epoch {
    receivers: Vec<Receiver<Option<Batch>>>,
    threads: Vec<JoinHandle<()>>,
    next: usize,
    batches: usize,
}

impl Epoch {
    pub(super) fn start(shared: Arc<Shared>, epoch: usize, batches: usize) -> Self {
        let mut order: Vec<usize> = (0..shared.entries.len()).collect();
        if shared.config.shuffle {
            random::for_order(shared.config.seed, epoch).shuffle(&mut order);
        }
        let order: Arc<[usize]> = order.into();
        let threads = shared.config.threads.min(batches);
        let (mut receivers, mut handles) = (Vec::new(), Vec::new());
        for thread in 0..threads {
            let (sender, receiver) = sync_channel(shared.config.prefetch);
            let maker = Maker {
                shared: Arc::clone(&shared),
                epoch,
            };
            let order = Arc::clone(&order);
            let work = move || maker.run(&order, (thread..batches).step_by(threads), &sender);
            receivers.push(receiver);
            handles.push(
                thread::Builder::new()
                    .name(format!("loader-{thread}"))
                    .spawn(work)
                    .expect("threads can be started"),
            );
        }
        Self {
            receivers,
            threads: handles,
            next: 0,
            batches,
        }
    }

    fn join(&mut self) {
        self.receivers.clear();
        for thread in self.threads.drain(..) {
            let Err(panic) = thread.join() else { continue };
            if !thread::panicking() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Iterator for Epoch {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        while self.next < self.batches {
            let thread = self.next % self.receivers.len();
            self.next += 1;
            match self.receivers[thread].recv() {
                Ok(Some(batch)) => return Some(batch),
                // No image of it can be decoded.
                Ok(None) => {}
                Err(_) => {
                    // The thread is gone without having been told to: its panic is passed on.
                    self.next = self.batches;
                    self.join();
                }
            }
        }
        None
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.join();
    }
}

/// Makes the batches of one thread.
struct Maker {
    shared: Arc<Shared>,
    epoch: usize,
}

impl Maker {
    fn run(
        &self,
        order: &[usize],
        batches: impl Iterator<Item = usize>,
        sender: &SyncSender<Option<Batch>>,
    ) {
        let size = self.shared.config.batch;
        for batch in batches {
            let indices = &order[batch * size..order.len().min((batch + 1) * size)];
            if sender.send(self.batch(indices)).is_err() {
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
        let entry = &self.shared.entries[index];
        let fitted =
            self.shared
                .images
                .load(index, &entry.image, canvas.size, &self.shared.skips)?;
        let info = ImageInfo {
            image_id: index,
            original: fitted.original,
            letterbox: Letterbox::fit(fitted.original, canvas.size, canvas.padding),
        };
        let boxes = fitted.boxes(&entry.labels, canvas.size);
        let Some(config) = &self.shared.config.augment else {
            return Some((letterbox(&fitted.image, &boxes, canvas, out), info));
        };
        let mut random = random::for_sample(self.shared.config.seed, self.epoch, index);
        let image = Arc::unwrap_or_clone(fitted).image;
        let first = Tile { image, boxes };
        let is_mosaic = self.epoch < config.mosaic_until && random.f64() < config.mosaic;
        let (image, boxes) = if is_mosaic {
            self.mosaic(&first, config, &mut random)
        } else {
            (first.image, first.boxes)
        };
        Some((
            augment(image, &boxes, config, canvas, &mut random, out),
            info,
        ))
    }

    fn mosaic(
        &self,
        first: &Tile,
        config: &AugmentConfig,
        random: &mut Rng,
    ) -> (gpurun_dataset::RgbImage, Vec<super::transform::PixelBox>) {
        let size = self.shared.canvas().size;
        let centre = random_centre(size, random);
        let partners = [(); 3].map(|()| self.partner(random));
        let [second, third, fourth] = partners.map(|index| self.tile(index));
        compose(
            [
                Some(first),
                second.as_ref(),
                third.as_ref(),
                fourth.as_ref(),
            ],
            centre,
            size,
            config,
            random,
        )
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

    fn tile(&self, index: usize) -> Option<Tile> {
        let size = self.shared.canvas().size;
        let entry = &self.shared.entries[index];
        let fitted = self
            .shared
            .images
            .load(index, &entry.image, size, &self.shared.skips)?;
        let boxes = fitted.boxes(&entry.labels, size);
        Some(Tile {
            image: Arc::unwrap_or_clone(fitted).image,
            boxes,
        })
    }
}

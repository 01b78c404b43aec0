//! The dataset of a run, and how its epochs are cut into batches.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gpurun_dataset::{Annotations, Label, Sample, SplitData};

use super::cache::ImageCache;
use super::epoch::Epoch;
use super::letterbox::Padding;
use super::skips::{Skip, Skips};
use super::transform::{AugmentConfig, Canvas};
use crate::dist::Shard;

/// How batches are made.
#[derive(Debug, Clone, PartialEq)]
pub struct LoaderConfig {
    /// Of the canvas, in pixels.
    pub height: u32,
    /// Of the canvas, in pixels.
    pub width: u32,
    /// Images per batch, at least 1; of all processes together.
    pub batch: usize,
    /// Threads that decode and augment, at least 1.
    pub threads: usize,
    /// Finished batches that may wait for the consumer, per thread. With those being made this bounds the
    /// memory: `threads * (prefetch + 1) + 1` batches.
    pub prefetch: usize,
    /// A new order each epoch; otherwise the order of the samples.
    pub shuffle: bool,
    /// Leave out a last batch that isn't full, unless there is no other.
    pub drop_last: bool,
    /// Of the order and of all augmentation.
    pub seed: u64,
    /// Random changes to the images; none for evaluation.
    pub augment: Option<AugmentConfig>,
    /// Where the image sits in its canvas.
    pub padding: Padding,
    /// Which part of each batch is made; all of it, where one process trains.
    pub shard: Shard,
    /// Bytes of decoded images that may be kept in memory between epochs.
    pub cache_bytes: u64,
}

impl LoaderConfig {
    /// For learning: shuffled, augmented, full batches only, and as many images kept as half a gigabyte holds,
    /// because a mosaic costs four of them.
    pub fn train(size: u32, batch: usize) -> Self {
        Self {
            shuffle: true,
            drop_last: true,
            augment: Some(AugmentConfig::default()),
            cache_bytes: 1 << 29,
            ..Self::eval(size, batch)
        }
    }

    /// For evaluation: every image once, in order, unchanged.
    pub fn eval(size: u32, batch: usize) -> Self {
        Self {
            height: size,
            width: size,
            batch,
            threads: 2,
            prefetch: 2,
            shuffle: false,
            drop_last: false,
            seed: 0,
            augment: None,
            padding: Padding::default(),
            shard: Shard::default(),
            cache_bytes: 0,
        }
    }
}

/// The images and labels of one split.
///
/// What can't be used is left out: a bad label line when the labels are read, a bad image when it is first
/// decoded, which makes its batch smaller by one. [`Loader::take_skips`] names each once.
pub struct Loader {
    shared: Arc<Shared>,
}

/// What the threads of an epoch read.
pub(super) struct Shared {
    pub config: LoaderConfig,
    pub entries: Vec<Entry>,
    pub images: ImageCache,
    pub skips: Skips,
}

pub(super) struct Entry {
    pub image: PathBuf,
    pub labels: Vec<Label>,
}

impl Shared {
    pub(super) fn canvas(&self) -> Canvas {
        Canvas {
            size: (self.config.width, self.config.height),
            padding: self.config.padding,
        }
    }
}

impl Loader {
    /// Reads the labels of all samples; images are read when their batch is made.
    ///
    /// `nc` is the dataset's number of classes; boxes of other classes are left out.
    pub fn new(data: impl Into<SplitData>, nc: usize, config: LoaderConfig) -> Self {
        let SplitData {
            samples,
            annotations,
        } = data.into();
        let config = LoaderConfig {
            batch: config.batch.max(1),
            threads: config.threads.max(1),
            ..config
        };
        let skips = Skips::default();
        let labels = read_all_labels(&samples, &annotations, nc, config.threads, &skips);
        let images = ImageCache::new(samples.len(), config.cache_bytes);
        let entries = samples
            .into_iter()
            .zip(labels)
            .map(|(sample, labels)| Entry {
                image: sample.image,
                labels,
            });
        Self {
            shared: Arc::new(Shared {
                config,
                entries: entries.collect(),
                images,
                skips,
            }),
        }
    }

    /// Number of images, good or bad.
    pub fn len(&self) -> usize {
        self.shared.entries.len()
    }

    /// Whether there is no image at all.
    pub fn is_empty(&self) -> bool {
        self.shared.entries.is_empty()
    }

    /// Batches of one epoch, when all images are good.
    pub fn batches(&self) -> usize {
        let (images, batch) = (self.len(), self.shared.config.batch);
        if self.shared.config.drop_last && images >= batch {
            images / batch
        } else {
            images.div_ceil(batch)
        }
    }

    /// Starts an epoch (0-based): its threads begin at once, and end when the iterator is dropped.
    pub fn epoch(&self, epoch: usize) -> Epoch {
        self.epoch_from(epoch, 0)
    }

    /// Starts an epoch at a later batch, which is the same as in a whole one: nothing before it is read.
    pub fn epoch_from(&self, epoch: usize, first_batch: usize) -> Epoch {
        let batches = self.batches();
        Epoch::start(
            Arc::clone(&self.shared),
            epoch,
            first_batch.min(batches)..batches,
        )
    }

    /// The usable labels of an image, whose id is its position in the samples.
    pub fn labels(&self, image_id: usize) -> &[Label] {
        &self.shared.entries[image_id].labels
    }

    /// The file of an image.
    pub fn image_path(&self, image_id: usize) -> &std::path::Path {
        &self.shared.entries[image_id].image
    }

    /// What was left out since the last call: each bad label line and each bad image once.
    pub fn take_skips(&self) -> Vec<Skip> {
        self.shared.skips.take()
    }

    /// How many things were left out so far.
    pub fn skipped(&self) -> usize {
        self.shared.skips.count()
    }
}

fn read_all_labels(
    samples: &[Sample],
    annotations: &Annotations,
    nc: usize,
    threads: usize,
    skips: &Skips,
) -> Vec<Vec<Label>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(sample) = samples.get(index) else {
                return done;
            };
            match annotations.labels(sample, nc) {
                Ok(labels) => done.push((index, labels)),
                Err(error) => skips.add(&sample.label, None, error.to_string()),
            }
        }
    };
    let mut labels = vec![Vec::new(); samples.len()];
    let read = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<_>| {
            thread.join().expect("reading labels never panics")
        };
        threads.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    // Noted in order, whichever thread came first.
    let mut read = read;
    read.sort_by_key(|(index, _)| *index);
    for (index, found) in read {
        for issue in found.issues {
            skips.add(
                &samples[index].label,
                Some(issue.line),
                issue.kind.to_string(),
            );
        }
        labels[index] = found.boxes;
    }
    labels
}

#[cfg(test)]
mod tests;

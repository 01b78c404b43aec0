//! One pass over the dataset: threads make batches, the iterator hands them out in order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use super::letterbox::Letterbox;
use super::loader::Shared;
use super::maker::Maker;
use super::random;

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
    pub(super) fn start(shared: Arc<Shared>, epoch: usize, batches: Range<usize>) -> Self {
        let Range { start, end } = batches;
        let mut order: Vec<usize> = (0..shared.entries.len()).collect();
        if shared.config.shuffle {
            random::for_order(shared.config.seed, epoch).shuffle(&mut order);
        }
        let order: Arc<[usize]> = order.into();
        let threads = shared.config.threads.min(end);
        let (mut receivers, mut handles) = (Vec::new(), Vec::new());
        for thread in 0..threads {
            let (sender, receiver) = sync_channel(shared.config.prefetch);
            let maker = Maker {
                shared: Arc::clone(&shared),
                epoch,
            };
            let order = Arc::clone(&order);
            let numbers = (thread..end)
                .step_by(threads)
                .skip_while(move |number| *number < start);
            let work = move || maker.run(&order, numbers, &sender);
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
            next: start,
            batches: end,
        }
    }

    /// Number of the batch that comes next, from 0; one without a usable image has a number too.
    pub fn position(&self) -> usize {
        self.next
    }

    /// The next batch, or this process's share of it: `Some(None)` when no image of it can be decoded, and
    /// `None` after the last one, which every process of a training comes to at the same number.
    pub fn next_share(&mut self) -> Option<Option<Batch>> {
        if self.next >= self.batches {
            return None;
        }
        let thread = self.next % self.receivers.len();
        self.next += 1;
        let Ok(share) = self.receivers[thread].recv() else {
            // The thread is gone without having been told to: its panic is passed on.
            self.next = self.batches;
            self.join();
            return None;
        };
        Some(share)
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
        loop {
            match self.next_share()? {
                Some(batch) => return Some(batch),
                None => continue,
            }
        }
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.join();
    }
}

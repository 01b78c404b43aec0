//! How fast batches are made, beside the plainest way to make one.
//!
//! ```text
//! cargo run --release -p gpurun-train --example loading -- path/to/data.yaml [size]
//! ```
//!
//! One thread, so that the figures are per core. The plain way decodes with the `image` crate, scales with its
//! triangle filter and copies pixel by pixel. Rounds alternate and the best of each counts: ratios hold on a
//! machine that others use too, absolute figures don't.

#![expect(clippy::print_stdout, reason = "an example reports to its terminal")]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpurun_dataset::{DataConfig, Sample, Split, decode_rgb};
use gpurun_train::data::{AugmentConfig, Letterbox, Loader, LoaderConfig, Padding};
use image::imageops::{FilterType, resize};

const ROUNDS: usize = 5;

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments
        .next()
        .ok_or("which dataset? Give a data.yaml or its folder")?;
    let size: u32 = arguments.next().map_or(Ok(320), |size| size.parse())?;
    let config = DataConfig::load(&PathBuf::from(data))?;
    let samples = config.samples(Split::Train)?;
    let loader = |config: LoaderConfig| {
        let config = LoaderConfig {
            threads: 1,
            drop_last: false,
            ..config
        };
        Loader::new(samples.clone(), 1000, config)
    };
    let train = LoaderConfig::train(size, 8);
    let uncached = LoaderConfig {
        cache_bytes: 0,
        ..train.clone()
    };
    let light = AugmentConfig {
        mosaic: 0.0,
        ..AugmentConfig::default()
    };
    let loaders = [
        ("decode and letterbox", loader(LoaderConfig::eval(size, 8))),
        (
            "the same, jittered and mirrored",
            loader(LoaderConfig {
                augment: Some(light),
                ..uncached.clone()
            }),
        ),
        ("mosaic", loader(uncached)),
        ("mosaic of kept images", loader(train)),
    ];

    let mut plain = Duration::MAX;
    let mut decode = Duration::MAX;
    let mut best = loaders.each_ref().map(|_| Duration::MAX);
    for round in 0..ROUNDS {
        plain = plain.min(timed(|| {
            samples
                .iter()
                .try_for_each(|sample| plain_way(sample, size))
        })?);
        decode = decode.min(timed(|| {
            for sample in &samples {
                black_box(decode_rgb(&sample.image)?);
            }
            Ok(())
        })?);
        for (best, (_, loader)) in best.iter_mut().zip(&loaders) {
            let epoch = || {
                loader.epoch(round).for_each(|batch| drop(black_box(batch)));
                Ok(())
            };
            *best = (*best).min(timed(epoch)?);
        }
    }
    let rows = [("the plain way", plain), ("decode alone", decode)];
    let rows = rows.into_iter().chain(
        loaders
            .iter()
            .zip(best)
            .map(|((name, _), best)| (*name, best)),
    );
    println!("{} images at {size} px, one thread", samples.len());
    for (name, time) in rows {
        let rate = samples.len() as f64 / time.as_secs_f64();
        println!(
            "{name:<32} {rate:>7.0} images/s  {:>6.2} x",
            plain.as_secs_f64() / time.as_secs_f64()
        );
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<(), AnyError>) -> Result<Duration, AnyError> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn plain_way(sample: &Sample, size: u32) -> Result<(), AnyError> {
    let image = image::open(&sample.image)?.into_rgb8();
    let fit = Letterbox::fit(image.dimensions(), (size, size), Padding::TopLeft);
    let image = resize(&image, fit.width, fit.height, FilterType::Triangle);
    let plane = (size * size) as usize;
    let mut planar = vec![114; 3 * plane];
    for (x, y, pixel) in image.enumerate_pixels() {
        for channel in 0..3 {
            planar[channel * plane + (y * size + x) as usize] = pixel[channel];
        }
    }
    black_box(planar);
    Ok(())
}

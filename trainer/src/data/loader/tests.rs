use std::fs;

use gpurun_dataset::shapes::{ShapesConfig, generate};
use gpurun_dataset::{DataConfig, Split};
use tempfile::TempDir;

use super::*;
use crate::data::{Batch, FILL};

fn shapes(train: usize) -> (TempDir, Vec<Sample>) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let yaml = generate(
        dir.path(),
        ShapesConfig {
            train,
            val: 1,
            size: 96,
            seed: 2,
        },
    )
    .expect("writable");
    let samples = DataConfig::load(&yaml)
        .expect("a dataset")
        .samples(Split::Train)
        .expect("listed");
    (dir, samples)
}

fn small(config: LoaderConfig) -> LoaderConfig {
    LoaderConfig { seed: 7, ..config }
}

fn epoch(loader: &Loader, number: usize) -> Vec<Batch> {
    loader.epoch(number).collect()
}

#[test]
fn threads_and_cache_change_nothing() {
    let (_dir, samples) = shapes(10);
    let run = |threads, prefetch, cache_bytes| {
        let config = LoaderConfig {
            threads,
            prefetch,
            cache_bytes,
            ..small(LoaderConfig::train(64, 4))
        };
        let loader = Loader::new(samples.clone(), 3, config);
        [epoch(&loader, 0), epoch(&loader, 1)]
    };
    let one = run(1, 1, 0);
    assert_eq!(one, run(3, 2, 0));
    assert_eq!(one, run(2, 0, 1 << 30));
    assert_eq!(one, run(2, 1, 30_000));
    assert_ne!(one[0], one[1]);
}

#[test]
fn an_evaluation_shows_every_image_once_in_order() {
    let (_dir, samples) = shapes(5);
    let loader = Loader::new(samples, 3, small(LoaderConfig::eval(64, 2)));
    assert_eq!((loader.batches(), loader.len()), (3, 5));
    let batches = epoch(&loader, 0);
    assert_eq!(
        batches.iter().map(Batch::len).collect::<Vec<_>>(),
        [2, 2, 1]
    );
    let ids: Vec<usize> = batches
        .iter()
        .flat_map(|batch| &batch.infos)
        .map(|info| info.image_id)
        .collect();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    let batch = &batches[0];
    assert_eq!(batch.images.len(), 2 * 3 * 64 * 64);
    // 96 x 72 pixels become 64 x 48; below lies the fill.
    assert!(
        batch.images[48 * 64..64 * 64]
            .iter()
            .all(|value| *value == FILL)
    );
    assert_eq!(
        (batch.infos[0].original, batch.infos[0].letterbox.height),
        ((96, 72), 48)
    );
    for (target, label) in batch.targets[0].iter().zip(loader.labels(0)) {
        let back = batch.infos[0]
            .letterbox
            .undo([1, 2, 3, 4].map(|edge| target[edge] * 64.0));
        for (got, want) in back.iter().zip(label.corners(96, 72)) {
            assert!((f64::from(*got) - want).abs() < 1e-3, "{back:?}");
        }
    }
}

#[test]
fn training_shuffles_and_drops_what_is_left_over() {
    let (_dir, samples) = shapes(10);
    let loader = Loader::new(samples.clone(), 3, small(LoaderConfig::train(64, 4)));
    let order = |number| -> Vec<usize> {
        epoch(&loader, number)
            .iter()
            .flat_map(|batch| &batch.infos)
            .map(|info| info.image_id)
            .collect()
    };
    let (first, second) = (order(0), order(1));
    assert_eq!((loader.batches(), first.len()), (2, 8));
    assert_ne!(first, second);
    let few = Loader::new(samples, 3, small(LoaderConfig::train(64, 16)));
    assert_eq!(
        epoch(&few, 0).iter().map(Batch::len).collect::<Vec<_>>(),
        [10]
    );
}

#[test]
fn mosaics_end_with_their_epochs() {
    let (_dir, samples) = shapes(8);
    let augment = AugmentConfig {
        mosaic_until: 1,
        hsv: 0.0,
        flip_horizontal: 0.0,
        ..AugmentConfig::default()
    };
    let config = LoaderConfig {
        augment: Some(augment),
        shuffle: false,
        ..small(LoaderConfig::train(64, 8))
    };
    let loader = Loader::new(samples.clone(), 3, config);
    let plain = Loader::new(samples, 3, small(LoaderConfig::eval(64, 8)));
    assert_ne!(epoch(&loader, 0)[0].images, epoch(&plain, 0)[0].images);
    assert_eq!(epoch(&loader, 1), epoch(&plain, 0));
}

#[test]
fn targets_of_mosaics_lie_on_the_colour_of_their_class() {
    let (_dir, samples) = shapes(12);
    let augment = AugmentConfig {
        hsv: 0.0,
        ..AugmentConfig::default()
    };
    let config = LoaderConfig {
        augment: Some(augment),
        ..small(LoaderConfig::train(96, 12))
    };
    let batch = &epoch(&Loader::new(samples, 3, config), 0)[0];
    let (mut right, mut all) = (0, 0);
    for (index, targets) in batch.targets.iter().enumerate() {
        for [class, x1, y1, x2, y2] in targets {
            // Cut boxes may show only the corner beside a shape, so most, not all, must agree.
            let (x, y) = (
                ((x1 + x2) * 48.0) as usize,
                ((y1 + 1.2 * y2) / 2.2 * 96.0) as usize,
            );
            let channel = |plane: usize| {
                batch.images[((index * 3 + plane) * 96 + y.min(95)) * 96 + x.min(95)]
            };
            let strongest = (0..3).max_by_key(|plane| channel(*plane));
            right += usize::from(strongest == Some(*class as usize));
            all += 1;
        }
    }
    assert!(all > 20 && right * 10 >= all * 9, "{right} of {all}");
}

#[test]
fn bad_files_are_skipped_named_once_and_counted() {
    let (dir, samples) = shapes(4);
    fs::write(&samples[1].image, "no image").expect("writable");
    fs::write(
        &samples[2].label,
        "0 0.5 0.5 0.2 0.2\n0 x 0 0 0\n9 0.5 0.5 0.1 0.1\n",
    )
    .expect("writable");
    let loader = Loader::new(samples, 3, small(LoaderConfig::train(64, 2)));
    let named: Vec<String> = loader.take_skips().iter().map(Skip::to_string).collect();
    assert_eq!(named.len(), 2);
    assert!(
        named[0].contains("0002.txt:2: ") && named[1].contains("0002.txt:3: class 9"),
        "{named:?}"
    );
    for number in 0..3 {
        let images: usize = epoch(&loader, number).iter().map(Batch::len).sum();
        assert_eq!(images, 3);
    }
    let named = loader.take_skips();
    assert_eq!(named.len(), 1);
    assert!(named[0].to_string().contains("0001.jpg"), "{}", named[0]);
    assert_eq!(loader.skipped(), 3);
    drop(dir);
}

#[test]
fn a_batch_without_any_good_image_is_passed_over() {
    let (_dir, samples) = shapes(3);
    fs::write(&samples[1].image, "").expect("writable");
    let loader = Loader::new(samples, 3, small(LoaderConfig::eval(64, 1)));
    assert_eq!(epoch(&loader, 0).len(), 2);
    assert_eq!(
        Loader::new(Vec::new(), 3, LoaderConfig::train(64, 4))
            .epoch(0)
            .count(),
        0
    );
}

#[test]
fn dropping_an_epoch_ends_its_threads() {
    let (_dir, samples) = shapes(12);
    let config = LoaderConfig {
        threads: 3,
        prefetch: 1,
        ..small(LoaderConfig::eval(64, 1))
    };
    let loader = Loader::new(samples, 3, config);
    let mut started = loader.epoch(0);
    assert!(started.next().is_some());
    drop(started);
    // The threads held the only other references, and have been joined.
    assert_eq!(Arc::strong_count(&loader.shared), 1);
}

#[test]
fn an_epoch_can_start_in_its_middle() {
    let (_dir, samples) = shapes(14);
    for threads in [1, 2, 3] {
        let config = LoaderConfig {
            threads,
            ..small(LoaderConfig::train(64, 2))
        };
        let loader = Loader::new(samples.clone(), 3, config);
        let whole = epoch(&loader, 1);
        for first in [0, 1, 4, 7, 9] {
            let mut rest = loader.epoch_from(1, first);
            assert_eq!(rest.position(), first.min(7));
            let made: Vec<Batch> = rest.by_ref().collect();
            assert_eq!(
                made,
                whole[first.min(7)..],
                "{threads} threads from {first}"
            );
            assert_eq!(rest.position(), 7);
        }
    }
}

//! One pass over the files of a dataset, on several threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::run::CheckOptions;
use crate::split::list_images;
use crate::{
    DataConfig, LabelIssueKind, LabelLine, Sample, Split, decode_rgb, file, image_size, label_path,
    parse_label_line,
};

/// Everything the checks look at.
pub(super) struct Scan {
    pub config: DataConfig,
    pub splits: Vec<SplitScan>,
    pub bytes: u64,
}

/// One split that the configuration names.
pub(super) struct SplitScan {
    pub split: Split,
    /// The entries that name nothing usable.
    pub problems: Vec<EntryProblem>,
    pub items: Vec<Item>,
}

/// Why an entry of a split gives no image.
pub(super) enum EntryProblem {
    Missing(PathBuf),
    Empty(PathBuf),
    Unreadable(PathBuf, String),
}

/// One image and its label file.
pub(super) struct Item {
    pub sample: Sample,
    pub facts: Facts,
}

/// What reading the two files showed.
#[derive(Default)]
pub(super) struct Facts {
    pub image_exists: bool,
    /// Why the image can't be read or decoded.
    pub image_error: Option<String>,
    pub label_exists: bool,
    /// Line number (1-based) and what is on it.
    pub lines: Vec<(usize, LabelLine)>,
    pub syntax: Vec<(usize, String)>,
    pub bytes: u64,
}

/// Lists the splits and reads every image and label file of them.
pub(super) fn scan(config: DataConfig, options: &CheckOptions) -> Scan {
    let mut splits: Vec<SplitScan> = Split::ALL
        .into_iter()
        .filter(|split| !config.entries(*split).is_empty())
        .map(|split| list_split(&config, split))
        .collect();
    let mut items: Vec<&mut Item> = splits
        .iter_mut()
        .flat_map(|split| &mut split.items)
        .collect();
    read_all(&mut items, options);
    let bytes = total_bytes(&items);
    Scan {
        config,
        splits,
        bytes,
    }
}

fn list_split(config: &DataConfig, split: Split) -> SplitScan {
    let mut scan = SplitScan {
        split,
        problems: Vec::new(),
        items: Vec::new(),
    };
    for entry in config.entries(split) {
        if !entry.exists() {
            scan.problems.push(EntryProblem::Missing(entry.clone()));
            continue;
        }
        match list_images(entry) {
            Err(error) => scan
                .problems
                .push(EntryProblem::Unreadable(entry.clone(), error.to_string())),
            Ok(images) if images.is_empty() => {
                scan.problems.push(EntryProblem::Empty(entry.clone()))
            }
            Ok(images) => scan.items.extend(images.into_iter().map(|image| {
                let label = label_path(&config.root, &image);
                Item {
                    sample: Sample { image, label },
                    facts: Facts::default(),
                }
            })),
        }
    }
    scan
}

/// Images differ in size, so the threads take one at a time instead of equal shares.
fn read_all(items: &mut [&mut Item], options: &CheckOptions) {
    let samples: Vec<Sample> = items.iter().map(|item| item.sample.clone()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(sample) = samples.get(index) else {
                return done;
            };
            done.push((index, read(sample, options.decode)));
        }
    };
    let threads = options.threads.clamp(1, samples.len().max(1));
    let results: Vec<(usize, Facts)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("reading a file never panics"))
            .collect()
    });
    for (index, facts) in results {
        items[index].facts = facts;
    }
}

fn read(sample: &Sample, decode: bool) -> Facts {
    let mut facts = Facts {
        label_exists: true,
        ..Facts::default()
    };
    if let Ok(metadata) = fs::metadata(&sample.image) {
        facts.image_exists = true;
        facts.bytes = metadata.len();
        let outcome = if decode {
            decode_rgb(&sample.image).map(drop)
        } else {
            image_size(&sample.image).map(drop)
        };
        facts.image_error = outcome.err().map(|error| match error {
            crate::Error::Image { reason, .. } => reason,
            other => other.to_string(),
        });
    }
    read_label_lines(&sample.label, &mut facts);
    facts
}

fn read_label_lines(path: &Path, facts: &mut Facts) {
    let bytes = match file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            facts.label_exists = false;
            return;
        }
        Err(error) => {
            facts.syntax.push((0, format!("unreadable: {error}")));
            return;
        }
    };
    facts.bytes += bytes.len() as u64;
    for (index, text) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        match parse_label_line(text) {
            Ok(Some(line)) => facts.lines.push((index + 1, line)),
            Ok(None) => {}
            Err(LabelIssueKind::Syntax(reason)) => facts.syntax.push((index + 1, reason)),
            Err(other) => facts.syntax.push((index + 1, other.to_string())),
        }
    }
}

fn total_bytes(items: &[&mut Item]) -> u64 {
    let mut files: Vec<(&Path, u64)> = items
        .iter()
        .map(|item| (item.sample.image.as_path(), item.facts.bytes))
        .collect();
    files.sort();
    files.dedup_by_key(|(path, _)| *path);
    files.iter().map(|(_, bytes)| bytes).sum()
}

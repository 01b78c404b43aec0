//! `cargo xtask bench-train`: how fast the training core trains, against the real LibreYOLO in the same run.
//!
//! Both programs do the same work on the same data with as many threads, in turns, so that whatever else the machine
//! does hits both alike; the result is the median of the pairs' ratios (`docs/speed.md`).

mod data;
mod memory;
mod program;

use std::path::PathBuf;

use serde_json::json;

use self::data::Data;
use self::program::{Measured, Program};
use crate::Error;
use crate::bench_options::{Rounds, parse};
use crate::output::say;
use crate::process::{cargo, root, run as run_command};
use crate::{libtorch, python};

const USAGE: &str = "usage: cargo xtask bench-train [--quick] [--json]";
const ROUNDS: Rounds = Rounds { whole: 3, quick: 1 };

/// A figure: its name, whether more is better, the bar for ours over theirs, and how it is read.
struct Figure {
    name: &'static str,
    unit: &'static str,
    bar: Bar,
    read: fn(&Measured) -> f64,
}

#[derive(Clone, Copy)]
enum Bar {
    AtLeast(f64),
    AtMost(f64),
    None,
}

/// Those of the report; the table shows [`FIRST_LOSS`] too.
const FIGURES: [Figure; 4] = [
    Figure {
        name: "train_images_per_second",
        unit: "img/s",
        bar: Bar::AtLeast(1.5),
        read: |measured| measured.train_images_per_second,
    },
    Figure {
        name: "peak_memory",
        unit: "MB",
        bar: Bar::AtMost(0.4),
        read: |measured| measured.peak_memory_bytes / 1e6,
    },
    Figure {
        name: "start_to_first_step",
        unit: "s",
        bar: Bar::AtMost(0.2),
        read: |measured| measured.start_to_first_step_seconds,
    },
    Figure {
        name: "validation_images_per_second",
        unit: "img/s",
        bar: Bar::AtLeast(1.5),
        read: |measured| measured.validation_images_per_second,
    },
];

const FIRST_LOSS: Figure = Figure {
    name: "start_to_first_loss",
    unit: "s",
    bar: Bar::None,
    read: |measured| measured.start_to_first_loss_seconds,
};

/// Builds, fetches LibreYOLO, measures, prints.
pub(crate) fn run(options: &[String]) -> Result<(), Error> {
    let options = parse(options, &ROUNDS, USAGE)?;
    libtorch::run(&[])?;
    run_command(cargo().args(["build", "--release", "--package", "gpurun-train"]))?;
    let python = match std::env::var_os("GPURUN_LIBREYOLO_PYTHON") {
        Some(python) => PathBuf::from(python),
        None => python::environment(python::Set::Full)?,
    };
    let data = Data::make()?;
    let ours = Program::gpurun_train(root().join("target/release/gpurun-train"));
    let theirs = Program::libreyolo(&python);
    let mut pairs = vec![];
    for round in 0..options.rounds {
        // Whoever comes first finds a colder page cache.
        let (first, second) = if round % 2 == 0 {
            (&theirs, &ours)
        } else {
            (&ours, &theirs)
        };
        let measured = (first.measure(&data)?, second.measure(&data)?);
        pairs.push(if round % 2 == 0 {
            measured
        } else {
            (measured.1, measured.0)
        });
    }
    if options.json {
        say(report(&pairs));
    } else {
        for line in table(&pairs, &data) {
            say(line);
        }
    }
    Ok(())
}

/// What one figure came to over all rounds: medians of theirs, of ours, and of the ratios, and the ratios' range.
struct Row {
    theirs: f64,
    ours: f64,
    ratio: f64,
    lowest: f64,
    highest: f64,
}

impl Row {
    fn of(figure: &Figure, pairs: &[(Measured, Measured)]) -> Self {
        let theirs: Vec<f64> = pairs
            .iter()
            .map(|(theirs, _)| (figure.read)(theirs))
            .collect();
        let ours: Vec<f64> = pairs.iter().map(|(_, ours)| (figure.read)(ours)).collect();
        let ratios: Vec<f64> = ours
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| ours / theirs)
            .collect();
        Self {
            theirs: median(&theirs),
            ours: median(&ours),
            ratio: median(&ratios),
            lowest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            highest: ratios.iter().copied().fold(0.0, f64::max),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        return f64::midpoint(values[middle - 1], values[middle]);
    }
    values[middle]
}

fn report(pairs: &[(Measured, Measured)]) -> serde_json::Value {
    let mut ratios = serde_json::Map::new();
    for figure in &FIGURES {
        let row = Row::of(figure, pairs);
        ratios.insert(
            figure.name.to_owned(),
            json!((row.ratio * 1e3).round() / 1e3),
        );
    }
    json!({ "ratio": ratios })
}

fn table(pairs: &[(Measured, Measured)], data: &Data) -> Vec<String> {
    let mut lines = vec![format!(
        "yolo9-t, 320 px, batch 8, 2 threads, {}: {} pairs, medians",
        data.name,
        pairs.len()
    )];
    for figure in FIGURES.iter().chain([&FIRST_LOSS]) {
        let row = Row::of(figure, pairs);
        let (bar, is_met) = match figure.bar {
            Bar::AtLeast(bar) => (format!(", bar >= {bar}"), row.ratio >= bar),
            Bar::AtMost(bar) => (format!(", bar <= {bar}"), row.ratio <= bar),
            Bar::None => (String::new(), true),
        };
        lines.push(format!(
            "{:<30} LibreYOLO {:>8.1} {unit}, gpurun-train {:>8.1} {unit}, ratio {:.2} ({:.2} to {:.2}){bar}{}",
            figure.name,
            row.theirs,
            row.ours,
            row.ratio,
            row.lowest,
            row.highest,
            if is_met { "" } else { ": missed" },
            unit = figure.unit,
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(scale: f64) -> Measured {
        Measured {
            train_images_per_second: 4.0 * scale,
            peak_memory_bytes: 4e9 / scale,
            start_to_first_step_seconds: 20.0 / scale,
            start_to_first_loss_seconds: 22.0 / scale,
            validation_images_per_second: 10.0 * scale,
        }
    }

    #[test]
    fn ratios_are_ours_over_theirs() {
        let pairs = [
            (measured(1.0), measured(2.0)),
            (measured(2.0), measured(8.0)),
            (measured(1.0), measured(3.0)),
        ];
        let ratio = &report(&pairs)["ratio"];
        assert_eq!(ratio["train_images_per_second"], 3.0);
        assert_eq!(ratio["peak_memory"], 0.333);
        assert_eq!(ratio.as_object().map(serde_json::Map::len), Some(4));
    }
}

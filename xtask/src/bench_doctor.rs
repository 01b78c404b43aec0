//! `cargo xtask bench-doctor`: how fast a data set is checked as `gpurun doctor` does it, against the real LibreYOLO's
//! doctor in the same run.
//!
//! Ours is a program that does nothing else (`dataset/examples/check.rs`): starting gpurun costs two milliseconds more
//! (`bench-cli`), and building it for release takes minutes. Both check the same drawn data sets in turns, so that whatever else the machine does hits both alike; the result is
//! the median of the pairs' ratios (`docs/speed.md`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Map, json};

use crate::Error;
use crate::bench_options::{Rounds, parse};
use crate::output::say;
use crate::process::{cargo, root, run as run_command};
use crate::python;

const USAGE: &str = "usage: cargo xtask bench-doctor [--quick] [--json]";
const ROUNDS: Rounds = Rounds { whole: 3, quick: 1 };
/// How many times as fast ours has to be.
const BAR: f64 = 20.0;
/// Between two looks at a process's memory.
const LOOK: Duration = Duration::from_millis(5);

/// A drawn data set: images to learn from, to evaluate on, and their width in pixels.
struct Case {
    name: &'static str,
    train: usize,
    val: usize,
    size: u32,
}

const CASES: [Case; 3] = [
    Case {
        name: "80 images of 640 x 480",
        train: 64,
        val: 16,
        size: 640,
    },
    Case {
        name: "10,000 images of 256 x 192",
        train: 8000,
        val: 2000,
        size: 256,
    },
    Case {
        name: "2,000 images of 640 x 480",
        train: 1600,
        val: 400,
        size: 640,
    },
];

/// A program that checks the data set it is given, after its verb where it has several.
struct Doctor {
    program: PathBuf,
    verb: Option<&'static str>,
}

/// One check of one data set.
#[derive(Debug, Clone, Copy)]
struct Measured {
    elapsed: f64,
    cpu: f64,
    peak_bytes: f64,
}

/// Builds, fetches LibreYOLO, draws, measures, prints.
pub(crate) fn run(options: &[String]) -> Result<(), Error> {
    let options = parse(options, &ROUNDS, USAGE)?;
    run_command(cargo().args([
        "build",
        "--release",
        "--package",
        "gpurun-dataset",
        "--example",
        "check",
    ]))?;
    let python = match std::env::var_os("GPURUN_LIBREYOLO_PYTHON") {
        Some(python) => PathBuf::from(python),
        None => python::environment(python::Set::Full)?,
    };
    let gpurun = Doctor {
        program: root().join("target/release/examples/check"),
        verb: None,
    };
    let libreyolo = Doctor {
        program: python.with_file_name("libreyolo"),
        verb: Some("doctor"),
    };
    let mut ratios = Map::new();
    for case in &CASES {
        let data = draw(case)?;
        // The first of each only warms the page cache.
        measure(&libreyolo, &data)?;
        measure(&gpurun, &data)?;
        let mut pairs = vec![];
        for round in 0..options.rounds {
            pairs.push(if round % 2 == 0 {
                (measure(&libreyolo, &data)?, measure(&gpurun, &data)?)
            } else {
                let ours = measure(&gpurun, &data)?;
                (measure(&libreyolo, &data)?, ours)
            });
        }
        if options.json {
            ratios.insert(case.name.to_owned(), report(&pairs));
        } else {
            table(case, &pairs).into_iter().for_each(say);
        }
    }
    if options.json {
        say(json!({ "ratio": ratios }));
    }
    Ok(())
}

fn draw(case: &Case) -> Result<PathBuf, Error> {
    let folder = root().join(format!("target/bench-doctor/{}-{}", case.train, case.size));
    let description = folder.join("data.yaml");
    if !description.is_file() {
        fs::create_dir_all(&folder)?;
        let mut draw = cargo();
        draw.args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "gpurun-dataset",
            "--bin",
            "draw-shapes",
            "--",
        ]);
        let Case {
            train, val, size, ..
        } = case;
        draw.arg(&folder).args([
            format!("train={train}"),
            format!("val={val}"),
            format!("size={size}"),
        ]);
        run_command(draw.stdout(Stdio::null()))?;
    }
    Ok(description)
}

/// What is wrong with the data doesn't matter, only that it was checked.
fn measure(doctor: &Doctor, data: &Path) -> Result<Measured, Error> {
    let program = &doctor.program;
    let cpu_before = cpu_of_children()?;
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(doctor.verb)
        .arg(data)
        .env("LIBREYOLO_DATASETS_DIR", "/nonexistent")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} can't be started: {error}", program.display()))?;
    let pid = child.id();
    let watcher = thread::spawn(move || peak(pid));
    let status = child.wait()?;
    let elapsed = begun.elapsed();
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(format!("{} ended with {status}", program.display()).into());
    }
    let cpu = cpu_of_children()?.saturating_sub(cpu_before);
    let peak_bytes = watcher.join().map_err(|_| "the watcher panicked")?;
    Ok(Measured {
        elapsed: elapsed.as_secs_f64(),
        cpu: cpu.as_secs_f64(),
        peak_bytes: peak_bytes as f64,
    })
}

/// The most memory a process has had, when it ends (`VmHWM` of `/proc/PID/status`; proc(5)).
fn peak(pid: u32) -> u64 {
    let mut most = 0;
    while let Some(kilobytes) = high_water(pid) {
        most = kilobytes.max(most);
        thread::sleep(LOOK);
    }
    most * 1024
}

fn high_water(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Of all that ended and were waited for.
fn cpu_of_children() -> Result<Duration, Error> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let spent = usage.user_time() + usage.system_time();
    Ok(Duration::from_micros(spent.num_microseconds().try_into()?))
}

type Pair = (Measured, Measured);

/// A figure: its name, its unit, how it is read.
type Figure = (&'static str, &'static str, fn(&Measured) -> f64);

const FIGURES: [Figure; 3] = [
    ("elapsed", "s", |measured| measured.elapsed),
    ("processor", "s", |measured| measured.cpu),
    ("memory", "MB", |measured| measured.peak_bytes / 1e6),
];

/// Theirs over ours, the median of the pairs.
fn ratio(pairs: &[Pair], read: fn(&Measured) -> f64) -> f64 {
    median(pairs.iter().map(|(theirs, ours)| read(theirs) / read(ours)))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn report(pairs: &[Pair]) -> serde_json::Value {
    FIGURES
        .iter()
        .map(|(name, _, read)| {
            let ratio = (ratio(pairs, *read) * 1e2).round() / 1e2;
            ((*name).to_owned(), json!(ratio))
        })
        .collect::<Map<_, _>>()
        .into()
}

fn table(case: &Case, pairs: &[Pair]) -> Vec<String> {
    let mut lines = vec![format!("{}, {} pairs, medians", case.name, pairs.len())];
    for (name, unit, read) in FIGURES {
        let ratio = ratio(pairs, read);
        let verdict = match name {
            "elapsed" if ratio < BAR => format!(", bar {BAR}: missed"),
            "elapsed" => format!(", bar {BAR}"),
            _ => String::new(),
        };
        lines.push(format!(
            "  {name:<10} LibreYOLO {:>8.2} {unit:<2}  gpurun {:>8.3} {unit:<2}  ratio {ratio:.1}{verdict}",
            median(pairs.iter().map(|(theirs, _)| read(theirs))),
            median(pairs.iter().map(|(_, ours)| read(ours))),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(scale: f64) -> Measured {
        Measured {
            elapsed: scale,
            cpu: 2.0 * scale,
            peak_bytes: 1e6 * scale,
        }
    }

    #[test]
    fn ratios_are_theirs_over_ours() {
        let pairs = [
            (measured(60.0), measured(2.0)),
            (measured(10.0), measured(1.0)),
            (measured(50.0), measured(2.0)),
        ];
        assert_eq!(report(&pairs)["elapsed"], 25.0);
        let lines = table(&CASES[0], &pairs);
        assert!(lines[1].ends_with("ratio 25.0, bar 20"), "{lines:?}");
        assert!(table(&CASES[0], &pairs[1..2])[1].ends_with("missed"));
    }

    #[test]
    fn a_process_is_measured_to_its_end() -> Result<(), Error> {
        let measure = |program: &str| {
            let program = PathBuf::from(program);
            let verb = None;
            super::measure(&Doctor { program, verb }, Path::new("."))
        };
        assert!(measure("true")?.elapsed > 0.0);
        assert!(measure("/nonexistent/program").is_err());
        Ok(())
    }
}

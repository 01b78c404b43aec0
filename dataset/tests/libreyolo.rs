//! Data sets read by us and by the real LibreYOLO: the same images, boxes and pixels.
//!
//! `GPURUN_LIBREYOLO_PYTHON` names a Python that has libreyolo 1.6.0. Skipped, aloud, where it isn't set.

mod libreyolo_cases;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpurun_dataset::{ClassSelection, DataConfig, Split, decode_rgb, image_size};
use libreyolo_cases::{Case, cases};
use serde::Deserialize;

/// Theirs are pixels of a resized image in single precision: 1000 pixels there keep 6e-5.
const BOX_TOLERANCE: f64 = 1e-3;
/// Of 256 levels, between two JPEG decoders of the same file, on average. One is near in all other formats.
const JPEG_TOLERANCE: f64 = 1.0;

const DRIVER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/read_with_libreyolo.py"
);

/// What LibreYOLO says of a case.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Refused { error: String },
    Read { classes: usize, images: Vec<Image> },
}

#[derive(Debug, Deserialize)]
struct Image {
    path: PathBuf,
    size: (u32, u32),
    boxes: Vec<(usize, f64, f64, f64, f64)>,
    /// A file of raw RGB, its width and height.
    pixels: Option<(PathBuf, u32, u32)>,
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn both_read_the_same() {
    let Some(python) = std::env::var_os("GPURUN_LIBREYOLO_PYTHON") else {
        eprintln!("skipped: GPURUN_LIBREYOLO_PYTHON names no Python with libreyolo==1.6.0");
        return;
    };
    let home = tempfile::tempdir().expect("a temporary folder");
    let cases = cases(home.path());
    let answers = ask(Path::new(&python), home.path(), &cases);
    assert_eq!(answers.len(), cases.len());
    let differences: Vec<String> = cases
        .iter()
        .zip(&answers)
        .filter_map(|(case, answer)| {
            let why = compare(case, answer).err()?;
            Some(format!("{}: {why}", case.name))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn ask(python: &Path, home: &Path, cases: &[Case]) -> Vec<Answer> {
    let mut child = Command::new(python)
        .arg(DRIVER)
        .current_dir(home)
        // A folder that isn't there: a relative `path` is then relative to the description.
        .env("LIBREYOLO_DATASETS_DIR", home.join("none"))
        .env("OMP_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the Python starts");
    let input = serde_json::to_vec(cases).expect("cases are JSON");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(&input).expect("it reads its cases");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    serde_json::from_slice(&output.stdout).expect("answers are JSON")
}

fn compare(case: &Case, answer: &Answer) -> Result<(), String> {
    let ours = read(case);
    let (classes, images) = match (answer, &ours) {
        (Answer::Refused { .. }, Err(_)) if case.refused => return Ok(()),
        (Answer::Refused { error }, _) => {
            return Err(format!("LibreYOLO says {error}, ours is {ours:?}"));
        }
        (Answer::Read { classes, images }, _) => (classes, images),
    };
    let (our_classes, ours) = ours.map_err(|error| format!("LibreYOLO reads it, ours: {error}"))?;
    equal("classes", &our_classes, classes)?;
    let paths = |images: &[Image]| -> Vec<PathBuf> {
        let paths = images.iter().map(|image| plain(&image.path));
        paths.collect()
    };
    equal("images", &paths(&ours), &paths(images))?;
    for (our, their) in ours.iter().zip(images) {
        let name = our.path.display();
        equal(&format!("size of {name}"), &our.size, &their.size)?;
        let rows = |image: &Image| -> Vec<[f64; 5]> {
            let row =
                |row: &(usize, f64, f64, f64, f64)| [row.0 as f64, row.1, row.2, row.3, row.4];
            image.boxes.iter().map(row).collect()
        };
        let (our_rows, their_rows) = (rows(our), rows(their));
        let near = our_rows.len() == their_rows.len()
            && our_rows
                .iter()
                .flatten()
                .zip(their_rows.iter().flatten())
                .all(|(a, b)| (a - b).abs() < BOX_TOLERANCE);
        if !near {
            return Err(format!(
                "boxes of {name}: {our_rows:?}, LibreYOLO {their_rows:?}"
            ));
        }
        if let Some(pixels) = &their.pixels {
            compare_pixels(&our.path, pixels)?;
        }
    }
    Ok(())
}

/// The number of classes, and the images in LibreYOLO's form.
fn read(case: &Case) -> Result<(usize, Vec<Image>), String> {
    let text = |error: gpurun_dataset::Error| error.to_string();
    let split = Split::ALL
        .into_iter()
        .find(|split| split.as_str() == case.split)
        .expect("a split");
    let selection = ClassSelection {
        classes: case.classes.clone(),
        single: case.single_cls,
    };
    let config = DataConfig::load(&case.data).map_err(text)?;
    let config = config.select(selection).map_err(text)?;
    let data = config.read(split).map_err(text)?;
    if data.samples.is_empty() {
        return Err("no images".to_owned());
    }
    let mut images = vec![];
    for sample in &data.samples {
        let size = image_size(&sample.image).map_err(text)?;
        let labels = data.annotations.labels(sample, config.nc).map_err(text)?;
        let boxes = labels.boxes.iter().map(|label| {
            let [x1, y1, x2, y2] = label.corners(size.0, size.1);
            (label.class, x1, y1, x2, y2)
        });
        images.push(Image {
            path: sample.image.clone(),
            size,
            boxes: boxes.collect(),
            pixels: None,
        });
    }
    Ok((config.nc, images))
}

fn compare_pixels(path: &Path, theirs: &(PathBuf, u32, u32)) -> Result<(), String> {
    let ours = decode_rgb(path).map_err(|error| error.to_string())?;
    let (raw, width, height) = theirs;
    let name = path.display();
    equal(
        &format!("stored size of {name}"),
        &(ours.width, ours.height),
        &(*width, *height),
    )?;
    let theirs = std::fs::read(raw).map_err(|error| error.to_string())?;
    equal(
        &format!("bytes of {name}"),
        &ours.pixels.len(),
        &theirs.len(),
    )?;
    let differences = ours.pixels.iter().zip(&theirs).map(|(a, b)| a.abs_diff(*b));
    let largest = differences.clone().max().unwrap_or(0);
    let mean = differences.map(f64::from).sum::<f64>() / theirs.len() as f64;
    let is_jpeg = path
        .extension()
        .is_some_and(|suffix| suffix.eq_ignore_ascii_case("jpg"));
    let near = if is_jpeg {
        mean <= JPEG_TOLERANCE
    } else {
        largest <= 1
    };
    match near {
        true => Ok(()),
        false => Err(format!(
            "pixels of {name} differ by {mean} on average, {largest} at most"
        )),
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), String> {
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("{what}: {ours:?}, LibreYOLO {theirs:?}")),
    }
}

/// Without `.` and `..`, which LibreYOLO keeps or drops as its steps have it.
fn plain(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

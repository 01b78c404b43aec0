//! Where the images, labels and the description of a generated set go.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use super::draw::{Canvas, Shape, ShapeKind};
use crate::{Error, Result, Split};

/// What is drawn, by class id.
pub const CLASS_NAMES: [&str; 3] = ["circle", "rectangle", "triangle"];

/// How much to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapesConfig {
    /// Images to learn from.
    pub train: usize,
    /// Images to evaluate on.
    pub val: usize,
    /// Width of an image in pixels, at least 32; the height is three quarters of it.
    pub size: u32,
    /// The same seed gives the same files.
    pub seed: u64,
}

impl Default for ShapesConfig {
    fn default() -> Self {
        Self {
            train: 96,
            val: 24,
            size: 256,
            seed: 0,
        }
    }
}

const MOST_OBJECTS: usize = 4;
const JPEG_QUALITY: u8 = 90;

/// Draws a dataset into `dir`, which is made where it is missing, and returns its `data.yaml`.
///
/// The description names no `path`, so that the folder can be moved or packed as it is.
///
/// # Errors
/// When a file can't be written.
pub fn generate(dir: &Path, config: ShapesConfig) -> Result<PathBuf> {
    for (split, count) in [(Split::Train, config.train), (Split::Val, config.val)] {
        let images = dir.join("images").join(split.as_str());
        let labels = dir.join("labels").join(split.as_str());
        for folder in [&images, &labels] {
            fs::create_dir_all(folder).map_err(Error::write(folder))?;
        }
        for index in 0..count {
            // One generator an image: more images don't change those before.
            let stream = (index as u64) << 2 | split as u64;
            let mut random =
                Rng::with_seed(config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream);
            let (canvas, shapes) = compose(config.size.max(32), &mut random);
            write(&images.join(format!("{index:04}.jpg")), &encode(&canvas))?;
            write(
                &labels.join(format!("{index:04}.txt")),
                label_lines(&canvas, &shapes).as_bytes(),
            )?;
        }
    }
    let file = dir.join("data.yaml");
    let mut yaml = String::from("train: images/train\nval: images/val\nnames:\n");
    for (id, name) in CLASS_NAMES.iter().enumerate() {
        let _ = writeln!(yaml, "  {id}: {name}");
    }
    write(&file, yaml.as_bytes())?;
    Ok(file)
}

fn compose(size: u32, random: &mut Rng) -> (Canvas, Vec<Shape>) {
    let (width, height) = (size as i32, (size * 3 / 4) as i32);
    let mut canvas = Canvas::textured(width, height, random);
    let mut shapes: Vec<Shape> = Vec::new();
    let wanted = random.usize(1..=MOST_OBJECTS);
    // Some places are taken already; a bounded number of tries keeps a crowded image from looping.
    for _ in 0..wanted * 8 {
        let shape = Shape::random(width, height, random);
        if shapes.iter().all(|other| !other.touches(&shape)) {
            canvas.paint(&shape);
            shapes.push(shape);
        }
        if shapes.len() == wanted {
            break;
        }
    }
    (canvas, shapes)
}

fn label_lines(canvas: &Canvas, shapes: &[Shape]) -> String {
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    let mut text = String::new();
    for shape in shapes {
        let class = match shape.kind {
            ShapeKind::Circle => 0,
            ShapeKind::Rectangle => 1,
            ShapeKind::Triangle => 2,
        };
        let [x1, y1, x2, y2] = shape.extent().map(f64::from);
        let (cx, cy) = ((x1 + x2) / 2.0 / width, (y1 + y2) / 2.0 / height);
        let (w, h) = ((x2 - x1) / width, (y2 - y1) / height);
        let _ = writeln!(text, "{class} {cx:.6} {cy:.6} {w:.6} {h:.6}");
    }
    text
}

fn encode(canvas: &Canvas) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY)
        .encode(
            &canvas.pixels,
            canvas.width as u32,
            canvas.height as u32,
            ExtendedColorType::Rgb8,
        )
        .expect("writing to memory can't fail, and the size fits the pixels");
    bytes
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(Error::write(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataConfig, decode_rgb, read_labels};

    const SMALL: ShapesConfig = ShapesConfig {
        train: 6,
        val: 3,
        size: 160,
        seed: 5,
    };

    #[test]
    fn the_same_seed_draws_the_same_bytes() {
        let dirs = [5, 5, 6].map(|seed| {
            let dir = tempfile::tempdir().expect("a temporary folder");
            generate(dir.path(), ShapesConfig { seed, ..SMALL }).expect("writable");
            dir
        });
        let read =
            |index: usize, name: &str| fs::read(dirs[index].path().join(name)).expect("drawn");
        for name in ["images/train/0003.jpg", "labels/val/0001.txt", "data.yaml"] {
            assert_eq!(read(0, name), read(1, name), "{name}");
        }
        assert_ne!(
            read(0, "images/train/0003.jpg"),
            read(2, "images/train/0003.jpg")
        );
        assert_ne!(
            read(0, "images/train/0001.jpg"),
            read(0, "images/val/0001.jpg")
        );
    }

    #[test]
    fn boxes_hold_the_colour_of_their_class() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let config =
            DataConfig::load(&generate(dir.path(), SMALL).expect("writable")).expect("a dataset");
        let mut classes = [0; 3];
        for sample in config.samples(Split::Train).expect("listed") {
            let image = decode_rgb(&sample.image).expect("decodes");
            let labels = read_labels(&sample.label, config.nc).expect("readable");
            assert!(labels.issues.is_empty() && !labels.boxes.is_empty());
            for label in labels.boxes {
                let at = |x: f64, y: f64| {
                    let column = (x * f64::from(image.width)) as usize;
                    let offset = ((y * f64::from(image.height)) as usize * image.width as usize
                        + column)
                        * 3;
                    <[u8; 3]>::try_from(&image.pixels[offset..offset + 3]).expect("three channels")
                };
                // Red, green and blue are the strongest channel of class 0, 1 and 2.
                let centre = at(label.cx, label.cy + label.h / 8.0);
                assert_eq!(
                    centre.iter().max(),
                    Some(&centre[label.class]),
                    "{centre:?} of class {}",
                    label.class
                );
                classes[label.class] += 1;
            }
        }
        assert!(classes.iter().all(|count| *count > 0), "{classes:?}");
    }
}

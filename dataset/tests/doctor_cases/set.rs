//! A sound data set, with what the faults need to break it.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{self, FilterType};
use image::{DynamicImage, GrayImage, ImageFormat, RgbImage};

pub(super) const TRAIN: usize = 26;
pub(super) const VAL: usize = 9;

pub(super) struct Set {
    folder: PathBuf,
    /// Key and value, as they are written.
    pub(super) yaml: Vec<(&'static str, String)>,
}

impl Set {
    pub(super) fn draw(folder: &Path, random: &mut Rng) -> Self {
        let set = Self {
            folder: folder.to_path_buf(),
            yaml: vec![
                ("train", "images/train".into()),
                ("val", "images/val".into()),
                ("names", "[cat, dog, owl]".into()),
            ],
        };
        for (split, count) in [("train", TRAIN), ("val", VAL)] {
            for index in 0..count {
                let picture = scene(96, 72, random);
                set.bytes(&image(split, index), &jpeg(&picture));
                let lines: Vec<String> = (0..random.usize(1..4)).map(|_| line(random)).collect();
                set.text(&label(split, index), &format!("{}\n", lines.join("\n")));
            }
        }
        set
    }

    pub(super) fn finish(self) -> PathBuf {
        let lines: Vec<String> = self
            .yaml
            .iter()
            .map(|(key, value)| format!("{key}: {value}\n"))
            .collect();
        self.text("data.yaml", &lines.concat());
        self.folder.join("data.yaml")
    }

    pub(super) fn key(&mut self, key: &'static str, value: impl Into<String>) {
        self.without(key);
        self.yaml.push((key, value.into()));
    }

    pub(super) fn without(&mut self, key: &str) {
        self.yaml.retain(|(known, _)| *known != key);
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a name")).expect("writable");
        path
    }

    pub(super) fn text(&self, name: &str, text: &str) {
        self.bytes(name, text.as_bytes());
    }

    /// What a folder of that name hinders stays away.
    pub(super) fn bytes(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        if !path.is_dir() {
            fs::write(path, bytes).expect("writable");
        }
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_default()
    }

    pub(super) fn append(&self, name: &str, text: &str) {
        let mut bytes = self.read(name);
        bytes.extend(text.as_bytes());
        self.bytes(name, &bytes);
    }

    pub(super) fn remove(&self, name: &str) {
        let _absent = fs::remove_file(self.path(name));
    }

    pub(super) fn picture(&self, name: &str, picture: &DynamicImage, format: ImageFormat) {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).expect("it encodes");
        self.bytes(name, bytes.get_ref());
    }
}

pub(super) fn image(split: &str, index: usize) -> String {
    format!("images/{split}/{index:03}.jpg")
}

pub(super) fn label(split: &str, index: usize) -> String {
    format!("labels/{split}/{index:03}.txt")
}

/// A well-formed line: a box of some size that lies within the image.
pub(super) fn line(random: &mut Rng) -> String {
    let side = |random: &mut Rng| 0.1 + 0.3 * random.f64();
    let (w, h) = (side(random), side(random));
    let at = |size: f64, random: &mut Rng| size / 2.0 + (1.0 - size) * random.f64();
    let (x, y) = (at(w, random), at(h, random));
    format!("{} {x:.5} {y:.5} {w:.5} {h:.5}", random.usize(..3))
}

/// A picture whose thumbnail has no two neighbours that are nearly equal, so that its hash is beyond doubt.
pub(super) fn scene(width: u32, height: u32, random: &mut Rng) -> RgbImage {
    let mut coarse = GrayImage::new(9, 8);
    for y in 0..8 {
        let mut level = random.i32(60..190);
        for x in 0..9 {
            coarse.put_pixel(x, y, image::Luma([level as u8]));
            let step = random.i32(35..60);
            let up = if level < 80 {
                true
            } else if level > 170 {
                false
            } else {
                random.bool()
            };
            level += if up { step } else { -step };
        }
    }
    let grey = imageops::resize(&coarse, width, height, FilterType::Nearest);
    DynamicImage::ImageLuma8(grey).into_rgb8()
}

pub(super) fn jpeg(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 92)
        .encode_image(picture)
        .expect("it encodes");
    bytes
}

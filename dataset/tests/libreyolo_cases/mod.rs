//! Data sets of every layout that LibreYOLO reads, written into a folder.

use std::fs;
use std::path::{Path, PathBuf};

use image::{DynamicImage, Rgb, RgbImage};
use serde::Serialize;

/// A data set, and what is read of it.
#[derive(Debug, Serialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) data: PathBuf,
    pub(crate) split: &'static str,
    pub(crate) single_cls: bool,
    pub(crate) classes: Vec<usize>,
    /// Whether pixels are compared, too.
    pub(crate) pixels: bool,
    /// Whether both refuse it.
    #[serde(skip)]
    pub(crate) refused: bool,
}

/// A folder that data sets are written into.
struct Folder(PathBuf);

const NAMES: &str = "names: [cell, dog, plate]\n";

const LABELS: &str = "0 0.5 0.5 0.25 0.5\n\
    2 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6\n\
    1 0.95 0.5 0.4 1.5\r\n\
    \n\
    +1 3e-1 .5 0.2 0.2\n\
    0 0.5 0.5\n0 a 0 0 0\n0 nan 0.5 0.1 0.1\n1.5 0.5 0.5 0.1 0.1\n0 1 2 3 4 5\n3 0.5 0.5 0.1 0.1\n-1 0.5 0.5 0.1 0.1\n\
    0 0.5 0.5 0 0.1\n0 2 2 0.1 0.1\n0 0.5 0.5 -0.1 0.1\n\
    2 0.2 0.2 0.4 0.4 0.3 0.9 0.2\n\
    \t1  0.25 0.25\t0.3 0.3  \n";

/// Everything below `home`.
pub(crate) fn cases(home: &Path) -> Vec<Case> {
    let mut cases = text_files(home);
    cases.extend(coco_files(home));
    cases.extend(pictures(home));
    cases
}

fn text_files(home: &Path) -> Vec<Case> {
    let mut cases = vec![];
    let set = |name: &str, yaml: &str| {
        let folder = Folder(home.join(name));
        for image in [
            "images/train/b.jpg",
            "images/train/deep/a.JPG",
            "images/val/v.png",
        ] {
            folder.picture(image, 64, 48);
        }
        folder.picture("images/train/deep/images/c.png", 40, 60);
        folder.picture("pictures/d.bmp", 30, 30);
        folder.text("labels/train/b.txt", LABELS);
        folder.text("labels/train/deep/labels/c.txt", "1 0.5 0.5 0.5 0.5\n");
        folder.text("labels/val/v.txt", "0 0.1 0.1 0.5 0.5\n");
        folder.text("pictures/d.txt", "2 0.5 0.5 1 1\n");
        folder.text(
            "lists/train.txt",
            "# two images\n../images/train/deep/a.JPG\n\n./../images/train/b.jpg\nreadme.md\n../pictures/d.bmp\n",
        );
        folder.text("data.yaml", yaml)
    };
    for (name, yaml) in [
        ("folder", "train: images/train\nval: images/val\n"),
        (
            "list of images",
            "train: lists/train.txt\nval: images/val\n",
        ),
        (
            "several",
            "train: [pictures, lists/train.txt, images/val]\nval: [images/val]\n",
        ),
        (
            "one image",
            "train: images/train/b.jpg\nval: images/val/v.png\n",
        ),
        (
            "path of the file",
            "path: .\ntrain: images/train\nval: images/val\n",
        ),
        ("not described", "test: images/val\n"),
    ] {
        let data = set(name, &format!("{yaml}{NAMES}"));
        cases.push(Case::new(name, &data, "train"));
        cases.push(Case::new(name, &data, "val"));
    }

    let data = set(
        "named by number",
        "train: images/train\nval: images/val\nnames: {2: c, 0: a}\n",
    );
    cases.push(Case::new("named by number", &data, "train"));
    let data = set(
        "counted",
        "train: images/train\nval: images/val\nnc: 4\nnames: [a]\n",
    );
    cases.push(Case::new("counted", &data, "train"));
    let data = set("below/set", "");
    let above = Folder(home.join("below"));
    let _ = data;
    let data = above.text(
        "data.yaml",
        &format!("path: set\ntrain: images/train\nval: images/val\n{NAMES}"),
    );
    cases.push(Case::new("path below", &data, "train"));

    let data = set(
        "selected",
        &format!("train: images/train\nval: images/val\nnc: 3\n{NAMES}"),
    );
    for (single, classes) in [
        (true, vec![]),
        (false, vec![1]),
        (false, vec![2, 0]),
        (true, vec![1, 2]),
    ] {
        for split in ["train", "val"] {
            cases.push(Case {
                single_cls: single,
                classes: classes.clone(),
                ..Case::new(
                    &format!("single {single}, classes {classes:?}"),
                    &data,
                    split,
                )
            });
        }
    }
    cases.push(Case {
        classes: vec![3],
        refused: true,
        ..Case::new("a class that isn't there", &data, "train")
    });
    let data = set(
        "nowhere",
        &format!("train: images/none\nval: images/val\n{NAMES}"),
    );
    cases.push(Case::new("no such folder", &data, "train").refused());
    cases
}

fn coco_files(home: &Path) -> Vec<Case> {
    let mut cases = vec![];
    let set = |name: &str, yaml: &str, json: &[&str], images: &str| {
        let folder = Folder(home.join(name));
        for image in ["a.jpg", "deep/b.jpg", "not_named.jpg"] {
            folder.picture(&format!("{images}/{image}"), 200, 100);
        }
        for json in json {
            folder.text(json, INSTANCES);
        }
        folder.text("data.yaml", yaml)
    };
    let named = "names: [car, bus, dog]\n";
    let data = set(
        "coco",
        &format!(
            "train: pictures\nval: pictures\nannotations: {{train: boxes/t.json, val: boxes/t.json}}\n{named}"
        ),
        &["boxes/t.json"],
        "pictures",
    );
    for (single, classes) in [
        (false, vec![]),
        (true, vec![]),
        (false, vec![2]),
        (true, vec![0, 1]),
    ] {
        for split in ["train", "val"] {
            cases.push(Case {
                single_cls: single,
                classes: classes.clone(),
                ..Case::new(
                    &format!("COCO, single {single}, classes {classes:?}"),
                    &data,
                    split,
                )
            });
        }
    }
    let both = [
        "annotations/instances_train2017.json",
        "annotations/instances_val2017.json",
    ];
    let train = &both[..1];
    let yaml = format!("train: train2017.txt\nval: val2017.txt\nnc: 3\n{named}");
    let data = set("COCO's names", &yaml, &both, "train2017");
    cases.push(Case::new("COCO's names", &data, "train"));
    let data = set("COCO's names below images", &yaml, &both, "images/val2017");
    cases.push(Case::new("COCO's names below images", &data, "val"));
    let data = set(
        "without a year",
        &yaml,
        &["annotations/instances_val.json"],
        "val",
    );
    cases.push(Case::new("without a year", &data, "val"));
    let yaml = format!("train: images/train2017\nval: images/train2017\n{named}");
    let data = set("images of its own", &yaml, train, "images/train2017");
    cases.push(Case::new("images of its own", &data, "train"));
    cases.push(Case::new("images of its own", &data, "val"));
    let yaml = format!("annotations: {{train: annotations/instances_train2017.json}}\n{named}");
    let data = set("no folder named", &yaml, train, "train2017");
    cases.push(Case::new("no folder named", &data, "train"));

    for (name, yaml) in [
        ("unknown category", "names: [car, cat, bus]\n"),
        ("a name twice", "names: [car, bus, dog, dog]\n"),
        ("a category beyond nc", "nc: 2\nnames: [car, bus, dog]\n"),
    ] {
        let yaml = format!("train: pictures\nannotations: {{train: t.json}}\n{yaml}");
        let data = set(name, &yaml, &["t.json"], "pictures");
        cases.push(Case::new(name, &data, "train").refused());
    }
    let yaml = format!("train: [pictures, more]\nannotations: {{train: t.json}}\n{named}");
    let data = set("two folders", &yaml, &["t.json"], "pictures");
    cases.push(Case::new("two folders", &data, "train").refused());
    cases
}

const INSTANCES: &str = r#"{
    "images": [
        {"id": 9, "file_name": "deep/b.jpg", "width": 200, "height": 100},
        {"id": 7, "file_name": "a.jpg", "width": 200, "height": 100}
    ],
    "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}, {"id": 4, "name": "bus"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 18, "bbox": [20.5, 10, 40, 20.25], "area": 800, "iscrowd": 0},
        {"id": 2, "image_id": 7, "category_id": 3, "bbox": [-10, 90, 30, 40], "area": 5, "iscrowd": 0},
        {"id": 3, "image_id": 7, "category_id": 3, "bbox": [0, 0, 50, 50], "area": 5, "iscrowd": 1},
        {"id": 4, "image_id": 7, "category_id": 4, "bbox": [0, 0, 50, 50], "area": 0, "iscrowd": 0},
        {"id": 5, "image_id": 7, "category_id": 3, "bbox": [250, 0, 50, 50], "area": 5, "iscrowd": 0},
        {"id": 6, "image_id": 7, "category_id": 4, "bbox": [0, 0, 50, 50], "iscrowd": 0}
    ]
}"#;

/// Every kind of file and of pixels.
fn pictures(home: &Path) -> Vec<Case> {
    let folder = Folder(home.join("pictures"));
    let wide = picture(64, 40);
    for suffix in ["bmp", "gif", "jpg", "png", "tiff", "webp"] {
        folder.save(&format!("images/rgb.{suffix}"), &wide.clone().into());
    }
    let picture = DynamicImage::from(wide);
    for (name, image) in [
        ("grey", DynamicImage::from(picture.to_luma8())),
        ("grey_alpha", picture.to_luma_alpha8().into()),
        ("alpha", with_alpha(&picture)),
        ("deep", picture.to_rgb16().into()),
        ("deep_grey", picture.to_luma16().into()),
    ] {
        folder.save(&format!("images/{name}.png"), &image);
    }
    folder.save("images/grey.jpg", &picture.to_luma8().into());
    turned(
        &folder.0.join("images/rgb.jpg"),
        &folder.0.join("images/turned.jpg"),
    );
    let data = folder.text("data.yaml", &format!("train: images\nval: images\n{NAMES}"));
    vec![Case {
        pixels: true,
        ..Case::new("pictures", &data, "train")
    }]
}

/// Half of it is transparent.
fn with_alpha(picture: &DynamicImage) -> DynamicImage {
    let mut picture = picture.to_rgba8();
    for (x, _, pixel) in picture.enumerate_pixels_mut() {
        pixel.0[3] = if x % 2 == 0 { 255 } else { 40 };
    }
    picture.into()
}

/// The same JPEG with an EXIF orientation, a quarter turn.
fn turned(from: &Path, to: &Path) {
    let jpeg = fs::read(from).expect("just written");
    let mut exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08".to_vec();
    exif.extend(b"\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0");
    let (start, rest) = jpeg.split_at(2);
    fs::write(to, [start, &exif, rest].concat()).expect("writable");
}

fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x * 3) as u8, (y * 4) as u8, (x + y * 2) as u8])
    })
}

impl Folder {
    fn text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("writable");
        path
    }

    fn picture(&self, name: &str, width: u32, height: u32) {
        self.save(name, &picture(width, height).into());
    }

    fn save(&self, name: &str, image: &DynamicImage) {
        image.save(self.path(name)).expect("writable");
    }

    /// Its folder is made.
    fn path(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("writable");
        path
    }
}

impl Case {
    fn new(name: &str, data: &Path, split: &'static str) -> Case {
        Case {
            name: format!("{name}, {split}"),
            data: data.to_path_buf(),
            split,
            single_cls: false,
            classes: vec![],
            pixels: false,
            refused: false,
        }
    }

    fn refused(self) -> Case {
        Case {
            refused: true,
            ..self
        }
    }
}

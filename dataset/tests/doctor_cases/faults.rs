//! What can be wrong with a data set, one function each.

use fastrand::Rng;
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};

use super::set::{Set, TRAIN, VAL, image, jpeg, label, line, scene};

type Fault = fn(&mut Set, &mut Rng);

pub(super) const FAULTS: [(&str, Fault); 67] = [
    ("no names", |set, _| set.without("names")),
    ("names no list", |set, _| set.key("names", "cats")),
    ("odd keys of names", |set, _| {
        set.key("names", "{0: cat, one: dog, 2: owl}");
    }),
    ("gap in names", |set, _| {
        set.key("names", "{0: cat, 2: owl}")
    }),
    ("names twice", |set, _| set.key("names", "[cat, dog, cat]")),
    ("names from numbers", |set, _| set.key("names", "[1, 2, 3]")),
    ("more classes", |set, _| set.key("nc", "5")),
    ("half a class", |set, _| set.key("nc", "3.5")),
    ("as many classes in decimals", |set, _| set.key("nc", "3.0")),
    ("no number of classes", |set, _| set.key("nc", "three")),
    ("no classes", |set, _| set.key("nc", "0")),
    ("no val", |set, _| set.without("val")),
    ("no train", |set, _| set.without("train")),
    ("nothing for val", |set, _| set.key("val", "")),
    ("train elsewhere", |set, _| {
        set.key("train", "../images/train")
    }),
    ("one of two elsewhere", |set, _| {
        set.key("train", "[images/train, images/more]");
    }),
    ("an empty folder", |set, _| {
        set.text("empty/readme.txt", "");
        set.key("val", "[images/val, empty]");
    }),
    ("an empty list", |set, _| {
        set.text("val.txt", "# nothing yet\n\n");
        set.key("val", "val.txt");
    }),
    ("an archive for a folder", |set, _| {
        set.text("images.zip", "PK");
        set.key("val", "images.zip");
    }),
    ("a list of what is not there", |set, random| {
        let mut text = String::from("# some\n");
        for index in (0..TRAIN).filter(|_| random.u8(..4) > 0) {
            text += &format!("./images/train/{index:03}.jpg\n");
        }
        text += "images/train/gone.jpg\nimages/train/readme.md\nimages/train/away.PNG\n";
        set.text("train.txt", &text);
        set.key("train", "train.txt");
    }),
    ("a test split", |set, random| {
        for index in 0..3 {
            set.bytes(&image("test", index), &jpeg(&scene(80, 80, random)));
        }
        set.text(&label("test", 0), "0 0.5 0.5 0.1 0.1\n");
        set.key("test", "images/test");
    }),
    ("labels missing", |set, random| {
        for _ in 0..3 {
            set.remove(&label("train", random.usize(..TRAIN)));
        }
    }),
    ("all labels of val missing", |set, _| {
        for index in 0..VAL {
            set.remove(&label("val", index));
        }
    }),
    ("all labels of train missing", |set, _| {
        for index in 0..TRAIN {
            set.remove(&label("train", index));
        }
    }),
    ("labels left over", |set, _| {
        set.text("labels/train/lost.txt", "0 0.5 0.5 0.1 0.1\n");
        set.text("labels/val/lost too.txt", "");
        set.text("labels/val/classes.txt", "cat\n");
        set.text("labels/val/notes.json", "{}");
    }),
    ("other files", |set, _| {
        set.text("images/train/readme.md", "");
        set.text("images/train/deep/film.mp4", "");
        set.text("images/val/noted.xml", "");
        set.text("images/val/.hidden", "");
        set.text("images/val/nosuffix", "");
    }),
    ("one label for two images", |set, random| {
        let picture = DynamicImage::ImageRgb8(scene(64, 64, random));
        set.picture("images/train/003.png", &picture, ImageFormat::Png);
        set.bytes("images/train/004.JPG", &jpeg(&scene(64, 64, random)));
    }),
    ("images deeper down", |set, random| {
        set.bytes(
            "images/train/deep/er/000.jpg",
            &jpeg(&scene(64, 64, random)),
        );
        set.text("labels/train/deep/er/000.txt", "2 0.5 0.5 0.2 0.2\n");
    }),
    ("short lines", |set, random| {
        set.append(&label("train", random.usize(..TRAIN)), "0 0.5 0.5\n1\n");
    }),
    ("words for numbers", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "cat 0.5 0.5 0.1 0.1\n0 a b c d\n",
        );
        set.append(&label("val", random.usize(..VAL)), "0.0 0.5 0.5 0.1 0.1\n");
    }),
    ("no finite numbers", |set, random| {
        set.append(
            &label("val", random.usize(..VAL)),
            "0 nan 0.5 0.1 0.1\n0 0.5 inf 0.1 0.1\n",
        );
    }),
    ("signs and exponents", |set, random| {
        set.append(
            &label("val", random.usize(..VAL)),
            "+1 5e-1 .5 +0.2 2.0E-1\n",
        );
    }),
    ("outlines", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.1 0.1 0.3 0.1 0.3 0.3\n2 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6\n",
        );
    }),
    ("outlines of half a point", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.1 0.2 0.3 0.4 0.9\n",
        );
    }),
    ("outlines everywhere", |set, _| {
        for index in 0..TRAIN {
            set.text(
                &label("train", index),
                "0 0.1 0.1 0.3 0.1 0.3 0.3\n1 0.5 0.5 0.9 0.5 0.9 0.9\n",
            );
        }
    }),
    ("keypoints", |set, _| set.key("kpt_shape", "[17, 3]")),
    ("unknown classes", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "3 0.5 0.5 0.1 0.1\n-1 0.4 0.4 0.1 0.1\n",
        );
        set.append(&label("val", random.usize(..VAL)), "700 0.5 0.5 0.1 0.1\n");
    }),
    ("pixels for shares", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 48 36 20 20\n0 -0.1 0.5 0.1 0.1\n",
        );
    }),
    ("just outside", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 1.0000005 0.5 0.001 0.1\n0 1.00001 0.5 0.001 0.1\n1 -0.0000005 0.5 0.0005 0.1\n",
        );
    }),
    ("over the edge", |set, random| {
        set.append(
            &label("val", random.usize(..VAL)),
            "0 0.9 0.5 0.3 0.1\n1 0.5 0.0503 0.2 0.1\n1 0.5 0.0491 0.2 0.1\n2 0.5 0.0489 0.2 0.1\n",
        );
    }),
    ("no area", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 0 0.1\n1 0.5 0.5 0.1 -0.1\n2 0.5 0.5 0 0\n",
        );
    }),
    ("tiny", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 0.004 0.1\n1 0.3 0.3 0.1 0.0061\n2 0.2 0.2 0.009 0.012\n",
        );
    }),
    ("huge", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 1 1\n1 0.5 0.5 0.97 0.98\n1 0.5 0.5 0.97 0.979\n",
        );
    }),
    ("slivers", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 0.8 0.02\n0 0.5 0.6 0.9 0.008\n1 0.2 0.5 0.012 0.9\n",
        );
    }),
    ("labelled twice", |set, random| {
        set.append(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 0.2 0.2\n0 0.5 0.501 0.2 0.2\n1 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.205\n0 0.52 0.5 0.2 0.2\n",
        );
    }),
    ("a crowd", |set, random| {
        let lines: Vec<String> = (0..90).map(|_| line(random)).collect();
        set.append(
            &label("train", random.usize(..TRAIN)),
            &(lines.join("\n") + "\n"),
        );
    }),
    ("a crowd among many", |set, random| {
        for index in 0..80 {
            set.bytes(&image("train", 100 + index), &jpeg(&scene(36, 32, random)));
        }
        let lines: Vec<String> = (0..90).map(|_| line(random)).collect();
        set.text(&label("train", 120), &(lines.join("\n") + "\n"));
    }),
    ("copied labels", |set, _| {
        for index in 4..10 {
            set.text(&label("train", index), "1 0.25 0.25 0.25 0.25\n");
        }
        for index in 10..15 {
            set.text(&label("train", index), "2 0.75 0.75 0.25 0.25\n");
        }
    }),
    ("empty labels", |set, _| {
        for index in 2..9 {
            set.text(
                &label("train", index),
                if index % 2 == 0 { "" } else { " \n\n" },
            );
        }
    }),
    ("other line ends", |set, random| {
        set.text(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 0.1 0.1\r\n1 0.2 0.2 0.1\r\n",
        );
        set.text(
            &label("train", random.usize(..TRAIN)),
            "0 0.5 0.5 0.1 0.1\r1 0.2 0.2 0.1 0.1\r",
        );
    }),
    ("a folder for a label", |set, _| {
        set.remove("labels/val/002.txt");
        set.text("labels/val/002.txt/x", "");
    }),
    ("a rare class", |set, random| {
        for index in 0..TRAIN {
            let text = String::from_utf8(set.read(&label("train", index))).unwrap_or_default();
            set.text(&label("train", index), &text.replace("\n2 ", "\n1 "));
        }
        let lines: Vec<String> = (0..60)
            .map(|_| format!("0 {}", &line(random)[2..]))
            .collect();
        set.append(&label("train", 0), &(lines.join("\n") + "\n"));
    }),
    ("a very rare class", |set, random| {
        for index in 0..VAL {
            set.text(&label("val", index), "1 0.5 0.5 0.2 0.2\n");
        }
        for index in 0..TRAIN {
            let lines: Vec<String> = (0..8)
                .map(|_| format!("0 {}", &line(random)[2..]))
                .collect();
            set.text(&label("train", index), &(lines.join("\n") + "\n"));
        }
        set.append(&label("train", 1), "2 0.5 0.5 0.2 0.2\n");
    }),
    ("mostly background", |set, _| {
        for index in 0..TRAIN {
            if index % 4 != 0 {
                set.text(&label("train", index), "");
            }
        }
    }),
    ("cut images", |set, random| {
        for (split, count) in [("train", TRAIN), ("val", VAL)] {
            let name = image(split, random.usize(..count));
            let bytes = set.read(&name);
            set.bytes(&name, &bytes[..bytes.len() * 2 / 3]);
        }
    }),
    ("images without content", |set, random| {
        set.bytes(&image("train", random.usize(..TRAIN)), b"");
        set.text(&image("val", random.usize(..VAL)), "<html>404</html>");
    }),
    ("a cut PNG", |set, random| {
        set.picture(
            "images/train/cut.png",
            &DynamicImage::ImageRgb8(scene(96, 72, random)),
            ImageFormat::Png,
        );
        let bytes = set.read("images/train/cut.png");
        set.bytes("images/train/cut.png", &bytes[..bytes.len() / 2]);
    }),
    ("the wrong suffix", |set, random| {
        let picture = DynamicImage::ImageRgb8(scene(96, 72, random));
        set.picture(
            &image("train", random.usize(..TRAIN)),
            &picture,
            ImageFormat::Png,
        );
    }),
    ("turned images", |set, random| {
        for turn in [1, 3, 6] {
            let name = image("train", random.usize(..TRAIN));
            let bytes = set.read(&name);
            set.bytes(&name, &with_orientation(&bytes, turn));
        }
    }),
    ("other channels", |set, random| {
        let picture = || DynamicImage::ImageRgb8(scene(96, 72, &mut Rng::with_seed(9)));
        let _ = random;
        set.picture(
            "images/train/grey.jpg",
            &picture().to_luma8().into(),
            ImageFormat::Jpeg,
        );
        set.picture(
            "images/val/seen through.png",
            &DynamicImage::ImageRgb8(scene(70, 70, random))
                .to_rgba8()
                .into(),
            ImageFormat::Png,
        );
        set.picture(
            "images/val/grey through.png",
            &DynamicImage::ImageRgb8(scene(71, 70, random))
                .to_luma_alpha8()
                .into(),
            ImageFormat::Png,
        );
        set.picture(
            "images/val/film.gif",
            &DynamicImage::ImageRgb8(scene(72, 70, random))
                .to_rgba8()
                .into(),
            ImageFormat::Gif,
        );
    }),
    ("other formats", |set, random| {
        for (name, format) in [
            ("b.bmp", ImageFormat::Bmp),
            ("t.tiff", ImageFormat::Tiff),
            ("w.webp", ImageFormat::WebP),
            ("p.png", ImageFormat::Png),
        ] {
            let picture = DynamicImage::ImageRgb8(scene(90, 60, random));
            set.picture(&format!("images/train/{name}"), &picture, format);
        }
    }),
    ("images of no use", |set, random| {
        set.bytes(
            &image("train", random.usize(..TRAIN)),
            &jpeg(&scene(31, 40, random)),
        );
        set.bytes(
            &image("train", random.usize(..TRAIN)),
            &jpeg(&scene(32, 32, random)),
        );
        set.bytes(
            &image("val", random.usize(..VAL)),
            &jpeg(&scene(840, 40, random)),
        );
        set.bytes(
            &image("val", random.usize(..VAL)),
            &jpeg(&scene(40, 800, random)),
        );
    }),
    ("one colour", |set, random| {
        let plain = |level| RgbImage::from_pixel(64, 64, Rgb([level, level, level]));
        set.bytes(&image("train", random.usize(..TRAIN)), &jpeg(&plain(200)));
        set.picture(
            "images/train/plain.png",
            &DynamicImage::ImageRgb8(plain(0)),
            ImageFormat::Png,
        );
    }),
    ("copies", |set, random| {
        let bytes = set.read(&image("train", random.usize(..TRAIN)));
        set.bytes("images/train/again.jpg", &bytes);
        set.bytes("images/train/and again.jpg", &bytes);
        set.bytes("images/train/broken.jpg", b"broken");
        set.bytes("images/train/broken too.jpg", b"broken");
    }),
    ("copies in val", |set, random| {
        for copy in 0..3 {
            let bytes = set.read(&image("train", random.usize(..TRAIN)));
            set.bytes(&format!("images/val/copy {copy}.jpg"), &bytes);
        }
    }),
    ("frames of a film", |set, random| {
        let mut picture = scene(96, 72, random);
        for frame in 0..4 {
            set.bytes(&format!("images/train/frame {frame}.jpg"), &jpeg(&picture));
            set.bytes(
                &format!("images/val/frame {frame}.jpg"),
                &jpeg(&brighter(&picture, 1)),
            );
            picture = brighter(&picture, 5);
        }
    }),
    ("one image for all", |set, random| {
        let picture = scene(96, 72, random);
        for index in 0..TRAIN {
            set.bytes(
                &image("train", index),
                &jpeg(&brighter(&picture, index as u8)),
            );
        }
    }),
];

fn brighter(picture: &RgbImage, by: u8) -> RgbImage {
    let mut picture = picture.clone();
    for level in picture.iter_mut() {
        *level = level.saturating_add(by);
    }
    picture
}

/// The smallest EXIF there is, behind the file's first marker.
fn with_orientation(jpeg: &[u8], turn: u8) -> Vec<u8> {
    let mut exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([turn, 0, 0, 0, 0, 0, 0]);
    let length = (exif.len() as u16 + 2).to_be_bytes();
    let (start, rest) = jpeg.split_at(2.min(jpeg.len()));
    [start, &[0xff, 0xe1], &length, &exif, rest].concat()
}

//! Where a split's boxes are written: one text file an image, or one COCO file for all.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::label::{Label, LabelIssue, LabelIssueKind, Labels, read_selected_labels};
use crate::selection::ClassSelection;
use crate::split::Sample;
use crate::{Error, Result, file};

/// A split's images, and where their boxes come from.
#[derive(Debug, Clone)]
pub struct SplitData {
    pub samples: Vec<Sample>,
    pub annotations: Annotations,
}

/// Samples with text files.
impl From<Vec<Sample>> for SplitData {
    fn from(samples: Vec<Sample>) -> Self {
        Self {
            samples,
            annotations: Annotations::default(),
        }
    }
}

/// The boxes of a split.
#[derive(Debug, Clone, Default)]
pub struct Annotations {
    /// A COCO file's boxes by image. None: a text file beside each image.
    coco: Option<HashMap<PathBuf, CocoImage>>,
    selection: ClassSelection,
}

/// One image of a COCO file.
#[derive(Debug, Clone, Default)]
struct CocoImage {
    labels: Labels,
    boxes: Vec<CocoBox>,
}

/// A box as a COCO file has it, for measuring what was found. Crowds are here, which nothing is learnt from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CocoBox {
    /// Class id.
    pub class: usize,
    /// `[x, y, width, height]` in pixels, as written.
    pub xywh: [f64; 4],
    /// Of the object's outline, in square pixels; the box's own where the file has none.
    pub area: f64,
    /// Many objects in one box.
    pub crowd: bool,
}

impl Annotations {
    /// Text files, which need no preparation.
    pub(crate) fn text(selection: &ClassSelection) -> Self {
        Self {
            coco: None,
            selection: selection.clone(),
        }
    }

    /// A COCO file, read whole, with the images that it names in its order.
    ///
    /// Categories are the dataset's classes by their names. Crowds and boxes without an area are left out, as in
    /// LibreYOLO.
    ///
    /// # Errors
    /// When the file can't be read, or names a category that is none of `names`, or more than one of them.
    pub(crate) fn coco(
        path: &Path,
        folder: &Path,
        names: &[String],
        selection: &ClassSelection,
    ) -> Result<(Vec<PathBuf>, Self)> {
        let (images, boxes) = read_coco(path, folder, names, selection)?;
        let annotations = Self {
            coco: Some(boxes),
            selection: selection.clone(),
        };
        Ok((images, annotations))
    }

    /// The usable boxes of an image, and what had to be left out.
    ///
    /// # Errors
    /// When its text file is there but can't be read.
    pub fn labels(&self, sample: &Sample, nc: usize) -> Result<Labels> {
        match &self.coco {
            None => read_selected_labels(&sample.label, nc, &self.selection),
            Some(images) => Ok(images
                .get(&sample.image)
                .map(|image| image.labels.clone())
                .unwrap_or_default()),
        }
    }

    /// All boxes of an image of a COCO file; none where the boxes are in text files.
    pub fn coco_boxes(&self, sample: &Sample) -> Option<&[CocoBox]> {
        let image = self.coco.as_ref()?.get(&sample.image);
        Some(image.map_or(&[], |image| &image.boxes))
    }
}

/// The names of the categories by ascending id, for a dataset that names no class itself.
pub(crate) fn category_names(path: &Path) -> Result<Vec<String>> {
    let categories = parse(path)?.categories;
    let by_id: BTreeMap<i64, String> = categories.into_iter().map(|c| (c.id, c.name)).collect();
    Ok(by_id.into_values().collect())
}

/// The images of a COCO file, and what it has of those with any box.
fn read_coco(
    path: &Path,
    folder: &Path,
    names: &[String],
    selection: &ClassSelection,
) -> Result<(Vec<PathBuf>, HashMap<PathBuf, CocoImage>)> {
    let instances = parse(path)?;
    let classes = classes(path, &instances.categories, names, selection)?;
    let mut images = Vec::with_capacity(instances.images.len());
    let mut by_id = HashMap::new();
    for image in instances.images {
        let name = image
            .file_name
            .unwrap_or_else(|| format!("{:012}.jpg", image.id));
        let file = folder.join(name);
        by_id.insert(image.id, (file.clone(), image.width, image.height));
        images.push(file);
    }
    let mut boxes: HashMap<PathBuf, CocoImage> = HashMap::new();
    for (index, annotation) in instances.annotations.iter().enumerate() {
        let Some((file, width, height)) = by_id.get(&annotation.image_id) else {
            continue;
        };
        let found = boxes.entry(file.clone()).or_default();
        found.boxes.extend(as_written(annotation, &classes));
        if annotation.is_crowd() || annotation.area.unwrap_or(1.0) <= 0.0 {
            continue;
        }
        match usable(annotation, &classes, *width, *height) {
            Ok(label) => found.labels.boxes.extend(label),
            Err(kind) => found.labels.issues.push(LabelIssue {
                line: index + 1,
                kind,
            }),
        }
    }
    Ok((images, boxes))
}

/// The class of each category; none where it isn't selected.
fn classes(
    path: &Path,
    categories: &[Category],
    names: &[String],
    selection: &ClassSelection,
) -> Result<HashMap<i64, Option<usize>>> {
    let wrong = |problem: String, remedy: &str| Error::Config {
        path: path.to_path_buf(),
        problem,
        remedy: remedy.to_owned(),
    };
    let mut classes = HashMap::new();
    for Category { id, name } in categories {
        let mut named = (0..).zip(names).filter(|(_, known)| *known == name);
        let Some((class, _)) = named.next() else {
            return Err(wrong(
                format!("category {name:?} is none of data.yaml's names"),
                "add it to 'names', or take it out of the COCO file",
            ));
        };
        if named.next().is_some() {
            return Err(wrong(
                format!("data.yaml has the name {name:?} twice, so its class isn't known"),
                "give each class a name of its own",
            ));
        }
        let selected = selection
            .map(class)
            .and_then(|class| usize::try_from(class).ok());
        classes.insert(*id, selected);
    }
    Ok(classes)
}

/// None of a class that isn't selected or listed.
fn as_written(annotation: &Annotation, classes: &HashMap<i64, Option<usize>>) -> Option<CocoBox> {
    let class = (*classes.get(&annotation.category_id)?)?;
    let xywh = annotation.bbox;
    Some(CocoBox {
        class,
        xywh,
        area: annotation.area.unwrap_or(xywh[2] * xywh[3]),
        crowd: annotation.is_crowd(),
    })
}

/// The box as LibreYOLO cuts it: the corner moves into the image first, then the far side.
fn usable(
    annotation: &Annotation,
    classes: &HashMap<i64, Option<usize>>,
    width: f64,
    height: f64,
) -> std::result::Result<Option<Label>, LabelIssueKind> {
    let category = annotation.category_id;
    let class = *classes
        .get(&category)
        .ok_or(LabelIssueKind::UnknownCategory { category })?;
    let Some(class) = class else {
        return Ok(None);
    };
    let [x, y, w, h] = annotation.bbox;
    let (x1, y1) = (x.max(0.0), y.max(0.0));
    let (x2, y2) = ((x1 + w.max(0.0)).min(width), (y1 + h.max(0.0)).min(height));
    // A NaN is no area either.
    if !(x2 > x1 && y2 > y1) {
        return Err(LabelIssueKind::NoArea);
    }
    Ok(Some(Label {
        class,
        cx: (x1 + x2) / 2.0 / width,
        cy: (y1 + y2) / 2.0 / height,
        w: (x2 - x1) / width,
        h: (y2 - y1) / height,
    }))
}

fn parse(path: &Path) -> Result<Instances> {
    let text = file::read_text(path).map_err(Error::read(path))?;
    serde_json::from_str(&text).map_err(|error| Error::Yaml {
        path: path.to_path_buf(),
        line: error.line() as u64,
        column: error.column() as u64,
        message: format!("no COCO instances file: {error}"),
    })
}

#[derive(Deserialize)]
struct Instances {
    images: Vec<Image>,
    #[serde(default)]
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Image {
    id: i64,
    file_name: Option<String>,
    width: f64,
    height: f64,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: i64,
    category_id: i64,
    /// x, y, width, height in pixels.
    bbox: [f64; 4],
    area: Option<f64>,
    iscrowd: Option<i64>,
}

impl Annotation {
    fn is_crowd(&self) -> bool {
        self.iscrowd.unwrap_or(0) != 0
    }
}

#[derive(Deserialize)]
struct Category {
    id: i64,
    name: String,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{DataConfig, Split};

    const INSTANCES: &str = r#"{
        "images": [
            {"id": 7, "file_name": "a.jpg", "width": 200, "height": 100},
            {"id": 9, "file_name": "deep/b.jpg", "width": 100, "height": 100}
        ],
        "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}],
        "annotations": [
            {"image_id": 7, "category_id": 18, "bbox": [20, 10, 40, 20], "area": 800, "iscrowd": 0},
            {"image_id": 7, "category_id": 3, "bbox": [-10, 90, 30, 40]},
            {"image_id": 7, "category_id": 3, "bbox": [0, 0, 50, 50], "iscrowd": 1},
            {"image_id": 7, "category_id": 3, "bbox": [0, 0, 50, 50], "area": 0},
            {"image_id": 7, "category_id": 3, "bbox": [250, 0, 50, 50]}
        ]
    }"#;

    fn dataset(yaml: &str) -> (tempfile::TempDir, Result<DataConfig>) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("train.json"), INSTANCES).expect("writable");
        fs::create_dir(dir.path().join("pictures")).expect("writable");
        fs::write(dir.path().join("data.yaml"), yaml).expect("writable");
        let config = DataConfig::load(dir.path());
        (dir, config)
    }

    #[test]
    fn a_coco_file_gives_images_and_boxes() {
        let (dir, config) =
            dataset("train: pictures\nannotations: {train: train.json}\nnames: [car, dog]\n");
        let config = config.expect("a dataset");
        let samples = config.samples(Split::Train).expect("named");
        let folder = dir.path().join("pictures");
        let images: Vec<_> = samples.iter().map(|sample| sample.image.clone()).collect();
        assert_eq!(images, [folder.join("a.jpg"), folder.join("deep/b.jpg")]);

        let annotations = config.read(Split::Train).expect("readable").annotations;
        let labels = annotations.labels(&samples[0], 2).expect("known");
        let label = |class, cx, cy, w, h| Label {
            class,
            cx,
            cy,
            w,
            h,
        };
        assert_eq!(
            labels.boxes,
            [
                label(1, 0.2, 0.2, 0.2, 0.2),
                label(0, 0.075, 0.95, 0.15, 0.1)
            ]
        );
        assert_eq!(labels.issues.len(), 1, "outside of the image");
        let written = annotations.coco_boxes(&samples[0]).expect("a COCO file");
        let crowds: Vec<bool> = written.iter().map(|found| found.crowd).collect();
        assert_eq!(crowds, [false, false, true, false, false]);
        assert_eq!((written[0].area, written[1].area), (800.0, 1200.0));
        assert_eq!(labels.issues[0].line, 5);
        let background = annotations.labels(&samples[1], 2).expect("known");
        assert_eq!(background, Labels::default());
    }

    #[test]
    fn categories_are_classes_by_name_or_by_their_ids_order() {
        let (_dir, config) = dataset("train: pictures\nannotations: {train: train.json}\n");
        assert_eq!(config.expect("named by the file").names, ["car", "dog"]);
        let (_dir, config) =
            dataset("train: pictures\nannotations: {train: train.json}\nnames: [car]\n");
        let error = config.expect("a dataset").read(Split::Train);
        let text = error.expect_err("an unknown category").to_string();
        assert!(text.contains("\"dog\""), "{text}");
    }

    #[test]
    fn damage_is_named_by_its_place() {
        let (dir, config) =
            dataset("train: pictures\nannotations: {train: train.json}\nnames: [car, dog]\n");
        fs::write(dir.path().join("train.json"), "{\n\"images\": 3}").expect("writable");
        let error = config.expect("a dataset").read(Split::Train);
        let text = error.expect_err("no COCO file").to_string();
        assert!(text.contains("train.json:2:"), "{text}");
    }
}

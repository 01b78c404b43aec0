//! Label files: one box a line, `class cx cy w h`, normalised to the image.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;

use crate::selection::ClassSelection;
use crate::{Error, Result, file};

/// A usable box, normalised to the image: all of it lies within [0, 1] and it has an area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Label {
    /// Class id, below the dataset's number of classes.
    pub class: usize,
    /// Centre, from the left.
    pub cx: f64,
    /// Centre, from the top.
    pub cy: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl Label {
    /// The box as `[x1, y1, x2, y2]` in pixels of an image of this size, clamped to it.
    pub fn corners(&self, width: u32, height: u32) -> [f64; 4] {
        let (width, height) = (f64::from(width), f64::from(height));
        [
            ((self.cx - self.w / 2.0) * width).clamp(0.0, width),
            ((self.cy - self.h / 2.0) * height).clamp(0.0, height),
            ((self.cx + self.w / 2.0) * width).clamp(0.0, width),
            ((self.cy + self.h / 2.0) * height).clamp(0.0, height),
        ]
    }
}

/// One line as it is written, before anything is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelLine {
    /// Class id, any.
    pub class: i64,
    /// `cx, cy, w, h`, finite, of any value.
    pub box_: [f64; 4],
    /// Whether the line was a polygon, whose extent this box is.
    pub polygon: bool,
}

/// The usable boxes of one image, and what had to be left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// The usable boxes.
    pub boxes: Vec<Label>,
    /// The lines left out.
    pub issues: Vec<LabelIssue>,
}

/// A line that was left out, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelIssue {
    /// 1-based.
    pub line: usize,
    /// What is wrong.
    pub kind: LabelIssueKind,
}

/// Why a line can't be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LabelIssueKind {
    /// The line has not the form of a label.
    #[error("{0}")]
    Syntax(String),
    /// The class id isn't one of the dataset's.
    #[error("class {class} is outside [0, {nc})")]
    ClassOutOfRange {
        /// The id on the line.
        class: i64,
        /// The dataset's number of classes.
        nc: usize,
    },
    /// A COCO annotation of a category that its file doesn't list.
    #[error("category {category} is not listed")]
    UnknownCategory {
        /// Its id.
        category: i64,
    },
    /// Nothing of the box lies within the image.
    #[error("the box has no area within the image")]
    NoArea,
}

/// Reads the boxes of one image as training uses them; a missing file means background.
///
/// Lines that can't be used are left out and reported, one [`LabelIssue`] each.
///
/// # Errors
/// When the file is there but can't be read.
pub fn read_labels(path: &Path, nc: usize) -> Result<Labels> {
    read_selected_labels(path, nc, &ClassSelection::default())
}

/// [`read_labels`] of the classes that count; `nc` is their number after the selection.
pub(crate) fn read_selected_labels(
    path: &Path,
    nc: usize,
    selection: &ClassSelection,
) -> Result<Labels> {
    let bytes = match file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Labels::default()),
        Err(error) => return Err(Error::read(path)(error)),
    };
    let mut labels = Labels::default();
    for (index, line) in label_text(&bytes).lines().enumerate() {
        let selected = parse_label_line(line).map(|line| {
            let line = line?;
            let class = selection.map(line.class)?;
            Some(LabelLine { class, ..line })
        });
        match selected.and_then(|line| line.map(|line| usable(line, nc)).transpose()) {
            Ok(label) => labels.boxes.extend(label),
            Err(kind) => labels.issues.push(LabelIssue {
                line: index + 1,
                kind,
            }),
        }
    }
    Ok(labels)
}

/// Reads one line: `None` when it is blank.
///
/// Five fields are a box; more are a polygon `class x1 y1 x2 y2 x3 y3 ...` of at least three points,
/// of which the extent is taken.
///
/// # Errors
/// [`LabelIssueKind::Syntax`] when it is neither.
pub fn parse_label_line(line: &str) -> std::result::Result<Option<LabelLine>, LabelIssueKind> {
    let Some(numbers) = parse_numbers(line)? else {
        return Ok(None);
    };
    if !numbers.is_well_formed() {
        return Err(LabelIssueKind::Syntax(format!(
            "{} coordinates are neither a box nor a polygon",
            numbers.values.len()
        )));
    }
    Ok(Some(numbers.extent()))
}

/// The lines of a label file, whichever way its system ends them.
pub(crate) fn label_text(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains('\r') {
        return text;
    }
    text.replace("\r\n", "\n").replace('\r', "\n").into()
}

/// A line of a class id and at least four finite numbers.
pub(crate) struct Numbers {
    pub(crate) class: i64,
    pub(crate) values: Vec<f64>,
}

impl Numbers {
    /// Whether training takes it: a box, or a polygon of at least three whole points.
    pub(crate) fn is_well_formed(&self) -> bool {
        match self.values.len() {
            4 => true,
            count => count >= 6 && count.is_multiple_of(2),
        }
    }

    pub(crate) fn extent(&self) -> LabelLine {
        let (class, values) = (self.class, &self.values);
        if let [cx, cy, w, h] = values[..] {
            return LabelLine {
                class,
                box_: [cx, cy, w, h],
                polygon: false,
            };
        }
        let extent = |offset: usize| {
            let axis = values.iter().skip(offset).step_by(2);
            axis.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
                (low.min(value), high.max(value))
            })
        };
        let ((x1, x2), (y1, y2)) = (extent(0), extent(1));
        LabelLine {
            class,
            box_: [(x1 + x2) / 2.0, (y1 + y2) / 2.0, x2 - x1, y2 - y1],
            polygon: true,
        }
    }
}

/// The numbers of a line: `None` when it is blank.
pub(crate) fn parse_numbers(line: &str) -> std::result::Result<Option<Numbers>, LabelIssueKind> {
    let syntax = |reason: String| Err(LabelIssueKind::Syntax(reason));
    let mut fields = line.split_whitespace();
    let Some(class) = fields.next() else {
        return Ok(None);
    };
    let texts: Vec<&str> = fields.collect();
    if texts.len() < 4 {
        return syntax(format!("expected 5 fields, got {}", texts.len() + 1));
    }
    let Ok(class) = class.parse::<i64>() else {
        return syntax(format!("class '{class}' is not a whole number"));
    };
    let mut values = Vec::with_capacity(texts.len());
    for text in texts {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => values.push(value),
            Ok(_) => return syntax(format!("'{text}' is not finite")),
            Err(_) => return syntax(format!("'{text}' is not a number")),
        }
    }
    Ok(Some(Numbers { class, values }))
}

fn usable(line: LabelLine, nc: usize) -> std::result::Result<Label, LabelIssueKind> {
    let class = usize::try_from(line.class)
        .ok()
        .filter(|class| *class < nc)
        .ok_or(LabelIssueKind::ClassOutOfRange {
            class: line.class,
            nc,
        })?;
    let [cx, cy, w, h] = line.box_;
    let label = Label {
        class,
        cx,
        cy,
        w,
        h,
    };
    let [x1, y1, x2, y2] = label.corners(1, 1);
    if x2 <= x1 || y2 <= y1 {
        return Err(LabelIssueKind::NoArea);
    }
    // A box that lies within the image keeps its digits; only one that spills over is rewritten.
    if cx - w / 2.0 >= 0.0 && cy - h / 2.0 >= 0.0 && cx + w / 2.0 <= 1.0 && cy + h / 2.0 <= 1.0 {
        return Ok(label);
    }
    Ok(Label {
        class,
        cx: (x1 + x2) / 2.0,
        cy: (y1 + y2) / 2.0,
        w: x2 - x1,
        h: y2 - y1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Labels {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = dir.path().join("a.txt");
        std::fs::write(&file, text).expect("writable");
        read_labels(&file, 3).expect("readable")
    }

    #[test]
    fn boxes_and_polygons() {
        let labels = read("0 0.5 0.5 0.25 0.5\n\n2 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6\r\n");
        assert!(labels.issues.is_empty(), "{:?}", labels.issues);
        assert_eq!(
            labels.boxes[0],
            Label {
                class: 0,
                cx: 0.5,
                cy: 0.5,
                w: 0.25,
                h: 0.5
            }
        );
        let polygon = labels.boxes[1].corners(100, 100);
        for (got, expected) in polygon.iter().zip([10.0, 20.0, 50.0, 60.0]) {
            assert!((got - expected).abs() < 1e-9, "{polygon:?}");
        }
    }

    #[test]
    fn bad_lines_are_left_out_and_named() {
        let labels = read(
            "0 0.5 0.5\n0 a 0 0 0\n0 nan 0.5 0.1 0.1\n1.5 0.5 0.5 0.1 0.1\n0 1 2 3 4 5\n3 0.5 0.5 0.1 0.1\n-1 0.5 0.5 0.1 0.1\n0 0.5 0.5 0 0.1\n0 2 2 0.1 0.1\n1 0.5 0.5 0.1 0.1\n",
        );
        assert_eq!(labels.boxes.len(), 1);
        let lines: Vec<usize> = labels.issues.iter().map(|issue| issue.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(
            labels.issues[0].kind.to_string(),
            "expected 5 fields, got 3"
        );
        assert_eq!(
            labels.issues[5].kind,
            LabelIssueKind::ClassOutOfRange { class: 3, nc: 3 }
        );
        assert_eq!(labels.issues[7].kind, LabelIssueKind::NoArea);
    }

    #[test]
    fn a_box_that_spills_over_is_clamped() {
        let label = read("0 0.9 0.5 0.4 1.5\n").boxes[0];
        assert_eq!(
            label
                .corners(10, 10)
                .map(|value| (value * 1e6).round() / 1e6),
            [7.0, 0.0, 10.0, 10.0]
        );
        assert!(label.cx + label.w / 2.0 <= 1.0 + 1e-12 && (label.h - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_missing_file_is_background() {
        assert_eq!(
            read_labels(Path::new("/nonexistent/a.txt"), 1).expect("no error"),
            Labels::default()
        );
    }
}

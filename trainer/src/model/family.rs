//! Which networks there are, and how they are called.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::yolo9::{self, Yolo9Size};
use super::yolox::YoloxSize;

/// Networks of one design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// YOLOv9 as LibreYOLO builds it.
    Yolo9,
    /// YOLOX.
    Yolox,
}

/// What a network sees of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pixels {
    /// Red, green, blue from 0 to 1.
    Rgb,
    /// Blue, green, red from 0 to 255.
    Bgr255,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Yolo9, Self::Yolox];

    /// The name in checkpoints.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yolo9 => "yolo9",
            Self::Yolox => "yolox",
        }
    }

    /// The family of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// The name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Yolo9 => "YOLOv9",
            Self::Yolox => "YOLOX",
        }
    }

    /// The parts of its loss under LibreYOLO's names.
    #[must_use]
    pub fn loss_parts(self) -> &'static [&'static str] {
        match self {
            Self::Yolo9 => &["box", "cls", "dfl"],
            Self::Yolox => &["iou", "obj", "cls", "l1"],
        }
    }

    /// The layers that `freeze=N` takes the first N of, in LibreYOLO's order.
    #[must_use]
    pub fn layer_groups(self) -> &'static [&'static str] {
        match self {
            Self::Yolo9 => &yolo9::LAYER_GROUPS,
            Self::Yolox => &["backbone", "head"],
        }
    }

    #[must_use]
    pub fn pixels(self) -> Pixels {
        match self {
            Self::Yolo9 => Pixels::Rgb,
            Self::Yolox => Pixels::Bgr255,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A family and how large the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    Yolo9(Yolo9Size),
    Yolox(YoloxSize),
}

/// A network that doesn't exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no network `{0}`")]
pub struct ParseArchitectureError(String);

impl Architecture {
    /// All of them, family by family, smallest first.
    pub fn all() -> impl Iterator<Item = Self> {
        let yolox = YoloxSize::ALL.into_iter().map(Self::Yolox);
        Yolo9Size::ALL.into_iter().map(Self::Yolo9).chain(yolox)
    }

    /// The network that the setting `model` names: `yolo9-t`, or a weights file named after one, as
    /// `LibreYOLO9t.pt` is.
    #[must_use]
    pub fn of_model(model: &str) -> Option<Self> {
        let name = if is_weights_file(model) {
            Path::new(model).file_stem()?.to_str()?
        } else {
            model
        };
        name.parse().ok()
    }

    #[must_use]
    pub fn family(self) -> Family {
        match self {
            Self::Yolo9(_) => Family::Yolo9,
            Self::Yolox(_) => Family::Yolox,
        }
    }

    /// The size's name in checkpoints.
    #[must_use]
    pub fn size(self) -> &'static str {
        match self {
            Self::Yolo9(size) => size.name(),
            Self::Yolox(size) => size.name(),
        }
    }
}

/// Whether the setting `model` is a file, not an architecture.
#[must_use]
pub fn is_weights_file(model: &str) -> bool {
    let extension = Path::new(model).extension();
    extension.is_some_and(|extension| extension == "pt" || extension == "safetensors")
}

/// As the command line takes it: `yolo9-t`.
impl fmt::Display for Architecture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.family(), self.size())
    }
}

impl FromStr for Architecture {
    type Err = ParseArchitectureError;

    /// `yolo9-t`, `yolo9t`, `LibreYOLO9t`, in any case.
    fn from_str(text: &str) -> Result<Self, ParseArchitectureError> {
        let name = text.to_ascii_lowercase();
        let name = name.strip_prefix("libre").unwrap_or(&name);
        let is_wanted = |architecture: &Self| {
            let rest = name.strip_prefix(architecture.family().name());
            rest.is_some_and(|size| size.trim_start_matches(['-', '_']) == architecture.size())
        };
        Self::all()
            .find(is_wanted)
            .ok_or_else(|| ParseArchitectureError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for architecture in Architecture::all() {
            assert_eq!(architecture.to_string().parse(), Ok(architecture));
        }
        for family in Family::ALL {
            assert_eq!(Family::of_name(family.name()), Some(family));
        }
        assert_eq!(Family::of_name("rtdetr"), None);
    }

    #[test]
    fn files_are_named_after_what_they_hold() {
        let small = Some(Architecture::Yolox(YoloxSize::S));
        for name in [
            "yolox-s",
            "LibreYOLOXs.pt",
            "weights/LibreYOLOXs.safetensors",
        ] {
            assert_eq!(Architecture::of_model(name), small, "{name}");
        }
        assert_eq!(Architecture::of_model("best.pt"), None);
        assert_eq!(Architecture::of_model("LibreYOLOXs.onnx"), None);
    }

    #[test]
    fn architectures_have_many_spellings() {
        for name in ["yolo9-t", "yolo9t", "LibreYOLO9t", "YOLO9_t"] {
            assert_eq!(
                name.parse(),
                Ok(Architecture::Yolo9(Yolo9Size::T)),
                "{name}"
            );
        }
        for name in ["yolox-s", "LibreYOLOXs"] {
            assert_eq!(
                name.parse(),
                Ok(Architecture::Yolox(YoloxSize::S)),
                "{name}"
            );
        }
        for name in ["yolo9", "yolo9-x", "yolox", "yolo8-t", ""] {
            let error = name.parse::<Architecture>().expect_err("no such network");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }
}

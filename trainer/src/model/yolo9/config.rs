//! What decides the shapes of all tensors, and how it is read off a state dict.

use tch::Tensor;

use super::size::Yolo9Size;
use crate::model::state::{LoadError, canonical, outputs_of};
use crate::model::{Architecture, Family};

/// What decides the shapes of all tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Yolo9Config {
    /// Widths and depth.
    pub size: Yolo9Size,
    /// Number of classes.
    pub nc: i64,
    /// Hidden width of the detecting head's class towers; `None` takes a fresh network's. One that was
    /// trained on other classes keeps the width it was made with.
    pub class_width: Option<i64>,
    /// With the auxiliary branch of training (programmable gradient information).
    pub aux: bool,
}

/// LibreYOLO builds a scratch network for 80 classes before it fits the dataset's; only size t's class
/// towers are wider for it.
const SCRATCH_CLASS_WIDTH_T: i64 = 80;

impl Yolo9Config {
    /// A network that starts from nothing.
    #[must_use]
    pub fn scratch(size: Yolo9Size, nc: i64, aux: bool) -> Self {
        Self {
            size,
            nc,
            class_width: (size == Yolo9Size::T).then_some(SCRATCH_CLASS_WIDTH_T),
            aux,
        }
    }

    /// Reads the configuration off the shapes of a state dict.
    ///
    /// # Errors
    /// When the tensors are not those of a YOLO9 network.
    pub fn of_state_dict(state: &[(String, Tensor)]) -> Result<Self, LoadError> {
        const STEM: &str = "backbone.conv0.conv.weight";
        let outputs = |name| outputs_of(Family::Yolo9, state, name);
        let first = || outputs("backbone.elan1.cv1.conv.weight");
        let size = match (outputs(STEM)?, first()?) {
            (16, _) => Yolo9Size::T,
            (64, _) => Yolo9Size::C,
            (32, 64) => Yolo9Size::S,
            (32, 128) => Yolo9Size::M,
            (stem, first) => {
                return Err(LoadError::Configuration {
                    family: Family::Yolo9,
                    name: STEM,
                    found: format!("{stem} channels wide before {first}"),
                });
            }
        };
        Ok(Self {
            size,
            nc: outputs("head.cv3.0.2.weight")?,
            class_width: Some(outputs("head.cv3.0.0.conv.weight")?),
            aux: state
                .iter()
                .any(|(key, _)| canonical(key).starts_with("aux.")),
        })
    }

    pub(in crate::model) fn architecture(&self) -> Architecture {
        Architecture::Yolo9(self.size)
    }
}

/// The last layer of a class tower, and all of the auxiliary head's towers, whose width follows the
/// classes too.
pub(in crate::model) fn depends_on_classes(name: &str) -> bool {
    let mut segments = name.split('.');
    match (segments.next(), segments.next()) {
        (Some("aux_head"), Some("cv3")) => true,
        (Some("head"), Some("cv3")) => segments.nth(1) == Some("2"),
        _ => false,
    }
}

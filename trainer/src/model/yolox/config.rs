//! What decides the shapes of all tensors, and how it is read off a state dict.

use tch::Tensor;

use super::size::YoloxSize;
use crate::model::state::{LoadError, outputs_of};
use crate::model::{Architecture, Family};

/// What decides the shapes of all tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YoloxConfig {
    /// Widths and depth.
    pub size: YoloxSize,
    /// Number of classes.
    pub nc: i64,
}

/// The first tensor of every YOLOX network, and of no other.
pub(in crate::model) const STEM: &str = "backbone.backbone.stem.conv.conv.weight";

impl YoloxConfig {
    /// Reads the configuration off the shapes of a state dict.
    ///
    /// # Errors
    /// When the tensors are not those of a YOLOX network.
    pub fn of_state_dict(state: &[(String, Tensor)]) -> Result<Self, LoadError> {
        let outputs = |name| outputs_of(Family::Yolox, state, name);
        let width = outputs(STEM)?;
        let size = YoloxSize::ALL
            .into_iter()
            .find(|size| size.layout().width == width)
            .ok_or_else(|| LoadError::Configuration {
                family: Family::Yolox,
                name: STEM,
                found: format!("{width} channels wide"),
            })?;
        Ok(Self {
            size,
            nc: outputs("head.cls_preds.0.weight")?,
        })
    }

    pub(in crate::model) fn architecture(&self) -> Architecture {
        Architecture::Yolox(self.size)
    }
}

/// The class outputs.
pub(in crate::model) fn depends_on_classes(name: &str) -> bool {
    name.starts_with("head.cls_preds.")
}

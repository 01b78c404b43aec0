//! The loss of each family, and what it gives.

use tch::Tensor;

use super::yolo9::Yolo9Loss;
use super::yolox::YoloxLoss;
use crate::dist::Collective;
use crate::model::{Family, HeadOutputs};

/// The loss of one family.
#[derive(Debug, Clone, Copy)]
pub enum Loss {
    Yolo9(Yolo9Loss),
    Yolox(YoloxLoss),
}

/// A batch's loss and its parts, each a scalar tensor, already weighted: the parts sum to the total.
#[derive(Debug)]
pub struct LossItems {
    /// What is differentiated.
    pub total: Tensor,
    /// Detached, in the order of [`Family::loss_parts`].
    pub parts: Vec<Tensor>,
}

impl Loss {
    /// The loss of a family. `aux_weight` is for one with an auxiliary head; of a `group`, each process computes its
    /// share of the loss of all their batches as one.
    #[must_use]
    pub fn new(family: Family, aux_weight: f64, group: Option<&'static dyn Collective>) -> Self {
        match family {
            Family::Yolo9 => Self::Yolo9(Yolo9Loss { aux_weight, group }),
            Family::Yolox => Self::Yolox(YoloxLoss {
                with_l1: false,
                group,
            }),
        }
    }

    /// Tells whether the epoch has mosaics. Without them, YOLOX compares the boxes' raw outputs too.
    pub fn set_mosaics(&mut self, are_on: bool) {
        match self {
            Self::Yolo9(_) => {}
            Self::Yolox(loss) => loss.with_l1 = !are_on,
        }
    }

    /// Loss of a batch.
    ///
    /// `targets` is `[B, M, 5]`: class, then x1, y1, x2, y2 from 0 to 1 of the canvas; rows of a
    /// negative class are padding (see [`pad_targets`](super::pad_targets)). M may be 0.
    #[must_use]
    pub fn compute(&self, outputs: &HeadOutputs, targets: &Tensor) -> LossItems {
        match self {
            Self::Yolo9(loss) => loss.compute(outputs, targets),
            Self::Yolox(loss) => loss.compute(outputs, targets),
        }
    }
}

impl LossItems {
    /// A share of the loss.
    #[must_use]
    pub fn scaled(&self, share: f64) -> Self {
        Self {
            total: &self.total * share,
            parts: self.parts.iter().map(|part| part * share).collect(),
        }
    }

    /// The loss of two batches.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let parts = self.parts.iter().zip(&other.parts);
        Self {
            total: &self.total + &other.total,
            parts: parts.map(|(left, right)| left + right).collect(),
        }
    }
}

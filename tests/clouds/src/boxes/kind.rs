use super::{Boxes, NoBoxes};
use crate::SimError;

/// The kinds of boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxKind {
    /// An address where nothing listens: for tests that need no SSH.
    None,
}

impl BoxKind {
    pub(crate) fn open(self) -> Result<Box<dyn Boxes>, SimError> {
        match self {
            Self::None => Ok(Box::new(NoBoxes)),
        }
    }
}

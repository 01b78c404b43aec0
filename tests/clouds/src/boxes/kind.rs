use super::{Boxes, IsolatedBoxes, NoBoxes, PlainBoxes};
use crate::SimError;

/// The kinds of boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxKind {
    /// An address where nothing listens: for tests that need no SSH.
    None,
    /// [`PlainBoxes`]: an sshd and a folder, without privileges.
    Plain,
    /// [`IsolatedBoxes`]: a machine of its own with a disk of limited size; takes root.
    Isolated,
}

impl BoxKind {
    pub(crate) fn open(self, ssh_port: Option<u16>) -> Result<Box<dyn Boxes>, SimError> {
        match self {
            Self::None => Ok(Box::new(NoBoxes)),
            Self::Isolated => Ok(Box::new(IsolatedBoxes::open(ssh_port)?)),
            Self::Plain => Ok(Box::new(PlainBoxes::open(ssh_port)?)),
        }
    }
}

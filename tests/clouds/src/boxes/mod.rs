//! What a rented box is: nothing, a plain process tree, or a root file system with its own network.

mod kind;
mod none;
mod spec;

pub use kind::BoxKind;
pub use none::NoBoxes;
pub use spec::{BoxSpec, Boxes, Gpus, SshAddress};

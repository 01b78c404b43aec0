//! What a rented box is: nothing, or a plain tree of processes behind an sshd.

mod folder;
mod jail;
mod kind;
mod none;
mod nvidia_smi;
mod plain;
mod spec;
mod sshd;

pub use kind::BoxKind;
pub use none::NoBoxes;
pub use plain::PlainBoxes;
pub use spec::{BoxSpec, Boxes, Gpus, SshAddress};

//! What a rented box is: nothing, a plain tree of processes behind an sshd, or a machine of its own.

mod folder;
mod isolated;
mod jail;
mod kind;
mod none;
mod nvidia_smi;
mod plain;
mod spec;
mod sshd;

pub use isolated::IsolatedBoxes;
pub use kind::BoxKind;
pub use none::NoBoxes;
pub use plain::PlainBoxes;
pub use spec::{BoxSpec, Boxes, Gpus, SshAddress};

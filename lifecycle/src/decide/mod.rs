//! From the ledger's knowledge and one look to a plan.
//!
//! | the box is | decided in |
//! |---|---|
//! | not seen | `unseen` |
//! | absent | `absent` |
//! | there more than once | `several` |
//! | coming, going or broken | `transit` |
//! | stopped | `stopped` |
//! | running | `running`, `set_up`, `training` |
//!
//! What happens to a box whose work is over: `teardown`. What beats everything else: `caps`.

mod absent;
mod caps;
mod case;
mod dispatch;
mod draft;
mod explain;
mod refused;
mod running;
mod set_up;
mod several;
mod stopped;
mod teardown;
mod training;
mod transit;
mod unseen;
mod work;

pub use caps::cap_reached;
pub use dispatch::decide;
pub use gpurun_pricing::budget::Cap;
pub use work::{Work, grace_until, work_of};

#[cfg(test)]
mod tests;

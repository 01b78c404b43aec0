//! What runs on the box: `gpurun agent`, a hidden verb of the same binary.
//!
//! The agent starts the training in a session of its own, writes a heartbeat, watches the run directory, pushes
//! checkpoints at milestones, and writes an exit report; it goes on when whoever started it is gone. It never
//! parses a log. Deciding ([`begin`], [`milestones`], [`stability`], [`backoff`], [`prune`]) is pure.

mod backoff;
mod begin;
mod body;
mod cgroup;
mod clock;
mod companions;
mod complete;
mod cores;
mod disk;
mod end;
mod error;
mod exits;
mod files;
mod follow;
mod gpu;
mod heartbeat;
mod journal;
mod keep;
mod layout;
mod lock;
mod milestones;
mod process;
mod progress;
mod proof;
mod prune;
mod push;
mod push_pass;
mod pusher;
mod report;
mod request;
mod sampler;
mod scan;
mod signals;
mod spec;
mod stability;
mod start;
mod training;
mod usage;

pub(crate) use body::run;
pub(crate) use end::{EndConfig, end};
pub(crate) use error::AgentError;
pub(crate) use keep::keep;
pub(crate) use layout::Layout;
pub(crate) use proof::proof;
pub(crate) use push::push;
pub(crate) use report::report;
pub(crate) use scan::is_wanted;
pub(crate) use start::start;

//! One suite that every provider passes. What a provider can do decides which cases exist for it, the registry decides
//! which providers are tried, and one that nobody can try fails.

mod cases;
mod harness;
mod lost_reply;
mod report;

pub use harness::{Harness, World, run, run_all};
pub use lost_reply::LostReply;
pub use report::{CaseResult, Report, Verdict};

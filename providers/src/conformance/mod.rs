//! One suite that every provider passes. What a provider can do decides which cases exist for it, the registry decides
//! which providers are tried, and one that nobody can try fails.

mod case;
mod cases;
mod harness;
mod labels;
mod life;
mod lost_reply;
mod market;
mod report;
mod steps;
mod stops;
mod trouble;

pub use harness::{Harness, Trouble, World, run, run_all};
pub use lost_reply::LostReply;
pub use report::{CaseResult, Report, Verdict};

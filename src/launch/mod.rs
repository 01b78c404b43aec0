//! From a job to a run that is written down: which box, what it will cost, and the plan that would run.

mod data;
mod driver;
mod estimate;
mod keyless;
mod market;
mod preview;
mod spec;

pub(crate) use data::{Disk, disk, prepare};
pub(crate) use driver::needed_by;
pub(crate) use estimate::shape;
pub(crate) use keyless::{missing_keys, quoted_offer};
pub(crate) use market::{BAD_FOR_DAYS, Market, Search, Selection, market, market_again};
pub(crate) use preview::{Preview, preview};
pub(crate) use spec::{rebuild_terms, run_spec};

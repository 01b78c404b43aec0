//! The ledger: what was wanted, decided, done and paid, in one SQLite file. The only module that knows SQL.
//!
//! A run is one JSON document, its [`gpurun_lifecycle::RunRecord`]; the columns that queries need are computed from it
//! by SQLite itself, so the two can't disagree. Every change is one `BEGIN IMMEDIATE` transaction that reads, changes
//! and writes the document, so any number of gpurun processes may work on one ledger, and each may be killed anywhere.
//! That is why a run is changed by a closure and never saved whole: the person may have said `stop` meanwhile.
//!
//! One pass:
//!
//! ```text
//! let lock = ledger.lock(run)?;
//! let run  = ledger.update(run, None, |run| absorb(run, &seen))?;
//! let plan = decide(&run, &seen);                 ledger.record_plan(&plan, &seen)?;
//! let (id, run) = ledger.begin(run, action, now)?;        // lifecycle::begin is applied in the same transaction
//! let result    = execute(action);
//! let run       = ledger.finish(&id, &result, now)?;      // as is lifecycle::finish
//! ```

mod actions;
mod connection;
mod decisions;
mod error;
mod events;
mod find;
mod gaps;
mod hosts;
mod id;
mod lock;
mod runs;
mod schema;
mod time;

pub(crate) use self::{
    connection::Ledger,
    error::StoreError,
    events::{Event, EventKind},
    gaps::GapEnd,
    hosts::BadHost,
    id::new_run_id,
    lock::{LockError, RunLock},
    runs::{Listing, Unreadable, Which},
};

#[cfg(test)]
pub(crate) mod tests;

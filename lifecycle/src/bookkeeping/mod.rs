//! How the ledger's knowledge of a run changes: by what was seen, by what was done, and by what the
//! person asks for. The shell stores the result; nothing else edits a [`RunRecord`].

mod done;
mod intervals;
mod prices;
mod seen;
mod spares;
mod verbs;

pub use done::{ActionResult, begin, finish};
pub use seen::absorb;
pub use verbs::{ask_destroy, ask_start, ask_stop, ask_train};

#[cfg(test)]
mod tests;

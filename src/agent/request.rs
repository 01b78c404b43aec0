//! `end.json`: the order to end a training, left where the agent looks.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::files::read_json;
use super::layout::Layout;

/// One order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndRequest {
    pub(crate) run_id: String,
    pub(crate) attempt: u32,
    pub(crate) why: String,
    /// Between SIGTERM and SIGKILL.
    pub(crate) grace_seconds: u32,
    pub(crate) at: DateTime<Utc>,
}

/// The order that waits for this attempt; half an order is none.
pub(crate) fn waiting(layout: &Layout, run_id: &str, attempt: u32) -> Option<EndRequest> {
    read_json::<EndRequest>(&layout.end_request())
        .ok()
        .flatten()
        .filter(|request| request.run_id == run_id && request.attempt == attempt)
}

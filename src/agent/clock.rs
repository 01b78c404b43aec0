//! The agent's clock. Only the shell of the agent reads it; what decides is given the time.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

pub(crate) fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

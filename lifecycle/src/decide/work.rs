//! Whether what the run made is safe: is its newest checkpoint proven to be off the box?

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::observation::{CheckpointView, InstanceView, Observation};
use crate::run::{Intent, RunRecord};

use super::case::{later, seconds};

/// The state of what would be lost with the box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "work")]
pub enum Work {
    /// Nothing that isn't elsewhere, with an equal hash.
    Safe { how: String },
    /// Something isn't.
    Unverified { what: String },
    /// Nobody could look since it may have changed.
    Unseen { why: String },
}

impl Work {
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self, Self::Safe { .. })
    }

    /// In words: what holds the box back, or why nothing does.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Safe { how } => how,
            Self::Unverified { what } => what,
            Self::Unseen { why } => why,
        }
    }
}

/// Judges by the look at hand, and where the box can't be looked at, by the last one, if nothing can
/// have changed since: the training was over by then.
#[must_use]
pub fn work_of(run: &RunRecord, seen: &Observation) -> Work {
    if run.launches == 0 {
        return Work::Safe {
            how: "no training was launched".to_owned(),
        };
    }
    let known = run.instance.as_ref().map(|instance| instance.id.as_str());
    let here = known.or(seen.instance.value().and_then(InstanceView::id));
    if run.launched_on.as_deref() != here {
        return Work::Safe {
            how: "nothing was trained on this box".to_owned(),
        };
    }
    if let Some(view) = seen.checkpoints.value() {
        return judge(view);
    }
    let Some(last) = &run.last_checkpoints else {
        return Work::Unseen {
            why: "its checkpoints were never seen".to_owned(),
        };
    };
    match over_since(run) {
        // A look from before the training's end may have missed its last file.
        Some(over) if last.at >= over => judge(&last.value),
        Some(_) => Work::Unseen {
            why: "its checkpoints were not seen since the training ended".to_owned(),
        },
        None => Work::Unseen {
            why: "its checkpoints can't be seen".to_owned(),
        },
    }
}

fn judge(view: &CheckpointView) -> Work {
    let Some(newest) = &view.newest_on_box else {
        return match view.pending.first() {
            Some(file) => Work::Unverified {
                what: format!("{file} is still on its way"),
            },
            None => Work::Safe {
                how: "there is no checkpoint to lose".to_owned(),
            },
        };
    };
    let verified = view.newest_verified.as_ref().filter(|verified| {
        let same_hash = newest
            .sha256
            .as_ref()
            .is_none_or(|hash| *hash == verified.sha256);
        same_hash && newest.bytes == verified.bytes
    });
    match verified {
        Some(verified) if view.all_verified && view.pending.is_empty() => Work::Safe {
            how: match verified.epoch {
                Some(epoch) => format!(
                    "{} of epoch {epoch} is verified at {}",
                    verified.file, verified.location
                ),
                None => format!("{} is verified at {}", verified.file, verified.location),
            },
        },
        _ => {
            let file = view.pending.first().unwrap_or(&newest.name);
            let what = match &view.last_error {
                Some(error) => format!("{file} is not verified off the box: {error}"),
                None => format!("{file} is not verified off the box"),
            };
            Work::Unverified { what }
        }
    }
}

/// Until when unverified work holds the box back: the grace period after the training's end, or after it was told
/// to end, whichever is later; before either, after the person's wish or the launch. `None`: nothing was launched.
#[must_use]
pub fn grace_until(run: &RunRecord) -> Option<DateTime<Utc>> {
    let ended = run.ended.as_ref().map(|ended| ended.at);
    let ordered = run.end_ordered.as_ref().map(|order| order.at);
    let wished = (run.intent != Intent::Run).then_some(run.asked_at);
    let from = ended.max(ordered).or(wished).or(run.launched_at)?;
    Some(later(from, seconds(run.spec.stop.grace_seconds)))
}

/// Since when the newest launch is known to be over: nothing is left that could write another checkpoint.
fn over_since(run: &RunRecord) -> Option<DateTime<Utc>> {
    let last = run.last_training.as_ref()?;
    let newest = last
        .value
        .attempt
        .is_none_or(|attempt| attempt == run.launches);
    let over = last.value.state.is_over() && newest;
    over.then(|| last.value.ended_at.unwrap_or(last.at))
}

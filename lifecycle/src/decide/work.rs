//! Whether what the run made is safe: is its newest checkpoint proven to be off the box?

use serde::Serialize;

use crate::observation::{CheckpointView, InstanceView, Observation};
use crate::run::RunRecord;

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
    if run.launched_on.is_some()
        && run.instance.as_ref().map(|instance| &instance.id) != run.launched_on.as_ref()
    {
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
    match &run.ended {
        // A look from before the last epoch's end may have missed the last file.
        Some(ended) if last.at >= ended.at && is_settled(run, seen) => judge(&last.value),
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

/// Nothing runs there that could write another checkpoint.
fn is_settled(run: &RunRecord, seen: &Observation) -> bool {
    let stopped = matches!(seen.instance.value(), Some(InstanceView::Stopped { .. }));
    let over = run
        .last_training
        .as_ref()
        .is_some_and(|last| last.value.state.is_over());
    stopped || over
}

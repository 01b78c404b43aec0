//! Whether what the run made is safe: is its newest checkpoint proven to be off the box?

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::observation::{
    CheckpointView, FileStamp, InstanceView, Observation, TrainingState, Verified,
};
use crate::run::{Intent, Phase, RunRecord};

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
    let verified = view
        .newest_verified
        .as_ref()
        .filter(|verified| is_it(newest, verified));
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

/// Whether `verified` may answer for `newest`: never with another hash, nor as another version of the same file.
fn is_it(newest: &FileStamp, verified: &Verified) -> bool {
    let base = newest.name.rsplit('/').next();
    let same_version = base != Some(verified.file.as_str()) || newest.bytes == verified.bytes;
    let same_hash = newest
        .sha256
        .as_ref()
        .is_none_or(|hash| *hash == verified.sha256);
    same_version && same_hash
}

/// Until when unverified work holds the box back: the grace period after the training's end, after it was told to
/// end, or after the person's wish to stop or destroy, whichever is the latest; without any of them after a launch that came
/// to nothing. `None`: the training goes on, as far as anybody knows.
#[must_use]
pub fn grace_until(run: &RunRecord) -> Option<DateTime<Utc>> {
    let ended = run.ended.as_ref().map(|ended| ended.at);
    let ordered = run.end_ordered.as_ref().map(|order| order.at);
    let wished = (run.intent != Intent::Run).then_some(run.asked_at);
    let unstarted = run.launched_at.filter(|_| !may_have_started(run));
    let from = ended.max(ordered).max(wished).or(unstarted)?;
    Some(later(from, seconds(run.spec.stop.grace_seconds)))
}

/// The newest launch may have become a training.
fn may_have_started(run: &RunRecord) -> bool {
    let trace = run.last_training.as_ref().map(|last| &last.value);
    let none = trace.is_some_and(|view| {
        let earlier = view.attempt.is_some_and(|attempt| attempt < run.launches);
        earlier || view.state == TrainingState::NotLaunched
    });
    run.phase >= Phase::Launched && !none
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;
    use crate::observation::Sighting;

    fn work(view: CheckpointView) -> Work {
        work_of(&launched(), &seen(1.0, TrainingState::Completed, view))
    }

    #[test]
    fn only_an_equal_hash_of_everything_wanted_is_safe() {
        assert!(work(verified()).is_safe());
        let mut another = verified();
        another.newest_verified.as_mut().expect("there").sha256 = "bb".to_owned();
        assert!(
            !work(another).is_safe(),
            "another version is at the destination"
        );
        let mut torn = verified();
        torn.newest_on_box.as_mut().expect("there").sha256 = None;
        torn.newest_verified.as_mut().expect("there").bytes = 8;
        assert!(!work(torn).is_safe(), "half of it is at the destination");
        let mut one_missing = verified();
        one_missing.all_verified = false;
        assert!(!work(one_missing).is_safe());
        let mut on_its_way = verified();
        on_its_way.pending = vec!["best.pt".to_owned()];
        assert!(!work(on_its_way).is_safe());
        let nothing_verified = CheckpointView {
            newest_verified: None,
            ..verified()
        };
        assert!(!work(nothing_verified).is_safe());
    }

    #[test]
    fn where_there_is_no_checkpoint_none_can_be_lost() {
        assert_eq!(
            work(CheckpointView::default()).text(),
            "there is no checkpoint to lose"
        );
        let first = CheckpointView {
            pending: vec!["last.pt".to_owned()],
            ..CheckpointView::default()
        };
        assert!(
            !work(first).is_safe(),
            "r12: a file that isn't complete yet"
        );
    }

    #[test]
    fn an_old_look_counts_only_if_nothing_was_written_after_it() {
        let mut run = launched();
        crate::absorb(&mut run, &seen(1.0, TrainingState::Running, verified()));
        let mut later = observation(3.0, stopped());
        assert!(
            matches!(work_of(&run, &later), Work::Unseen { .. }),
            "it trained on after that look"
        );
        let mut over = seen(2.0, TrainingState::Completed, verified());
        over.checkpoints = unknown();
        crate::absorb(&mut run, &over);
        assert!(
            matches!(work_of(&run, &later), Work::Unseen { .. }),
            "the last file was never looked for"
        );
        crate::absorb(&mut run, &seen(2.0, TrainingState::Completed, verified()));
        assert!(work_of(&run, &later).is_safe());
        later.checkpoints = Sighting::Seen {
            value: unverified(),
            at: at(3.0),
        };
        assert!(
            !work_of(&run, &later).is_safe(),
            "a new look beats an old one"
        );
    }

    #[test]
    fn a_box_on_which_nothing_was_trained_holds_nothing() {
        assert!(work_of(&requested(), &observation(0.0, running())).is_safe());
        let mut elsewhere = launched();
        elsewhere.launched_on = Some("box-0".to_owned());
        assert!(work_of(&elsewhere, &observation(1.0, running())).is_safe());
    }
}

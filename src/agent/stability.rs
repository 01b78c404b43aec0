//! Whether a file has stopped changing: pure, from looks at given times.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::complete::proves_itself;
use super::scan::{Look, Stamp};

/// How long a file must stay the same when nothing else tells that it is done.
pub(crate) const QUIET: TimeDelta = TimeDelta::seconds(3);

/// What was seen of each file, look after look.
#[derive(Debug, Default)]
pub(crate) struct Stability {
    seen: HashMap<String, Seen>,
    status: Option<Stamp>,
}

#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    /// When the file was first seen like this, and when last.
    since: DateTime<Utc>,
    until: DateTime<Utc>,
}

impl Stability {
    pub(crate) fn observe(&mut self, look: &Look, now: DateTime<Utc>) {
        let mut earlier = std::mem::take(&mut self.seen);
        for file in &look.files {
            let since = match earlier.remove(&file.name) {
                Some(seen) if seen.stamp == file.stamp => seen.since,
                _ => now,
            };
            self.seen.insert(
                file.name.clone(),
                Seen {
                    stamp: file.stamp,
                    since,
                    until: now,
                },
            );
        }
        self.status = look.status;
    }

    /// Whether the file is done: two looks found it the same, and either some time lies between them, or the
    /// trainer has updated `status.json` since (trainers write the checkpoint first).
    ///
    /// The short way is open only to formats that show when they are cut off: a trainer may report its steps
    /// while it writes.
    pub(crate) fn settled(&self, name: &str) -> bool {
        let Some(seen) = self.seen.get(name) else {
            return false;
        };
        let same_for = seen.until - seen.since;
        let announced = proves_itself(name)
            && self
                .status
                .is_some_and(|status| status.modified > seen.stamp.modified);
        same_for >= QUIET || (announced && same_for > TimeDelta::zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::scan::FileLook;

    fn at(milliseconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(milliseconds).unwrap()
    }

    fn stamp(bytes: u64, modified: i64) -> Stamp {
        Stamp {
            bytes,
            modified: at(modified),
            inode: 1,
        }
    }

    fn look(name: &str, file: Stamp, status: Option<Stamp>) -> Look {
        Look {
            files: vec![FileLook {
                name: name.to_owned(),
                path: name.into(),
                stamp: file,
            }],
            status,
        }
    }

    #[test]
    fn one_look_never_settles() {
        let mut stability = Stability::default();
        let status = Some(stamp(1, 900_000));
        stability.observe(&look("last.pt", stamp(9, 0), status), at(1_000_000));
        assert!(!stability.settled("last.pt"));
    }

    #[test]
    fn a_quiet_file_settles_after_the_quiet_time() {
        let mut stability = Stability::default();
        for (now, settled) in [(0, false), (1000, false), (2999, false), (3000, true)] {
            stability.observe(&look("a.bin", stamp(9, 0), None), at(now));
            assert_eq!(stability.settled("a.bin"), settled, "at {now}");
        }
    }

    #[test]
    fn any_change_starts_the_quiet_time_again() {
        let mut stability = Stability::default();
        let changes = [
            stamp(9, 0),
            stamp(10, 0),
            stamp(10, 1),
            Stamp {
                inode: 2,
                ..stamp(10, 1)
            },
        ];
        for (step, changed) in changes.into_iter().enumerate() {
            let now = 10_000 * i64::try_from(step).unwrap();
            stability.observe(&look("a.bin", changed, None), at(now));
            assert!(!stability.settled("a.bin"));
        }
        stability.observe(&look("a.bin", changes[3], None), at(33_000));
        assert!(stability.settled("a.bin"));
    }

    #[test]
    fn a_later_status_settles_a_checkpoint_at_the_second_look() {
        let mut stability = Stability::default();
        let file = stamp(9, 1000);
        for (name, settled) in [("last.pt", true), ("a.bin", false)] {
            stability.observe(&look(name, file, Some(stamp(1, 1001))), at(2000));
            stability.observe(&look(name, file, Some(stamp(1, 1001))), at(2200));
            assert_eq!(stability.settled(name), settled, "{name}");
        }
        stability.observe(&look("last.pt", file, Some(stamp(1, 1000))), at(3000));
        stability.observe(&look("last.pt", file, Some(stamp(1, 1000))), at(3200));
        assert!(!stability.settled("last.pt"), "the status is no later");
    }

    #[test]
    fn a_file_that_went_and_came_back_starts_anew() {
        let mut stability = Stability::default();
        stability.observe(&look("a.bin", stamp(9, 0), None), at(0));
        stability.observe(&Look::default(), at(2000));
        stability.observe(&look("a.bin", stamp(9, 0), None), at(4000));
        assert!(!stability.settled("a.bin"));
    }
}

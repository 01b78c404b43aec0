//! How many cores a program may really use: a container sees the whole machine's.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::cgroup;

/// What libraries ask how many threads to start: one more than there are cores only makes them wait for each other.
const VARIABLES: [&str; 5] = [
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "RAYON_NUM_THREADS",
];

/// Part of a core is one thread's worth: starting more only makes them wait for each other.
pub(crate) fn usable(visible: u32, allowed: u32, quota: Option<f64>) -> u32 {
    let granted = quota.map_or(u32::MAX, |cores| cores.ceil().max(1.0) as u32);
    visible.min(allowed).min(granted).max(1)
}

/// Cores in the scheduler's mask.
pub(crate) fn allowed() -> Option<u32> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let count = (0..CpuSet::count())
        .filter(|core| set.is_set(*core) == Ok(true))
        .count();
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// The variables that hold a training to the quota; none where there is none, or it grants all that can be seen. What the
/// image sets stays.
pub(super) fn thread_caps() -> Vec<(&'static str, String)> {
    let mut caps = caps(allowed(), cgroup::quota_cores());
    caps.retain(|(name, _)| std::env::var_os(name).is_none());
    caps
}

fn caps(allowed: Option<u32>, quota: Option<f64>) -> Vec<(&'static str, String)> {
    // Libraries heed the mask by themselves, and know nothing of the quota.
    let seen = allowed.unwrap_or(u32::MAX);
    let usable = usable(seen, seen, quota);
    if usable >= seen {
        return Vec::new();
    }
    VARIABLES.map(|name| (name, usable.to_string())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_what_is_shown_allowed_and_granted_is_usable() {
        assert_eq!(usable(255, 255, Some(30.0)), 30);
        assert_eq!(usable(8, 4, None), 4);
        assert_eq!(usable(8, 8, Some(0.5)), 1);
        assert_eq!(usable(8, 8, Some(2.5)), 3);
    }

    #[test]
    fn a_quota_caps_the_threads() {
        let capped = caps(Some(255), Some(30.0));
        assert_eq!(capped[0], ("OMP_NUM_THREADS", "30".to_owned()));
        assert!(caps(Some(8), None).is_empty());
        assert!(caps(Some(8), Some(16.0)).is_empty());
    }
}

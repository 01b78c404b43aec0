//! What the box's control group grants: a container sees the whole machine's cores and memory, and may use
//! fewer.

use std::fs;
use std::path::{Path, PathBuf};

/// Cores the CPU quota grants; `None` without a quota.
pub(crate) fn quota_cores() -> Option<f64> {
    if let Some(text) = unified("cpu.max") {
        return parse_cpu_max(&text);
    }
    let quota: f64 = number(&legacy("cpu", "cpu.cfs_quota_us")?)?;
    let period: f64 = number(&legacy("cpu", "cpu.cfs_period_us")?)?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Memory the group may use; `None` without a limit.
pub(crate) fn memory_limit() -> Option<u64> {
    /// Version 1 says "no limit" with a number near the largest there is.
    const NO_LIMIT: u64 = 1 << 60;

    let text = unified("memory.max").or_else(|| legacy("memory", "memory.limit_in_bytes"))?;
    number(&text).filter(|limit| *limit < NO_LIMIT)
}

/// How often the kernel has killed in this group for want of memory; `None` where that isn't counted.
pub(crate) fn out_of_memory_kills() -> Option<u64> {
    let text = unified("memory.events").or_else(|| legacy("memory", "memory.oom_control"))?;
    text.lines()
        .find_map(|line| number(line.strip_prefix("oom_kill ")?))
}

fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let quota: f64 = number(quota)?;
    let period: f64 = number(period)?;
    (period > 0.0).then(|| quota / period)
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

fn unified(file: &str) -> Option<String> {
    read(
        Path::new("/sys/fs/cgroup"),
        &own_path(|controllers| controllers.is_empty())?,
        file,
    )
}

fn legacy(controller: &str, file: &str) -> Option<String> {
    let path = own_path(|controllers| controllers.split(',').any(|one| one == controller))?;
    read(
        &PathBuf::from("/sys/fs/cgroup").join(controller),
        &path,
        file,
    )
}

/// Of the group itself, else of the root of what is mounted: in a container that is the group.
fn read(mount: &Path, group: &str, file: &str) -> Option<String> {
    let own = mount.join(group.trim_start_matches('/')).join(file);
    fs::read_to_string(own)
        .or_else(|_| fs::read_to_string(mount.join(file)))
        .ok()
}

/// This process's group in the hierarchy whose controllers match.
fn own_path(matches: impl Fn(&str) -> bool) -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        matches(controllers).then(|| parts.next().map(str::to_owned))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_share_of_its_period() {
        assert_eq!(parse_cpu_max("3000000 100000\n"), Some(30.0));
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max(""), None);
    }
}

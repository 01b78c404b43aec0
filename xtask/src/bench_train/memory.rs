//! Memory of a process and all it started: the proportional share, so that shared pages count once.

use std::collections::{HashMap, HashSet};
use std::fs;

/// Bytes of the process and its descendants now (`Pss` of `/proc/PID/smaps_rollup`; proc(5)).
pub(super) fn tree(root: u32) -> u64 {
    let members = descendants(root, &parents());
    members.into_iter().filter_map(proportional).sum()
}

fn proportional(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Every process's parent.
fn parents() -> HashMap<u32, u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name before it may hold anything, brackets and blanks too.
            let rest = stat.rsplit_once(')')?.1;
            Some((pid, rest.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect()
}

fn descendants(root: u32, parents: &HashMap<u32, u32>) -> HashSet<u32> {
    let mut members = HashSet::from([root]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| members.contains(parent) && !members.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return members;
        }
        members.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        assert!(tree(std::process::id()) > 100_000);
    }

    #[test]
    fn grandchildren_count() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 3), (9, 8)]);
        assert_eq!(descendants(2, &parents), HashSet::from([2, 3, 4]));
    }
}

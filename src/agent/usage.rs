//! What a training's processes use.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use gpurun_protocol::heartbeat::Usage;
use nix::unistd::{SysconfVar, sysconf};

use super::process::{Stat, family};

/// Remembers the previous sample: CPU use is a difference.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    /// CPU ticks by pid and start time.
    before: HashMap<(u32, u64), u64>,
    at: Option<DateTime<Utc>>,
}

/// The kernel's units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    pub(crate) ticks_per_second: u64,
    pub(crate) page_bytes: u64,
}

impl Units {
    pub(crate) fn of_this_system() -> Units {
        let value = |variable, otherwise| {
            sysconf(variable)
                .ok()
                .flatten()
                .and_then(|value| u64::try_from(value).ok())
                .filter(|value| *value > 0)
                .unwrap_or(otherwise)
        };
        Units {
            ticks_per_second: value(SysconfVar::CLK_TCK, 100),
            page_bytes: value(SysconfVar::PAGE_SIZE, 4096),
        }
    }
}

impl UsageMeter {
    /// What the session of `leader` uses now; CPU since the sample before, by processes that were in both.
    pub(crate) fn sample(
        &mut self,
        all: &[Stat],
        leader: u32,
        units: Units,
        now: DateTime<Utc>,
    ) -> Usage {
        let family = family(all, leader);
        let current: HashMap<(u32, u64), u64> = family
            .iter()
            .map(|stat| ((stat.pid, stat.start_ticks), stat.cpu_ticks))
            .collect();
        let spent: u64 = current
            .iter()
            .filter_map(|(process, ticks)| Some(ticks.saturating_sub(*self.before.get(process)?)))
            .sum();
        let seconds = self
            .at
            .map(|before| (now - before).as_seconds_f64())
            .filter(|seconds| *seconds > 0.0);
        self.before = current;
        self.at = Some(now);
        Usage {
            processes: u32::try_from(family.len()).unwrap_or(u32::MAX),
            cpu_percent: seconds
                .map(|seconds| 100.0 * spent as f64 / units.ticks_per_second as f64 / seconds)
                .map(|percent| (percent * 10.0).round() / 10.0),
            resident_bytes: family.iter().map(|stat| stat.resident_pages).sum::<u64>()
                * units.page_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, start_ticks: u64, cpu_ticks: u64) -> Stat {
        Stat {
            pid,
            state: 'R',
            parent: 1,
            session: 10,
            cpu_ticks,
            start_ticks,
            resident_pages: 2,
        }
    }

    #[test]
    fn cpu_use_is_a_difference_and_a_new_process_counts_from_its_next_sample() {
        let units = Units {
            ticks_per_second: 100,
            page_bytes: 4096,
        };
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        let mut meter = UsageMeter::default();
        let first = meter.sample(&[stat(10, 1, 500)], 10, units, at(0));
        assert_eq!((first.cpu_percent, first.resident_bytes), (None, 8192));

        let second = meter.sample(&[stat(10, 1, 900), stat(11, 2, 300)], 10, units, at(2));
        assert_eq!((second.cpu_percent, second.processes), (Some(200.0), 2));
        // Pid 10 came back as another process.
        let third = meter.sample(&[stat(10, 9, 5000), stat(11, 2, 350)], 10, units, at(3));
        assert_eq!(third.cpu_percent, Some(50.0));
    }
}

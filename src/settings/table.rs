//! Every setting, once: its place in `config.toml`, its variable, its default and its meaning.

use std::{fmt, path::PathBuf};

/// Names a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Setting {
    Provider,
    Poll,
    MaxHours,
    MaxCost,
    Policy,
    Grace,
    Lease,
    Stall,
    LocalPrice,
    LocalGpuPrice,
    LocalDiskPrice,
    LocalDisk,
    RateLimits,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct SettingInfo {
    pub(crate) setting: Setting,
    /// Dotted: `stop.max_hours` is `max_hours` under `[stop]`.
    pub(crate) path: &'static str,
    pub(crate) variable: &'static str,
    /// As written in the file; empty where the default is "none".
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File(PathBuf),
    Variable(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Variable(name) => write!(formatter, "${name}"),
        }
    }
}

const fn row(
    setting: Setting,
    path: &'static str,
    variable: &'static str,
    default: &'static str,
    help: &'static str,
) -> SettingInfo {
    SettingInfo {
        setting,
        path,
        variable,
        default,
        help,
    }
}

/// The table, in the order of the documentation.
#[rustfmt::skip]
pub(crate) const SETTINGS: [SettingInfo; 13] = [
    row(Setting::Provider, "provider", "GPURUN_PROVIDER", "", "Provider of a job that names none"),
    row(Setting::Poll, "poll", "GPURUN_POLL", "60s", "How often somebody looks at a run: a waiting terminal, or cron"),
    row(Setting::MaxHours, "stop.max_hours", "GPURUN_MAX_HOURS", "24", "Hard cap on hours for jobs that name none"),
    row(Setting::MaxCost, "stop.max_cost", "GPURUN_MAX_COST", "", "Hard cap on US dollars for jobs that name none"),
    row(Setting::Policy, "stop.policy", "GPURUN_POLICY", "default", "What ends a box: default, break-even, ski-rental, learned, destroy or keep"),
    row(Setting::Grace, "stop.grace", "GPURUN_GRACE", "30m", "How long a box may wait for checkpoints that are not safe yet"),
    row(Setting::Lease, "stop.lease", "GPURUN_LEASE", "2h", "How long a box without a training stays"),
    row(Setting::Stall, "stop.stall", "GPURUN_STALL", "30m", "No progress for this long, and for several mean epochs, is a stall"),
    row(Setting::LocalPrice, "providers.local.price", "GPURUN_LOCAL_PRICE", "0.04", "What an hour of a box on this machine costs, in US dollars"),
    row(Setting::LocalGpuPrice, "providers.local.gpu_price", "GPURUN_LOCAL_GPU_PRICE", "0.40", "What each GPU of it adds to the hour, in US dollars"),
    row(Setting::LocalDiskPrice, "providers.local.disk_price", "GPURUN_LOCAL_DISK_PRICE", "0.10", "What a GB on this machine costs a month, in US dollars"),
    row(Setting::LocalDisk, "providers.local.disk", "GPURUN_LOCAL_DISK", "", "Disk in GB of a box on this machine, for jobs that name none"),
    row(Setting::RateLimits, "providers.rate_limits", "GPURUN_RATE_LIMITS", "on", "Keep to the clouds' published rate limits: on, or off for a simulator of one's own"),
];

impl Setting {
    pub(crate) fn info(self) -> &'static SettingInfo {
        SETTINGS
            .iter()
            .find(|info| info.setting == self)
            .expect("every setting has its row; a test goes through them all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::addresses::addresses;
    use std::collections::BTreeSet;

    #[test]
    fn the_reference_is_current() {
        let mut rows =
            String::from("| setting | variable | default | meaning |\n|---|---|---|---|\n");
        for info in &SETTINGS {
            let default = if info.default.is_empty() {
                "none"
            } else {
                info.default
            };
            let (path, variable, help) = (info.path, info.variable, info.help);
            rows.push_str(&format!(
                "| `{path}` | `{variable}` | {default} | {help} |\n"
            ));
        }
        for known in addresses() {
            let (path, address) = (known.path(), known.address);
            let (variable, default, help) = (address.variable, address.default, address.help);
            rows.push_str(&format!(
                "| `{path}` | `{variable}` | {default} | {help} |\n"
            ));
        }
        crate::document::reference::check("configuration.md", &rows);
    }

    #[test]
    fn every_setting_has_one_row_one_place_and_one_variable() {
        let paths: BTreeSet<_> = SETTINGS.iter().map(|info| info.path).collect();
        let variables: BTreeSet<_> = SETTINGS.iter().map(|info| info.variable).collect();
        assert_eq!(
            (paths.len(), variables.len()),
            (SETTINGS.len(), SETTINGS.len())
        );
        assert_eq!(Setting::RateLimits as usize + 1, SETTINGS.len());
        for info in &SETTINGS {
            assert_eq!(info.setting.info().path, info.path);
        }
    }
}

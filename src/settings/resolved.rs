//! The settings, typed, each with its source.

use super::{
    addresses::{CloudAddress, addresses},
    credentials::{Cloud, Credential, clouds},
    environment::Environment,
    file::{self, Config},
    table::{SETTINGS, Setting, Source},
};
use crate::{
    document::{DocumentError, nearest},
    job::{self, Defaults, POLICIES},
};
use chrono::{DateTime, NaiveDate, Utc};
use gpurun_lifecycle::{StopSpec, TeardownPolicy};
use gpurun_pricing::{GigabyteMonthRate, Gigabytes, HourlyRate, Hours, Money};
use gpurun_providers::{CLOUDS, CloudConfig, CloudInfo, local::LocalConfig};
use rust_decimal::Decimal;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Everything that is decided outside of a job.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The ledger, the locks and the local boxes live here.
    pub(crate) state: PathBuf,
    /// Where the configuration is, or would be.
    pub(crate) config: PathBuf,
    /// What a job that is silent gets.
    pub(crate) defaults: Defaults,
    pub(crate) local: LocalConfig,
    /// Disk of a local box for a job that names none; `None`: what the job needs.
    pub(crate) local_disk: Option<Gigabytes>,
    /// How to reach each cloud of the registry; the key is with [`Settings::credentials`].
    pub(super) clouds: Vec<(&'static CloudInfo, CloudConfig)>,
    /// Keys that were found.
    pub(crate) credentials: Vec<Credential>,
    /// Path in the file, value as written, and source of every setting, for `--verbose`.
    pub(crate) sources: Vec<(String, String, Source)>,
}

impl Settings {
    /// Resolves all settings.
    ///
    /// # Errors
    /// A configuration that can't be read or holds what it shouldn't, a value that can't be typed;
    /// the error names the line or the variable.
    pub(crate) fn load(environment: &Environment) -> Result<Self, DocumentError> {
        let path = environment.config_file();
        let config = file::read(&path)?;
        let resolver = Resolver {
            environment,
            config: &config,
        };
        Ok(Self {
            state: environment.state_directory(),
            defaults: resolver.defaults()?,
            local: resolver.local(environment.state_directory().join("local"))?,
            local_disk: resolver
                .with(Setting::LocalDisk, job::gigabytes)?
                .map(|size| Gigabytes::new(size.into())),
            clouds: resolver.clouds()?,
            credentials: clouds()
                .filter_map(|cloud| cloud.find(environment, &config))
                .collect(),
            sources: resolver.sources(),
            config: path,
        })
    }

    /// Every setting with its source, and where each key was found: what `--verbose` says.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let settings = self.sources.iter();
        let settings = settings.map(|(path, value, source)| format!("{path} = {value} ({source})"));
        let keys = self.credentials.iter();
        settings.chain(keys.map(|key| format!("key of {} ({})", key.cloud, key.place)))
    }

    /// Where the local provider keeps its boxes.
    pub(crate) fn local_boxes(&self) -> PathBuf {
        self.local.root.join("boxes")
    }

    pub(crate) fn credential(&self, cloud: &str) -> Option<&Credential> {
        self.credentials.iter().find(|found| found.cloud == cloud)
    }

    /// The clouds that can be asked about the account, with their keys.
    pub(crate) fn clouds(&self) -> BTreeMap<String, CloudConfig> {
        let clouds = self.clouds.iter();
        let with_key = clouds.filter_map(|(cloud, config)| {
            let config = CloudConfig {
                key: self.credential(cloud.name)?.parts.clone(),
                ..config.clone()
            };
            Some((cloud.name.to_owned(), config))
        });
        with_key.collect()
    }

    /// Those, and the clouds that show their offers to anybody.
    pub(crate) fn markets(&self) -> BTreeMap<String, CloudConfig> {
        let mut markets = self.clouds();
        let open = self.clouds.iter().filter(|(cloud, _)| cloud.open_market);
        for (cloud, config) in open {
            markets
                .entry(cloud.name.to_owned())
                .or_insert_with(|| config.clone());
        }
        markets
    }

    /// The clouds without a key.
    pub(crate) fn clouds_without_key(&self) -> impl Iterator<Item = Cloud> {
        clouds().filter(|cloud| self.credential(cloud.name).is_none())
    }
}

/// A price may be nothing; a cap may not.
fn amount(text: &str) -> Result<Decimal, job::Unreadable> {
    match text.trim().trim_start_matches('$').parse::<Decimal>() {
        Ok(zero) if zero.is_zero() => Ok(zero),
        _ => job::money(text),
    }
}

/// The day a file was last changed: since then its prices have been what they are.
fn modified_on(path: &Path) -> NaiveDate {
    let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    day_of(modified.unwrap_or_else(|_| SystemTime::now()))
}

fn day_of(time: SystemTime) -> NaiveDate {
    DateTime::<Utc>::from(time).date_naive()
}

struct Resolver<'a> {
    environment: &'a Environment,
    config: &'a Config,
}

impl Resolver<'_> {
    /// The text of a setting and where it stands; `None` where neither says anything and there is no default.
    fn text(&self, setting: Setting) -> Option<(String, Source)> {
        let info = setting.info();
        if let Some(value) = self.environment.variable(info.variable) {
            return Some((value, Source::Variable(info.variable)));
        }
        if let (Some((value, _)), Some(document)) =
            (self.config.values.get(&setting), &self.config.document)
        {
            return Some((value.clone(), Source::File(document.path.clone())));
        }
        (!info.default.is_empty()).then(|| (info.default.to_owned(), Source::Default))
    }

    fn with<T>(
        &self,
        setting: Setting,
        parse: impl Fn(&str) -> Result<T, job::Unreadable>,
    ) -> Result<Option<T>, DocumentError> {
        let Some((text, source)) = self.text(setting) else {
            return Ok(None);
        };
        parse(&text)
            .map(Some)
            .map_err(|wrong| self.error(setting, &source, &wrong.message, wrong.expected))
    }

    fn error(
        &self,
        setting: Setting,
        source: &Source,
        message: &str,
        help: impl Into<String>,
    ) -> DocumentError {
        let path = setting.info().path;
        match (
            source,
            &self.config.document,
            self.config.values.get(&setting),
        ) {
            (Source::File(_), Some(document), Some((_, span))) => DocumentError::at(
                document,
                span.clone(),
                format!("{path}: {message}"),
                "here",
                Some(help.into()),
            ),
            _ => DocumentError::new(format!("{source} ({path}): {message}"), help),
        }
    }

    fn word<T: Copy>(
        &self,
        setting: Setting,
        words: &[(&str, T)],
    ) -> Result<Option<T>, DocumentError> {
        let Some((text, source)) = self.text(setting) else {
            return Ok(None);
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help = nearest(&text, known.iter().copied()).map_or_else(
            || format!("one of {}", known.join(", ")),
            |similar| format!("did you mean '{similar}'?"),
        );
        Err(self.error(setting, &source, &format!("'{text}' is not known"), help))
    }

    fn seconds(&self, setting: Setting, unit: Option<u32>) -> Result<Option<u64>, DocumentError> {
        self.with(setting, |text| job::duration(text, unit))
    }

    fn defaults(&self) -> Result<Defaults, DocumentError> {
        let builtin = Defaults::default();
        let stop = builtin.stop;
        let names: Vec<(&str, &str)> = job::providers().map(|name| (name, name)).collect();
        let hour = Some(3_600);
        let second = Some(1);
        Ok(Defaults {
            provider: self.word(Setting::Provider, &names)?.map(str::to_owned),
            stop: StopSpec {
                max_hours: self.hours(Setting::MaxHours, hour)?.or(stop.max_hours),
                max_cost: self.with(Setting::MaxCost, job::money)?.map(Money::new),
                policy: self
                    .word(Setting::Policy, &POLICIES)?
                    .unwrap_or(TeardownPolicy::Default),
                grace_seconds: self
                    .seconds(Setting::Grace, None)?
                    .unwrap_or(stop.grace_seconds),
                lease: self.hours(Setting::Lease, hour)?.unwrap_or(stop.lease),
                stall_seconds: self
                    .seconds(Setting::Stall, None)?
                    .unwrap_or(stop.stall_seconds),
                poll_seconds: self
                    .seconds(Setting::Poll, second)?
                    .unwrap_or(stop.poll_seconds),
                ..stop
            },
        })
    }

    /// The local provider's prices, dated by the file or the day that says them.
    fn local(&self, root: PathBuf) -> Result<LocalConfig, DocumentError> {
        let builtin = LocalConfig::new(root);
        let said = [
            Setting::LocalPrice,
            Setting::LocalGpuPrice,
            Setting::LocalDiskPrice,
        ]
        .into_iter()
        .filter_map(|setting| self.text(setting))
        .map(|(_, source)| source)
        .find(|source| *source != Source::Default);
        let (as_of, source) = match said {
            None | Some(Source::Default) => (builtin.as_of, builtin.source),
            Some(Source::File(path)) => (modified_on(&path), path.display().to_string()),
            Some(variable) => (day_of(SystemTime::now()), variable.to_string()),
        };
        Ok(LocalConfig {
            running: self
                .with(Setting::LocalPrice, amount)?
                .map_or(builtin.running, HourlyRate::new),
            per_gpu: self
                .with(Setting::LocalGpuPrice, amount)?
                .map_or(builtin.per_gpu, HourlyRate::new),
            disk: self
                .with(Setting::LocalDiskPrice, amount)?
                .map_or(builtin.disk, GigabyteMonthRate::new),
            as_of,
            source,
            ..builtin
        })
    }

    fn hours(&self, setting: Setting, unit: Option<u32>) -> Result<Option<Hours>, DocumentError> {
        Ok(self.seconds(setting, unit)?.map(job::hours))
    }

    fn clouds(&self) -> Result<Vec<(&'static CloudInfo, CloudConfig)>, DocumentError> {
        let limits = [("on", true), ("off", false)];
        let rate_limits = self.word(Setting::RateLimits, &limits)?.unwrap_or(true);
        let mut configured = Vec::new();
        for cloud in CLOUDS {
            let of_it = addresses().filter(|address| address.cloud == cloud.name);
            let urls: Result<Vec<String>, DocumentError> =
                of_it.map(|address| self.url(address)).collect();
            let mut urls = urls?.into_iter();
            let config = CloudConfig {
                base_url: urls.next(),
                second_url: urls.next(),
                rate_limits,
                ..CloudConfig::default()
            };
            configured.push((cloud, config));
        }
        Ok(configured)
    }

    /// Where a cloud's API is said to be, and where that stands.
    fn address(&self, known: CloudAddress) -> (String, Source) {
        let address = known.address;
        if let Some(value) = self.environment.variable(address.variable) {
            return (value, Source::Variable(address.variable));
        }
        match (
            self.config.addresses.get(&known.path()),
            &self.config.document,
        ) {
            (Some((value, _)), Some(document)) => {
                (value.clone(), Source::File(document.path.clone()))
            }
            _ => (address.default.to_owned(), Source::Default),
        }
    }

    fn url(&self, known: CloudAddress) -> Result<String, DocumentError> {
        let (text, source) = self.address(known);
        if CloudAddress::is_safe(&text) {
            return Ok(text);
        }
        let path = known.path();
        let message = format!("'{text}' is no address that a key may be sent to");
        let help = "write https://…, or http://127.0.0.1:PORT for a simulator on this machine";
        let span = self
            .config
            .addresses
            .get(&path)
            .map(|(_, span)| span.clone());
        Err(match (source, &self.config.document, span) {
            (Source::File(_), Some(document), Some(span)) => DocumentError::at(
                document,
                span,
                format!("{path}: {message}"),
                "here",
                Some(help.to_owned()),
            ),
            (source, ..) => DocumentError::new(format!("{source} ({path}): {message}"), help),
        })
    }

    fn sources(&self) -> Vec<(String, String, Source)> {
        let settings = SETTINGS.iter().map(|info| {
            let (value, source) = self
                .text(info.setting)
                .unwrap_or_else(|| ("none".to_owned(), Source::Default));
            (info.path.to_owned(), value, source)
        });
        let addresses = addresses().map(|known| {
            let (value, source) = self.address(known);
            (known.path(), value, source)
        });
        settings.chain(addresses).collect()
    }
}

#[cfg(test)]
mod tests;

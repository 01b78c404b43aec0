//! The typed job: every key read, every range checked, nothing looked up yet.

use super::{
    keys::Key,
    layer::Layer,
    train::{Train, train},
};
use crate::document::{DocumentError, nearest};
use crate::sink;
use gpurun_lifecycle::{CheckpointSpec, Engine, StopSpec, TeardownPolicy, VolumeSpec};
use gpurun_pricing::{Gigabytes, GpuRequest, HourlyRate, Hours, Money};
use rust_decimal::Decimal;
use std::path::{Path, PathBuf};

/// A job that can be run as far as its text goes. Paths are absolute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JobSpec {
    pub(crate) name: String,
    pub(crate) provider: Option<String>,
    pub(crate) gpu: GpuRequest,
    pub(crate) disk: Option<Gigabytes>,
    pub(crate) image: Option<String>,
    pub(crate) max_price: Option<HourlyRate>,
    /// How long a box may take to become usable, in seconds.
    pub(crate) boot_seconds: Option<u64>,
    pub(crate) volume: Option<VolumeSpec>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) engine: Engine,
    pub(crate) extras: Vec<String>,
    /// `None`: a bare box, under a lease.
    pub(crate) train: Option<Train>,
    pub(crate) checkpoints: CheckpointSpec,
    pub(crate) stop: StopSpec,
    /// The declared gap, in seconds, after which the person goes on with the box.
    pub(crate) away_seconds: Option<u64>,
}

/// What stands for a key that neither the flags nor the job file give.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Defaults {
    pub(crate) provider: Option<String>,
    pub(crate) stop: StopSpec,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            provider: None,
            stop: StopSpec {
                max_hours: Some(Hours::new(Decimal::from(24))),
                max_cost: None,
                policy: TeardownPolicy::Default,
                grace_seconds: 30 * 60,
                lease: Hours::new(Decimal::TWO),
                stall_seconds: 30 * 60,
                stall_epochs: 5,
                poll_seconds: 60,
                max_relaunches: 2,
            },
        }
    }
}

/// Names a job may give to a provider.
pub(crate) fn providers() -> impl Iterator<Item = &'static str> {
    let clouds = gpurun_providers::CLOUDS.iter().map(|cloud| cloud.name);
    ["local"].into_iter().chain(clouds).chain(["modal", "beam"])
}

/// The words of `stop.policy`.
pub(crate) const POLICIES: [(&str, TeardownPolicy); 6] = [
    ("default", TeardownPolicy::Default),
    ("break-even", TeardownPolicy::BreakEven),
    ("ski-rental", TeardownPolicy::SkiRental),
    ("learned", TeardownPolicy::Learned),
    ("destroy", TeardownPolicy::Destroy),
    ("keep", TeardownPolicy::Keep),
];

/// Files of a run directory that are worth keeping.
const FILES: [&str; 7] = [
    "*.pt",
    "status.json",
    "metrics.jsonl",
    "results.csv",
    "summary.json",
    "train_config.yaml",
    "train.log",
];

impl JobSpec {
    /// Types a job. `trailing` is what followed `--`; `current` is where relative flags start.
    ///
    /// # Errors
    /// A value out of its range, a word that isn't known, keys that contradict each other; each
    /// points at its line or names its flag.
    pub(crate) fn build(
        layer: &Layer,
        trailing: &[String],
        defaults: &Defaults,
        current: &Path,
    ) -> Result<Self, DocumentError> {
        let provider = provider(layer, defaults)?;
        let gpu = gpu(layer, provider.as_deref())?;
        let data = data(layer, current)?;
        let (engine, train) = train(layer, trailing, &gpu)?;
        let name = name(layer, data.as_deref(), train.is_some())?;
        Ok(Self {
            checkpoints: checkpoints(layer, current)?,
            stop: stop(layer, &defaults.stop)?,
            away_seconds: layer.seconds(Key::Away, None)?,
            disk: layer
                .gigabytes(Key::Disk)?
                .map(|disk| Gigabytes::new(disk.into())),
            image: layer.text(Key::Image).map(str::to_owned),
            boot_seconds: layer.seconds(Key::BootDeadline, None)?,
            volume: volume(layer)?,
            max_price: layer.money(Key::MaxPrice)?.map(HourlyRate::new),
            name,
            provider,
            gpu,
            data,
            engine,
            extras: layer.list(Key::Extras).unwrap_or_default().to_vec(),
            train,
        })
    }
}

fn provider(layer: &Layer, defaults: &Defaults) -> Result<Option<String>, DocumentError> {
    let words: Vec<(&str, &str)> = providers().map(|name| (name, name)).collect();
    let named = layer.word(Key::Provider, &words)?.map(str::to_owned);
    Ok(named.or_else(|| defaults.provider.clone()))
}

fn gpu(layer: &Layer, provider: Option<&str>) -> Result<GpuRequest, DocumentError> {
    match layer.text(Key::Gpu) {
        Some(text) => text.parse::<GpuRequest>().map_err(|error| {
            layer.error(
                Key::Gpu,
                error.to_string(),
                "a model and a count such as 4090x8 or h100x1, or cpu; `gpurun offers` lists them",
            )
        }),
        None if provider == Some("local") => Ok(GpuRequest::Cpu),
        None => Err(DocumentError::new(
            "box.gpu: the job doesn't say what to train on",
            "--gpu 4090x8 rents GPUs; --gpu cpu uses this machine",
        )),
    }
}

fn volume(layer: &Layer) -> Result<Option<VolumeSpec>, DocumentError> {
    let Some(text) = layer.text(Key::Volume) else {
        return Ok(None);
    };
    match text.split_once(':') {
        Some((id, path)) if !id.is_empty() && path.starts_with('/') => Ok(Some(VolumeSpec {
            id: id.to_owned(),
            path: path.to_owned(),
            rate: None,
        })),
        _ => Err(layer.error(
            Key::Volume,
            format!("'{text}' is not a volume and a path"),
            "the provider's id of it, a colon, and an absolute path in the box, such as vol-1:/workspace",
        )),
    }
}

/// The data set's path. Remote places are recognised so that they don't read as missing files.
fn data(layer: &Layer, current: &Path) -> Result<Option<PathBuf>, DocumentError> {
    if let Some(scheme) = layer.text(Key::Source).and_then(remote_scheme) {
        let help = "download it first and name the directory or the .tar";
        return Err(layer.error(Key::Source, not_here(scheme), help));
    }
    layer.path(Key::Source, current)
}

fn remote_scheme(text: &str) -> Option<&str> {
    text.split_once("://").map(|(scheme, _)| scheme)
}

fn not_here(scheme: &str) -> String {
    match scheme {
        "hf" | "s3" => format!("{scheme}:// is not available here yet"),
        _ => format!("{scheme}:// is not a place gpurun knows"),
    }
}

/// The run's name: it becomes a directory and part of a label, so it holds nothing that either forbids.
fn name(layer: &Layer, data: Option<&Path>, trains: bool) -> Result<String, DocumentError> {
    let Some(name) = layer.text(Key::Name) else {
        let fallback = if trains { "run" } else { "box" };
        return Ok(data.map_or_else(|| fallback.to_owned(), |path| plain_name(path, fallback)));
    };
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let all_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&c));
    if !starts_well || !all_plain || name.len() > 63 {
        return Err(layer.error(
            Key::Name,
            format!("'{name}' can't name a run"),
            "1 to 63 letters, digits, '.', '_' or '-', the first a letter or digit",
        ));
    }
    Ok(name.to_owned())
}

/// The last part of `path` without `.tar` or `.yaml`, as a name.
pub(crate) fn plain_name(path: &Path, fallback: &str) -> String {
    let stem = match path.extension().and_then(|extension| extension.to_str()) {
        Some("tar") => path.file_stem(),
        Some("yaml" | "yml") => path.parent().and_then(Path::file_name),
        _ => path.file_name(),
    };
    let plain: String = stem
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(63)
        .collect();
    let plain = plain.trim_start_matches(['.', '_', '-']);
    if plain.is_empty() {
        fallback.to_owned()
    } else {
        plain.to_owned()
    }
}

/// A directory, or a store by its address.
fn destination(layer: &Layer, current: &Path) -> Result<String, DocumentError> {
    if let Some(text) = layer.text(Key::To).filter(|text| text.contains("://")) {
        return match sink::is_store(text) {
            true => Ok(text.to_owned()),
            false => {
                let scheme = remote_scheme(text).unwrap_or_default();
                let help = "name a directory of this machine, or s3://bucket/folder";
                Err(layer.error(Key::To, not_here(scheme), help))
            }
        };
    }
    let to = layer.path(Key::To, current)?.unwrap_or_else(|| {
        let beside = layer.file().and_then(Path::parent).unwrap_or(Path::new(""));
        current.join(beside).join("runs")
    });
    Ok(to.to_string_lossy().into_owned())
}

fn checkpoints(layer: &Layer, current: &Path) -> Result<CheckpointSpec, DocumentError> {
    let to = destination(layer, current)?;
    let files = match layer.list(Key::Files) {
        Some(patterns) => patterns.to_vec(),
        None => FILES.map(str::to_owned).to_vec(),
    };
    if let Some(pattern) = files
        .iter()
        .find(|name| name.is_empty() || name.contains('/'))
    {
        return Err(layer.error(
            Key::Files,
            format!("'{pattern}' is not a file name pattern"),
            "names without a directory, such as *.pt: they are looked for in the run directory and its weights",
        ));
    }
    if files.is_empty() {
        return Err(layer.error(
            Key::Files,
            "no file would be kept",
            "leave the key out to keep weights, metrics and configuration",
        ));
    }
    let mut spec = CheckpointSpec {
        to,
        files,
        first_best: true,
        each_best: true,
        epochs: true,
        every_minutes: None,
        at_end: true,
    };
    if let Some(milestones) = layer.list(Key::Milestones) {
        set_milestones(&mut spec, milestones)
            .map_err(|(message, help)| layer.error(Key::Milestones, message, help))?;
    }
    Ok(spec)
}

fn set_milestones(spec: &mut CheckpointSpec, words: &[String]) -> Result<(), (String, String)> {
    const KNOWN: [&str; 4] = ["first-best", "each-best", "epochs", "end"];
    spec.first_best = false;
    spec.each_best = false;
    spec.epochs = false;
    // The end is always pushed: the box goes after it.
    for word in words {
        match word.as_str() {
            "first-best" => spec.first_best = true,
            "each-best" => spec.each_best = true,
            "epochs" => spec.epochs = true,
            "end" => {}
            period => {
                let period = period.strip_prefix("every ").unwrap_or(period);
                let seconds = super::quantity::duration(period, None).map_err(|_| {
                    let help = match nearest(word, KNOWN) {
                        Some(known) => format!("did you mean '{known}'?"),
                        None => format!("one of {}, or a period such as 15m", KNOWN.join(", ")),
                    };
                    (format!("'{word}' is not a milestone"), help)
                })?;
                spec.every_minutes = u32::try_from(seconds.div_ceil(60)).ok();
            }
        }
    }
    Ok(())
}

fn stop(layer: &Layer, defaults: &StopSpec) -> Result<StopSpec, DocumentError> {
    let max_hours = layer.seconds(Key::MaxHours, Some(3_600))?.map(hours);
    let max_cost = layer.money(Key::MaxCost)?.map(Money::new);
    Ok(StopSpec {
        max_hours: max_hours.or(defaults.max_hours),
        max_cost: max_cost.or(defaults.max_cost),
        policy: layer
            .word(Key::Policy, &POLICIES)?
            .unwrap_or(defaults.policy),
        grace_seconds: layer
            .seconds(Key::Grace, None)?
            .unwrap_or(defaults.grace_seconds),
        ..defaults.clone()
    })
}

/// Hours of a number of seconds.
pub(crate) fn hours(seconds: u64) -> Hours {
    Hours::new(Decimal::from(seconds) / Decimal::from(3_600))
}

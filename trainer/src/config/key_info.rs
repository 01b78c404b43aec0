//! What a key of the command line is: its name, its help, how it is read and shown.

use super::error::{Code, ConfigError};
use super::settings::{Refusal, Setting, int};
use super::train::{Resume, TrainConfig};

/// One key of `gpurun-train train`.
pub struct KeyInfo {
    pub name: &'static str,
    pub alias: Option<&'static str>,
    pub help: &'static str,
    pub get: fn(&TrainConfig) -> Setting,
    pub set: fn(&mut TrainConfig, &str) -> Result<(), Refusal>,
}

impl KeyInfo {
    /// Whether the key is a boolean, which needs no value.
    pub fn is_flag(&self) -> bool {
        matches!((self.get)(&TrainConfig::default()), Setting::Bool(_))
    }
}

/// The error for a key nobody knows.
pub(super) fn unknown<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> ConfigError {
    let error = ConfigError::new(Code::UnknownKey, format!("unknown key `{key}`"));
    match known
        .map(|name| (strsim::jaro_winkler(key, name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
    {
        Some((similarity, name)) if similarity > 0.8 => {
            error.suggest(format!("Did you mean `{name}`?"))
        }
        _ => error,
    }
}

pub(super) const fn key(
    name: &'static str,
    help: &'static str,
    get: fn(&TrainConfig) -> Setting,
    set: fn(&mut TrainConfig, &str) -> Result<(), Refusal>,
) -> KeyInfo {
    KeyInfo {
        name,
        alias: None,
        help,
        get,
        set,
    }
}

pub(super) fn count(text: &str, range: std::ops::RangeInclusive<i64>) -> Result<u32, Refusal> {
    Ok(u32::try_from(int(text, range)?).expect("every range here lies in u32"))
}

pub(super) fn uint(value: u32) -> Setting {
    Setting::Int(value.into())
}

pub(super) fn text(value: &str) -> Setting {
    Setting::Text(value.to_owned())
}

pub(super) fn path(value: &std::path::Path) -> Setting {
    Setting::Text(value.display().to_string())
}

/// Class ids as `0,3,5` or in brackets; nothing, or `none`, is all classes.
pub(super) fn classes(text: &str) -> Result<Vec<usize>, Refusal> {
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("none") {
        return Ok(vec![]);
    }
    let wrong = |reason: String| (Code::WrongType, reason);
    let mut classes = vec![];
    let items = text.trim_matches(['[', ']', '(', ')']).split(',');
    for item in items.map(str::trim).filter(|item| !item.is_empty()) {
        let class = item
            .parse()
            .map_err(|_| wrong(format!("must be class ids as in 0,3,5, got `{item}`")))?;
        if classes.contains(&class) {
            return Err(wrong(format!("names class {class} twice")));
        }
        classes.push(class);
    }
    if classes.is_empty() {
        return Err(wrong("must name a class, or be left out".to_owned()));
    }
    classes.sort_unstable();
    Ok(classes)
}

/// None where all count.
pub(super) fn ids(classes: &[usize]) -> Setting {
    match classes {
        [] => Setting::Null,
        _ => Setting::Ints(classes.iter().map(|class| *class as i64).collect()),
    }
}

pub(super) fn floats((low, high): (f64, f64)) -> Setting {
    Setting::Floats(vec![low, high])
}

pub(super) fn resume(value: &Resume) -> Setting {
    match value {
        Resume::No => Setting::Bool(false),
        Resume::Last => Setting::Bool(true),
        Resume::From(from) => path(from),
    }
}

//! What a person asks for: `4090x8`, `h100-sxmx8`, `a100-80x1`, `cpu`, or a vendor's own spelling.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use thiserror::Error;

use super::model::{FormFactor, GpuModel, MODELS};

/// More GPUs than any provider puts into one box.
const MOST_GPUS: u32 = 64;

/// The device a job wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GpuRequest {
    /// No GPU at all.
    Cpu,
    Gpus(GpuSelection),
}

/// A count of GPUs of one family; memory and form only where they were said, so several models may answer it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuSelection {
    family: &'static str,
    pub(super) memory_gb: Option<u32>,
    form: Option<FormFactor>,
    count: NonZeroU32,
}

/// A GPU that can't be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GpuError {
    #[error("`{asked}` is no GPU known here{}", suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?")))]
    Unknown {
        asked: String,
        suggestion: Option<String>,
    },
    #[error("there is no `{asked}`; {family} comes as {choices}")]
    NoSuchVariant {
        asked: String,
        family: &'static str,
        choices: String,
    },
    #[error("`{asked}` asks for {count} GPUs; a box has 1 to {MOST_GPUS}")]
    Count { asked: String, count: String },
    #[error("`{asked}` is an aarch64 machine; the training wheels and images are x86-64 only")]
    WrongArchitecture { asked: String },
}

impl GpuRequest {
    /// How many GPUs; zero for `cpu`.
    pub fn count(&self) -> u32 {
        match self {
            Self::Cpu => 0,
            Self::Gpus(selection) => selection.count.get(),
        }
    }

    /// The same GPU, another number of them. `cpu` stays `cpu`.
    #[must_use]
    pub fn with_count(&self, count: NonZeroU32) -> Self {
        match self {
            Self::Cpu => Self::Cpu,
            Self::Gpus(selection) => Self::Gpus(GpuSelection {
                count,
                ..selection.clone()
            }),
        }
    }

    /// Whether a box with `offered` is what was asked for: every model that its name leaves open would do, in the
    /// count asked for.
    pub fn is_met_by(&self, offered: &Self) -> bool {
        match (self, offered) {
            (Self::Cpu, Self::Cpu) => true,
            (Self::Gpus(wanted), Self::Gpus(offered)) => {
                wanted.count == offered.count && offered.models().all(|model| wanted.accepts(model))
            }
            _ => false,
        }
    }

    /// For people: `8x RTX 4090`, `CPU only`.
    pub fn describe(&self) -> String {
        match self {
            Self::Cpu => "CPU only".into(),
            Self::Gpus(selection) => selection.describe(),
        }
    }
}

impl GpuSelection {
    pub fn count(&self) -> NonZeroU32 {
        self.count
    }

    /// Whether an offer of `model` is what was asked for.
    pub fn accepts(&self, model: &GpuModel) -> bool {
        self.is_of_family(model)
            && self.memory_gb.map_or_else(
                || self.takes_any_memory_of(model),
                |memory| memory == model.memory_gb,
            )
    }

    /// What the family is called: `4090`, `a100`.
    pub fn family(&self) -> &'static str {
        self.family
    }

    /// Of this family, and of this form where one was said.
    pub(super) fn is_of_family(&self, model: &GpuModel) -> bool {
        self.family == model.family && self.form.is_none_or(|form| model.form == Some(form))
    }

    /// All models that answer the request, the usual one first.
    pub fn models(&self) -> impl Iterator<Item = &'static GpuModel> {
        MODELS.iter().filter(|model| self.accepts(model))
    }

    // A bare `4090` is the ordinary one; the 48 GB modification has to be asked for. A bare `a100` is either.
    fn takes_any_memory_of(&self, model: &GpuModel) -> bool {
        let ordinary = MODELS.iter().find(|other| other.family == model.family);
        ordinary.is_some_and(|ordinary| ordinary.memory_in_name || !model.memory_in_name)
    }

    fn describe(&self) -> String {
        let mut models = self.models();
        let (first, more) = (models.next(), models.next().is_some());
        let name = match first {
            Some(model) if !more => model.display.to_owned(),
            _ => self.name().to_uppercase(),
        };
        format!("{}x {name}", self.count)
    }

    fn name(&self) -> String {
        let mut name = self.family.to_owned();
        if let Some(memory) = self.memory_gb {
            name.push_str(&format!("-{memory}"));
        }
        if let Some(form) = self.form {
            name.push_str(&format!("-{form}"));
        }
        name
    }
}

/// The canonical form, which parses back to the same request.
impl fmt::Display for GpuRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => formatter.pad("cpu"),
            Self::Gpus(selection) => {
                formatter.pad(&format!("{}x{}", selection.name(), selection.count))
            }
        }
    }
}

impl FromStr for GpuRequest {
    type Err = GpuError;

    fn from_str(text: &str) -> Result<Self, GpuError> {
        let asked = text.trim();
        if asked.eq_ignore_ascii_case("cpu") {
            return Ok(Self::Cpu);
        }
        // The whole text first: `RTX4090` ends like a count and is a name.
        let (name, count) = match Named::read(asked) {
            Some(named) => (named, NonZeroU32::MIN),
            None => {
                let (name, count) = split_count(asked)?;
                (
                    Named::read(name).ok_or_else(|| unknown(asked, name, count))?,
                    count,
                )
            }
        };
        let selection = GpuSelection {
            family: name.family,
            memory_gb: name.memory_gb,
            form: name.form,
            count,
        };
        if selection.models().next().is_none() {
            let models = MODELS.iter().filter(|model| model.family == name.family);
            let choices = models
                .map(|model| format!("`{model}`"))
                .collect::<Vec<_>>()
                .join(", ");
            return Err(GpuError::NoSuchVariant {
                asked: selection.name(),
                family: name.family,
                choices,
            });
        }
        Ok(Self::Gpus(selection))
    }
}

/// `4090x8` or `8x RTX 4090`; without a count it is one. The `x` of `RTX` divides too, so the half that is a GPU wins.
fn split_count(asked: &str) -> Result<(&str, NonZeroU32), GpuError> {
    let times = |character: char| matches!(character, 'x' | 'X' | '×');
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let behind = asked.rsplit_once(times);
    let before = asked.split_once(times).map(|(count, name)| (name, count));
    let splits = || {
        [behind, before]
            .into_iter()
            .flatten()
            .filter(|(_, count)| digits(count.trim()))
    };
    let Some((name, count)) = splits()
        .find(|(name, _)| Named::read(name).is_some())
        .or_else(|| splits().next())
    else {
        return Ok((asked, NonZeroU32::MIN));
    };
    let wrong = || GpuError::Count {
        asked: asked.to_owned(),
        count: count.trim().to_owned(),
    };
    let number = count.trim().parse::<NonZeroU32>().map_err(|_| wrong())?;
    if number.get() > MOST_GPUS {
        return Err(wrong());
    }
    Ok((name.trim(), number))
}

/// A name taken apart.
struct Named {
    family: &'static str,
    memory_gb: Option<u32>,
    form: Option<FormFactor>,
}

impl Named {
    fn read(text: &str) -> Option<Self> {
        let tokens = tokens(text);
        // The longest beginning that names a family: `pro` + `6000` before `pro`.
        let (family, rest) = (1..=tokens.len().min(3)).rev().find_map(|length| {
            let (head, rest) = tokens.split_at(length);
            Some((family(&head.concat())?, rest))
        })?;
        let mut named = Self {
            family,
            memory_gb: None,
            form: None,
        };
        for token in rest {
            if let Some(form) = FormFactor::from_token(token) {
                named.form = MODELS
                    .iter()
                    .any(|model| model.family == family && model.form.is_some())
                    .then_some(form);
            } else if let Some(memory) = memory(token) {
                // Said although there is nothing to choose (`H100 80GB HBM3`): true or not, it must be one of ours.
                named.memory_gb = Some(memory);
            } else if !EDITIONS.contains(&token.as_str()) {
                return None;
            }
        }
        named.forget_the_obvious();
        Some(named)
    }

    // `H100 80GB HBM3` and `h100-sxm` are one request: memory that the rest of the name implies is not repeated.
    fn forget_the_obvious(&mut self) {
        let mut models = MODELS.iter().filter(|model| {
            model.family == self.family && self.form.is_none_or(|form| model.form == Some(form))
        });
        if models.all(|model| !model.memory_in_name && Some(model.memory_gb) == self.memory_gb) {
            self.memory_gb = None;
        }
    }
}

/// What vendors add to a name without meaning another GPU.
const EDITIONS: &[&str] = &[
    "s",
    "ws",
    "pc",
    "ac",
    "gb",
    "server",
    "workstation",
    "edition",
    "generation",
    "blackwell",
    "hbm3e",
];

/// Makers' and product lines' names, which people leave out.
const NOISE: &[&str] = &["nvidia", "geforce", "tesla", "quadro", "rtx"];

fn tokens(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let tokens = lower
        .split(|character: char| !character.is_alphanumeric())
        .filter(|token| !token.is_empty());
    let stripped = tokens.map(|token| token.strip_prefix("rtx").unwrap_or(token));
    stripped
        .filter(|token| !token.is_empty() && !NOISE.contains(token))
        .map(str::to_owned)
        .collect()
}

fn family(name: &str) -> Option<&'static str> {
    let model = MODELS
        .iter()
        .find(|model| model.family == name || model.aliases.contains(&name))?;
    Some(model.family)
}

fn memory(token: &str) -> Option<u32> {
    token
        .strip_suffix("gb")
        .or_else(|| token.strip_suffix('g'))
        .unwrap_or(token)
        .parse()
        .ok()
}

fn unknown(asked: &str, name: &str, count: NonZeroU32) -> GpuError {
    let wanted = tokens(name).join("-");
    if ["gh200", "gb200", "gb300"]
        .iter()
        .any(|aarch64| wanted.starts_with(aarch64))
    {
        return GpuError::WrongArchitecture {
            asked: asked.to_owned(),
        };
    }
    let families = MODELS.iter().map(|model| model.family.to_owned());
    let names = families.chain(MODELS.iter().map(ToString::to_string));
    let near = names
        .map(|name| (strsim::damerau_levenshtein(&name, &wanted), name))
        .min();
    let suggestion = near.filter(|(distance, _)| *distance <= 2 && *distance < wanted.len());
    let suggestion = suggestion.map(|(_, name)| {
        if count.get() > 1 {
            format!("{name}x{count}")
        } else {
            name
        }
    });
    GpuError::Unknown {
        asked: asked.to_owned(),
        suggestion,
    }
}

impl serde::Serialize for GpuRequest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for GpuRequest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

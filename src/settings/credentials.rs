//! The clouds' keys: where each is looked for, and what to do when it is nowhere.

use super::{environment::Environment, file::Config};
use gpurun_providers::{CLOUDS, KeyFile, KeyPlaces};
use secrecy::SecretString;
use std::{fmt, path::PathBuf};

/// One cloud and the places its key may be in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cloud {
    pub(crate) name: &'static str,
    pub(super) key: KeyPlaces,
}

/// Every cloud gpurun knows a key's place for: those of the registry, and those it doesn't rent on yet.
pub(super) fn clouds() -> impl Iterator<Item = Cloud> {
    let rented = CLOUDS.iter().map(|cloud| Cloud {
        name: cloud.name,
        key: cloud.key,
    });
    rented.chain(SERVERLESS)
}

const SERVERLESS: [Cloud; 2] = [
    Cloud {
        name: "modal",
        key: KeyPlaces {
            variables: &[&["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"]],
            config: &["token_id", "token_secret"],
            files: &[(
                "~/.modal.toml",
                KeyFile::ActiveProfile(&["token_id", "token_secret"]),
            )],
        },
    },
    Cloud {
        name: "beam",
        key: KeyPlaces {
            variables: &[&["BEAM_TOKEN"]],
            config: &["token"],
            files: &[("~/.beam/config.ini", KeyFile::Lines(&[&["token"]]))],
        },
    },
];

/// A cloud's key. Its parts never show in `Debug` output.
#[derive(Debug, Clone)]
pub(crate) struct Credential {
    pub(crate) cloud: &'static str,
    /// The parts in the order of the vendor: one, or an id and a secret.
    pub(crate) parts: Vec<SecretString>,
    pub(crate) place: KeyPlace,
}

/// Where a key was found. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Variable(&'static str),
    VendorFile(PathBuf),
    Config(PathBuf),
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(formatter, "${name}"),
            Self::VendorFile(path) | Self::Config(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl Cloud {
    /// Where the key goes, in one line, for a person who has none yet.
    pub(crate) fn where_the_key_goes(&self) -> String {
        let variables = self
            .key
            .variables
            .first()
            .map_or_else(String::new, |first| first.join(" and "));
        let files: Vec<String> = self
            .key
            .files
            .iter()
            .take(1)
            .map(|(path, _)| path.replace("$config", "~/.config"))
            .collect();
        let keys = self.key.config.join(" and ");
        let variables = format!("${}", variables.replace(" and ", " and $"));
        let places: Vec<String> = std::iter::once(variables).chain(files).collect();
        format!(
            "{}, or {keys} under [providers.{}] in config.toml",
            places.join(", "),
            self.name
        )
    }

    /// Looks for the key: variables, then `config.toml`, then the vendor's own files.
    pub(super) fn find(&self, environment: &Environment, config: &Config) -> Option<Credential> {
        let found = |parts: Vec<SecretString>, place| Credential {
            cloud: self.name,
            parts,
            place,
        };
        for names in self.key.variables {
            let parts: Option<Vec<SecretString>> = names
                .iter()
                .map(|name| environment.variable(name).map(SecretString::from))
                .collect();
            if let Some(parts) = parts {
                return Some(found(parts, KeyPlace::Variable(names.first().copied()?)));
            }
        }
        let parts: Option<Vec<SecretString>> = self
            .key
            .config
            .iter()
            .map(|key| config.secrets.get(&(self.name, *key)).cloned())
            .collect();
        if let (Some(parts), Some(document)) = (parts, &config.document) {
            return Some(found(parts, KeyPlace::Config(document.path.clone())));
        }
        self.key.files.iter().find_map(|(place, form)| {
            let path = expand(place, environment);
            let text = std::fs::read_to_string(&path).ok()?;
            let parts = read(*form, &text)?;
            Some(found(parts, KeyPlace::VendorFile(path)))
        })
    }
}

fn expand(place: &str, environment: &Environment) -> PathBuf {
    if let Some(rest) = place.strip_prefix("$config/") {
        return environment.config_base().join(rest);
    }
    environment.home().join(place.trim_start_matches("~/"))
}

/// The key that a file of this form holds.
fn read(form: KeyFile, text: &str) -> Option<Vec<SecretString>> {
    match form {
        KeyFile::Whole => {
            let key = text.trim();
            (!key.is_empty()).then(|| vec![key.into()])
        }
        KeyFile::Lines(groups) => groups.iter().find_map(|names| {
            names
                .iter()
                .map(|name| assigned(text, name).map(SecretString::from))
                .collect()
        }),
        KeyFile::ActiveProfile(names) => {
            let profiles: toml::Table = text.parse().ok()?;
            let tables = || profiles.values().filter_map(toml::Value::as_table);
            let active = tables()
                .find(|table| table.get("active").and_then(toml::Value::as_bool) == Some(true))
                .or_else(|| tables().next())?;
            names
                .iter()
                .map(|name| Some(active.get(*name)?.as_str()?.into()))
                .collect()
        }
    }
}

/// The value of a `name = value` line, quotes taken off; TOML, INI and plain files agree on that much.
fn assigned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (left, right) = line.split_once('=')?;
        let value = right.trim().trim_matches(['"', '\'']);
        (left.trim() == name && !value.is_empty()).then_some(value)
    })
}

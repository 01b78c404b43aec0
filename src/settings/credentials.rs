//! The clouds' keys: where each is looked for, and what to do when it is nowhere.

use super::{environment::Environment, file::Config};
use secrecy::SecretString;
use std::{fmt, path::PathBuf};

/// One cloud and the places its key may be in, first match first.
#[derive(Debug)]
pub(crate) struct Cloud {
    pub(crate) name: &'static str,
    /// Its variables; the first is the vendor's own spelling. Clouds with a key in two parts list pairs.
    variables: &'static [&'static [&'static str]],
    /// Keys under `[providers.NAME]` of `config.toml`; all of them are needed.
    pub(super) config_keys: &'static [&'static str],
    /// Files the vendor's own tools write, `~/` the home and `$config/` the configuration base.
    files: &'static [(&'static str, FileForm)],
}

/// How a vendor's file holds the key.
#[derive(Debug, Clone, Copy)]
enum FileForm {
    /// The file is the key.
    Whole,
    /// Lines of `name = value`; all of one group of names are needed.
    Lines(&'static [&'static [&'static str]]),
    /// TOML tables, of which the one with `active = true`, else the first, holds these names.
    ActiveProfile(&'static [&'static str]),
}

/// Every cloud gpurun knows a key's place for.
pub(crate) const CLOUDS: [Cloud; 5] = [
    Cloud {
        name: "vast",
        variables: &[&["VAST_API_KEY"], &["VASTAI_API_KEY"]],
        config_keys: &["key"],
        files: &[
            ("$config/vastai/vast_api_key", FileForm::Whole),
            ("~/.vast_api_key", FileForm::Whole),
        ],
    },
    Cloud {
        name: "runpod",
        variables: &[&["RUNPOD_API_KEY"]],
        config_keys: &["key"],
        files: &[(
            "~/.runpod/config.toml",
            FileForm::Lines(&[&["api_key"], &["apiKey"]]),
        )],
    },
    Cloud {
        name: "lambda",
        variables: &[
            &["LAMBDA_API_KEY"],
            &["LAMBDA_CLOUD_TOKEN"],
            &["LAMBDA_CLOUD_API_TOKEN"],
            &["LAMBDA_API_TOKEN"],
        ],
        config_keys: &["key"],
        files: &[(
            "~/.lambda_cloud/lambda_keys",
            FileForm::Lines(&[&["api_key"]]),
        )],
    },
    Cloud {
        name: "modal",
        variables: &[&["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"]],
        config_keys: &["token_id", "token_secret"],
        files: &[(
            "~/.modal.toml",
            FileForm::ActiveProfile(&["token_id", "token_secret"]),
        )],
    },
    Cloud {
        name: "beam",
        variables: &[&["BEAM_TOKEN"]],
        config_keys: &["token"],
        files: &[("~/.beam/config.ini", FileForm::Lines(&[&["token"]]))],
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
            .variables
            .first()
            .map_or_else(String::new, |first| first.join(" and "));
        let files: Vec<String> = self
            .files
            .iter()
            .take(1)
            .map(|(path, _)| path.replace("$config", "~/.config"))
            .collect();
        let keys = self.config_keys.join(" and ");
        format!(
            "${}, {}, or {keys} under [providers.{}] in config.toml",
            variables.replace(" and ", " and $"),
            files.join(", "),
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
        for names in self.variables {
            let parts: Option<Vec<SecretString>> = names
                .iter()
                .map(|name| environment.variable(name).map(SecretString::from))
                .collect();
            if let Some(parts) = parts {
                return Some(found(parts, KeyPlace::Variable(names.first().copied()?)));
            }
        }
        let parts: Option<Vec<SecretString>> = self
            .config_keys
            .iter()
            .map(|key| config.secrets.get(&(self.name, *key)).cloned())
            .collect();
        if let (Some(parts), Some(document)) = (parts, &config.document) {
            return Some(found(parts, KeyPlace::Config(document.path.clone())));
        }
        self.files.iter().find_map(|(place, form)| {
            let path = expand(place, environment);
            let text = std::fs::read_to_string(&path).ok()?;
            let parts = form.read(&text)?;
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

impl FileForm {
    fn read(self, text: &str) -> Option<Vec<SecretString>> {
        match self {
            Self::Whole => {
                let key = text.trim();
                (!key.is_empty()).then(|| vec![key.into()])
            }
            Self::Lines(groups) => groups.iter().find_map(|names| {
                names
                    .iter()
                    .map(|name| assigned(text, name).map(SecretString::from))
                    .collect()
            }),
            Self::ActiveProfile(names) => {
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
}

/// The value of a `name = value` line, quotes taken off; TOML, INI and plain files agree on that much.
fn assigned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (left, right) = line.split_once('=')?;
        let value = right.trim().trim_matches(['"', '\'']);
        (left.trim() == name && !value.is_empty()).then_some(value)
    })
}

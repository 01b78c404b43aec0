//! `config.toml`: known keys only, secrets only in a file nobody else can read.

use super::{
    addresses::addresses,
    credentials::clouds,
    table::{SETTINGS, Setting},
};
use crate::document::{Document, DocumentError, nearest, read_text};
use secrecy::SecretString;
use std::{
    collections::BTreeMap, io::ErrorKind, ops::Range, os::unix::fs::PermissionsExt, path::Path,
    sync::Arc,
};
use toml::de::{DeTable, DeValue};

/// What the configuration says, before it is typed.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) document: Option<Arc<Document>>,
    pub(super) values: BTreeMap<Setting, (String, Range<usize>)>,
    /// Addresses of clouds, by their dotted path.
    pub(super) addresses: BTreeMap<String, (String, Range<usize>)>,
    /// By provider and key name: `("vast", "key")`.
    pub(super) secrets: BTreeMap<(&'static str, &'static str), SecretString>,
}

/// Reads the configuration; a missing file is an empty one.
///
/// # Errors
/// Broken TOML, an unknown key, a value that is neither string nor number, or keys of clouds in a
/// file that others may read.
pub(super) fn read(path: &Path) -> Result<Config, DocumentError> {
    let content = match read_text(path) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) => {
            return Err(DocumentError::new(
                format!("{}: can't be read: {error}", path.display()),
                "make it a readable UTF-8 file, or point GPURUN_CONFIG elsewhere",
            ));
        }
    };
    let document = Document::new(path, content);
    let parsed = DeTable::parse(&document.content).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let label = "TOML stops being readable here";
        DocumentError::at(&document, span, error.message(), label, None)
    })?;
    let mut config = Config::default();
    collect(&document, parsed.get_ref(), "", &mut config)?;
    if !config.secrets.is_empty() {
        refuse_if_others_can_read(path)?;
    }
    config.document = Some(document);
    Ok(config)
}

fn collect(
    document: &Document,
    table: &DeTable<'_>,
    prefix: &str,
    config: &mut Config,
) -> Result<(), DocumentError> {
    for (name, value) in table {
        let path = format!("{prefix}{}", name.get_ref());
        if let DeValue::Table(inner) = value.get_ref()
            && is_table(&path)
        {
            collect(document, inner, &format!("{path}."), config)?;
            continue;
        }
        let text = match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
            DeValue::Float(number) => Some(number.as_str().to_owned()),
            _ => None,
        };
        let setting = SETTINGS.iter().find(|info| info.path == path);
        let secret = secret_place(&path);
        let is_address = addresses().any(|known| known.path() == path);
        match (setting, secret, text) {
            (Some(info), _, Some(text)) => {
                config.values.insert(info.setting, (text, value.span()));
            }
            (_, Some(place), Some(text)) => {
                config.secrets.insert(place, text.into());
            }
            (_, _, Some(text)) if is_address => {
                config.addresses.insert(path, (text, value.span()));
            }
            (None, None, text) if text.is_some() || !is_address => {
                return Err(unknown(document, name.span(), &path));
            }
            _ => {
                return Err(DocumentError::at(
                    document,
                    value.span(),
                    format!("{path} wants a string or a number"),
                    format!("this is a {}", value.get_ref().type_str()),
                    setting.map(|info| info.help.to_owned()),
                ));
            }
        }
    }
    Ok(())
}

/// The tables that may stand in the file.
fn is_table(path: &str) -> bool {
    let inside = format!("{path}.");
    known_paths().any(|known| known.starts_with(&inside))
}

fn known_paths() -> impl Iterator<Item = String> {
    let settings = SETTINGS.iter().map(|info| info.path.to_owned());
    let secrets = clouds().flat_map(|cloud| {
        let keys = cloud.key.config.iter();
        keys.map(move |key| format!("providers.{}.{key}", cloud.name))
    });
    let addresses = addresses().map(|address| address.path());
    settings.chain(addresses).chain(secrets)
}

fn secret_place(path: &str) -> Option<(&'static str, &'static str)> {
    clouds().find_map(|cloud| {
        let mut keys = cloud.key.config.iter();
        keys.find(|key| path == format!("providers.{}.{key}", cloud.name))
            .map(|key| (cloud.name, *key))
    })
}

fn unknown(document: &Document, span: Range<usize>, path: &str) -> DocumentError {
    let known: Vec<String> = known_paths().collect();
    let help = match nearest(path, known.iter().map(String::as_str)) {
        Some(similar) => format!("did you mean '{similar}'?"),
        None => format!("known are {}", known.join(", ")),
    };
    DocumentError::at(
        document,
        span,
        format!("unknown setting '{path}'"),
        "unknown setting",
        Some(help),
    )
}

fn refuse_if_others_can_read(path: &Path) -> Result<(), DocumentError> {
    let shown = path.display();
    let mode = std::fs::metadata(path)
        .map_err(|error| DocumentError::new(format!("{shown}: {error}"), "try again"))?
        .permissions()
        .mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(DocumentError::new(
        format!(
            "{shown} holds keys, and others may read it (mode {:04o})",
            mode & 0o7777
        ),
        format!("chmod 600 {shown}"),
    ))
}

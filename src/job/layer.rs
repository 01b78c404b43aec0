//! The values of a job by key, each with where it was written.

use super::{keys::Key, place::real_path, quantity};
use crate::document::{Document, DocumentError, nearest};
use rust_decimal::Decimal;
use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// A value as written; numbers stay text, so that no amount of money passes through a float.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    Number(String),
    List(Vec<String>),
    Pairs(Vec<(String, String)>),
}

/// No engine counts epochs, images or steps further; a slip of the finger does.
const MOST: i64 = 1_000_000;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Bytes of the job file.
    File(Range<usize>),
    Flag,
}

/// What a job file and the flags say, before it is typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    file: Option<Arc<Document>>,
    values: BTreeMap<Key, (Value, Origin)>,
}

impl Layer {
    pub(crate) fn of_file(file: Arc<Document>) -> Self {
        Self {
            file: Some(file),
            values: BTreeMap::new(),
        }
    }

    pub(crate) fn insert(&mut self, key: Key, value: Value, origin: Origin) {
        self.values.insert(key, (value, origin));
    }

    /// Puts the values of `over` over these: flags over the file.
    #[must_use]
    pub(crate) fn overlaid(mut self, over: Self) -> Self {
        self.file = self.file.or(over.file);
        self.values.extend(over.values);
        self
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        self.values.contains_key(&key)
    }

    /// The job file, when there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref().map(|text| text.path.as_path())
    }

    /// An error about the value of `key`, at its line or naming its flag.
    pub(crate) fn error(
        &self,
        key: Key,
        message: impl AsRef<str>,
        help: impl Into<String>,
    ) -> DocumentError {
        let info = key.info();
        match (self.values.get(&key), &self.file) {
            (Some((_, Origin::File(span))), Some(text)) => DocumentError::at(
                text,
                span.clone(),
                format!("{}: {}", info.path(), message.as_ref()),
                "here",
                Some(help.into()),
            ),
            (Some((_, Origin::Flag)), _) => {
                DocumentError::new(format!("--{}: {}", info.flag, message.as_ref()), help)
            }
            _ => DocumentError::new(format!("{}: {}", info.path(), message.as_ref()), help),
        }
    }

    pub(crate) fn text(&self, key: Key) -> Option<&str> {
        match &self.values.get(&key)?.0 {
            Value::Text(text) | Value::Number(text) => Some(text),
            Value::List(_) | Value::Pairs(_) => None,
        }
    }

    /// One of a closed set of words.
    pub(crate) fn word<T: Copy>(
        &self,
        key: Key,
        words: &[(&str, T)],
    ) -> Result<Option<T>, DocumentError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help = match nearest(text, known.iter().copied()) {
            Some(word) => format!("did you mean '{word}'?"),
            None => format!("one of {}", known.join(", ")),
        };
        Err(self.error(key, format!("'{text}' is not known"), help))
    }

    /// A whole number of at least `minimum`.
    pub(crate) fn integer(&self, key: Key, minimum: i64) -> Result<Option<i64>, DocumentError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        match text.replace('_', "").parse::<i64>() {
            Ok(number) if number > MOST => Err(self.error(
                key,
                format!("{number} is too large"),
                format!("a whole number up to {MOST}"),
            )),
            Ok(number) if number >= minimum => Ok(Some(number)),
            Ok(number) => Err(self.error(
                key,
                format!("{number} is too small"),
                format!("a whole number from {minimum} up"),
            )),
            Err(_) => Err(self.error(
                key,
                format!("'{text}' is not a whole number"),
                format!(
                    "a whole number from {minimum} up, such as {}",
                    minimum.max(1)
                ),
            )),
        }
    }

    /// A span of time in seconds; a bare number counts `unit` seconds where one is given.
    pub(crate) fn seconds(
        &self,
        key: Key,
        unit: Option<u32>,
    ) -> Result<Option<u64>, DocumentError> {
        self.quantity(key, |text| quantity::duration(text, unit))
    }

    pub(crate) fn gigabytes(&self, key: Key) -> Result<Option<u32>, DocumentError> {
        self.quantity(key, quantity::gigabytes)
    }

    pub(crate) fn money(&self, key: Key) -> Result<Option<Decimal>, DocumentError> {
        self.quantity(key, quantity::money)
    }

    pub(crate) fn list(&self, key: Key) -> Option<&[String]> {
        match &self.values.get(&key)?.0 {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn pairs(&self, key: Key) -> Option<&[(String, String)]> {
        match &self.values.get(&key)?.0 {
            Value::Pairs(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// A path: relative to the job file's directory when written there, else to `current`.
    /// A leading `~/` is the user's home.
    ///
    /// # Errors
    /// When it is empty, which would mean the directory one happens to be in.
    pub(crate) fn path(&self, key: Key, current: &Path) -> Result<Option<PathBuf>, DocumentError> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        if text.trim().is_empty() {
            return Err(self.error(key, "the path is empty", "`.` is the directory you are in"));
        }
        if let Some(rest) = text.strip_prefix("~/")
            && let Some(home) = std::env::home_dir()
        {
            return Ok(Some(home.join(rest)));
        }
        let written_in_file = matches!(self.values.get(&key), Some((_, Origin::File(_))));
        let base = match self.file().and_then(Path::parent) {
            Some(directory) if written_in_file => current.join(directory),
            _ => current.to_path_buf(),
        };
        let path = base.join(text);
        // Shown to people, and written into the ledger: without the detours.
        let detours = path.components().any(|part| part == Component::ParentDir);
        Ok(Some(if detours { real_path(&path) } else { path }))
    }

    fn quantity<T>(
        &self,
        key: Key,
        parse: impl Fn(&str) -> Result<T, quantity::Unreadable>,
    ) -> Result<Option<T>, DocumentError> {
        self.text(key)
            .map(|text| parse(text).map_err(|wrong| self.error(key, wrong.message, wrong.expected)))
            .transpose()
    }
}

//! From a destination's address to its sink.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::s3::{self, Access, Address, S3};
use super::{Digest, Directory, Sink, SinkError};
use crate::settings::Environment;

/// What opens the destinations that take a key.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Keys {
    #[serde(default)]
    s3: Option<Access>,
}

impl Keys {
    /// Those this person has.
    pub(crate) fn find(environment: &Environment) -> Self {
        Self {
            s3: Access::find(environment),
        }
    }

    /// The one that a destination takes, and no other: what a box is given.
    pub(crate) fn only_for(&self, to: &str) -> Self {
        Self {
            s3: self.s3.clone().filter(|_| to.starts_with(s3::SCHEME)),
        }
    }

    fn for_s3(&self, to: &str) -> Result<&Access, SinkError> {
        self.s3.as_ref().ok_or_else(|| SinkError::NoKey {
            location: to.to_owned(),
            place: s3::WHERE_THE_KEY_GOES,
        })
    }
}

/// Whether a destination is a store on the network, which every machine reaches alike, and not a directory.
pub(crate) fn is_store(to: &str) -> bool {
    to.starts_with(s3::SCHEME)
}

/// The folder of a run at its destination.
///
/// # Errors
/// When the destination's address or the run's name is no name; [`SinkError::NoKey`] without the key that it takes.
pub(crate) fn of_run(
    to: &str,
    keys: &Keys,
    run_name: &str,
    run_id: &str,
) -> Result<Box<dyn Sink>, SinkError> {
    if !is_store(to) {
        return Ok(Box::new(Directory::of_run(
            Path::new(to),
            run_name,
            run_id,
        )?));
    }
    let address = Address::parse(to)?;
    let access = keys.for_s3(to)?;
    Ok(Box::new(S3::of_run(&address, access, run_name, run_id)?))
}

/// Whether a store can be written to and read, before anything is rented. A directory is looked at elsewhere.
///
/// # Errors
/// What the store refuses.
pub(crate) fn probe(to: &str, keys: &Keys) -> Result<(), SinkError> {
    if !is_store(to) {
        return Ok(());
    }
    let address = Address::parse(to)?;
    S3::at(address, keys.for_s3(to)?)?.probe()
}

/// Brings a verified file from wherever it lies into `to`.
///
/// # Errors
/// [`SinkError::Damaged`] when it isn't what was verified; when it can't be read.
pub(crate) fn fetch(
    location: &str,
    keys: &Keys,
    sha256: &str,
    to: &Path,
) -> Result<Digest, SinkError> {
    let address = Address::parse(location)?;
    let wrong = || SinkError::Address {
        text: location.to_owned(),
    };
    let (prefix, name) = address.prefix.rsplit_once('/').ok_or_else(wrong)?;
    let folder = Address {
        prefix: prefix.to_owned(),
        ..address.clone()
    };
    let digest = S3::at(folder, keys.for_s3(location)?)?.get(name, to)?;
    if digest.sha256 == sha256 {
        return Ok(digest);
    }
    Err(SinkError::Damaged {
        location: location.to_owned(),
        expected: sha256.to_owned(),
        found: digest.sha256,
    })
}

//! What has to be known about a cloud before it can be asked: where its key and its address are said.

use crate::config::CloudConfig;
use crate::provider::Provider;

/// One cloud of the registry.
#[derive(Clone, Copy, Debug)]
pub struct CloudInfo {
    /// The name in job files, the ledger and error messages; lower case, never changed.
    pub name: &'static str,
    pub key: KeyPlaces,
    /// Where its API is, and where another API of it is, if there is one.
    pub addresses: &'static [Address],
    /// What it has to rent can be asked without a key.
    pub open_market: bool,
    /// A client of it; nothing is asked yet.
    pub open: fn(&CloudConfig) -> Box<dyn Provider>,
}

/// The places a key may be in, first match first.
#[derive(Clone, Copy, Debug)]
pub struct KeyPlaces {
    /// Environment variables; the first is the vendor's own spelling. Keys in two parts list pairs.
    pub variables: &'static [&'static [&'static str]],
    /// Keys under `[providers.NAME]` of `config.toml`; all of them are needed.
    pub config: &'static [&'static str],
    /// Files the vendor's own tools write, `~/` the home and `$config/` the configuration base.
    pub files: &'static [(&'static str, KeyFile)],
}

/// How a vendor's file holds the key.
#[derive(Clone, Copy, Debug)]
pub enum KeyFile {
    /// The file is the key.
    Whole,
    /// Lines of `name = value`; all of one group of names are needed.
    Lines(&'static [&'static [&'static str]]),
    /// TOML tables, of which the one with `active = true`, else the first, holds these names.
    ActiveProfile(&'static [&'static str]),
}

/// An address that may be another than the vendor's own.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Under `[providers.NAME]` of `config.toml`.
    pub key: &'static str,
    /// The vendor's own variable.
    pub variable: &'static str,
    pub default: &'static str,
    /// For the table of settings.
    pub help: &'static str,
}

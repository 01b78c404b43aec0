//! What the processes of a box find in their environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What a box gets of the environment gpurun runs in. Anything else stays out: a box is another machine, and a
/// provider's key has no business there.
const PASSED_ON: &[&str] = &[
    "LANG",
    "LC_ALL",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// How pip and others find packages from here.
const PASSED_ON_PREFIXES: &[&str] = &[
    "PIP_",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// The environment of the box with this home: what is passed on, `HOME`, `PATH`, and the provider's marks.
pub(super) fn of_box(
    home: &Path,
    marks: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, _)| is_passed_on(name))
        .collect();
    environment
        .entry("PIP_CACHE_DIR".into())
        .or_insert_with(pip_cache);
    environment.insert("HOME".into(), home.into());
    environment.insert("PATH".into(), path_of(home));
    environment.extend(
        marks
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    environment
}

pub(super) fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    PASSED_ON.contains(&name)
        || PASSED_ON_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// What gpurun installed comes first, then what this machine has.
fn path_of(home: &Path) -> OsString {
    let ours = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut path = home.join("gpurun/bin").into_os_string();
    path.push(":");
    path.push(ours);
    path
}

/// Shared with this machine, so that each new box needn't fetch the same packages again.
fn pip_cache() -> OsString {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    home.join(".cache/pip").into()
}

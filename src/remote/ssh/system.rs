//! This machine's own `ssh`, for people: the same key, the same pin.

use std::ffi::OsString;
use std::path::Path;

use gpurun_providers::SshEndpoint;

use super::keys::RunKeys;
use super::pins;

/// What the person's own configuration says about other hosts stays in force; about who may be trusted here it doesn't.
pub(super) fn command(
    user: &str,
    endpoint: &SshEndpoint,
    instance: &str,
    keys: &RunKeys,
) -> Vec<OsString> {
    let alias = pins::alias(instance, endpoint.kind);
    let options = [
        format!("IdentityFile={}", quoted(&keys.private_file())),
        "IdentitiesOnly=yes".to_owned(),
        "IdentityAgent=none".to_owned(),
        format!("UserKnownHostsFile={}", quoted(&keys.known_hosts())),
        "GlobalKnownHostsFile=none".to_owned(),
        format!("HostKeyAlias={alias}"),
        "StrictHostKeyChecking=yes".to_owned(),
        "UpdateHostKeys=no".to_owned(),
        "ServerAliveInterval=5".to_owned(),
    ];
    let mut words = vec!["ssh".to_owned()];
    for option in options {
        words.extend(["-o".to_owned(), option]);
    }
    words.extend(["-p".to_owned(), endpoint.port.to_string()]);
    words.extend(["-l".to_owned(), user.to_owned(), endpoint.host.clone()]);
    words.into_iter().map(OsString::from).collect()
}

/// One word of a configuration line, in which `%` begins a token.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

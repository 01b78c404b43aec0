//! What every box's sshd is told.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;

use super::BoxSpec;

/// Where a box's own programs lie, before the host's.
const HOST_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The text of an `sshd_config`.
pub(crate) fn config(
    spec: &BoxSpec,
    address: SocketAddr,
    host_key: &Path,
    authorized_keys: &Path,
    programs: &Path,
) -> String {
    let mut text = format!(
        "Port {}\nListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\n\
         UsePAM no\nStrictModes no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n\
         UseDNS no\nMaxStartups 500\nSubsystem sftp internal-sftp\nLogLevel VERBOSE\n",
        address.port(),
        address.ip(),
        host_key.display(),
        authorized_keys.display(),
    );
    let path = format!("{}:{HOST_PATH}", programs.display());
    // Only the first SetEnv counts: all on one line.
    text.push_str("SetEnv");
    let given = spec
        .environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in given.chain([("PATH", path.as_str())]) {
        if value.contains(['\n', '"', '\\']) || name.contains(['\n', '"', '\\', ' ', '=']) {
            continue;
        }
        // Writing to a String can't fail.
        let _ = write!(text, " \"{name}={value}\"");
    }
    text.push('\n');
    text
}

/// The text of an `authorized_keys`.
pub(crate) fn authorized(keys: &[String]) -> String {
    keys.iter()
        .fold(String::new(), |text, key| text + key.trim() + "\n")
}

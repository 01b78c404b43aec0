//! What every box's sshd is told.

use std::fmt::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

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

/// How long an sshd may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until somebody listens, or the child that should has ended.
pub(crate) fn wait_until_open(address: SocketAddr, child: &mut Child) -> std::io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > deadline || child.try_wait()?.is_some() => {
                return Err(error);
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

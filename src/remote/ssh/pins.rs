//! The host keys that boxes showed at the first contact.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use gpurun_providers::SshEndpointKind;
use russh::keys::PublicKey;

/// What a box is called in `known_hosts`, wherever it answers: addresses are given to other boxes again. A provider's
/// proxy may show a key of its own.
pub(crate) fn alias(instance: &str, kind: SshEndpointKind) -> String {
    let kind = match kind {
        SshEndpointKind::Direct => "direct",
        SshEndpointKind::Proxy => "proxy",
    };
    format!("{instance}.{kind}")
}

/// The key pinned for `alias`; `None` before the first contact.
pub(super) fn pinned(known_hosts: &Path, alias: &str) -> io::Result<Option<PublicKey>> {
    let text = match fs::read_to_string(known_hosts) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let mut keys = text.lines().filter_map(|line| {
        let (name, key) = line.split_once(' ')?;
        (name == alias).then_some(key)
    });
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    PublicKey::from_openssh(key).map(Some).map_err(|error| {
        let why = format!("the key of {alias} can't be read: {error}");
        io::Error::new(ErrorKind::InvalidData, why)
    })
}

/// Remembers the key of a box that let us in for the first time.
pub(super) fn pin(known_hosts: &Path, alias: &str, key: &PublicKey) -> io::Result<()> {
    let mut key = key.clone();
    key.set_comment("");
    let line = key.to_openssh().map_err(io::Error::other)?;
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(known_hosts)?;
    // One write: two programs that append don't mix their lines.
    file.write_all(format!("{alias} {}\n", line.trim_end()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

    #[test]
    fn a_pin_belongs_to_one_box_and_one_way() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("known_hosts");
        let direct = alias("24500001", SshEndpointKind::Direct);
        assert_eq!(pinned(&file, &direct)?, None);
        let key = PublicKey::from_openssh(ONE)?;
        pin(&file, &direct, &key)?;
        assert_eq!(
            fs::read_to_string(&file)?,
            format!("24500001.direct {ONE}\n")
        );
        let found = pinned(&file, &direct)?.ok_or("it is not there")?;
        assert_eq!(found.key_data(), key.key_data());
        assert_eq!(
            pinned(&file, &alias("24500001", SshEndpointKind::Proxy))?,
            None
        );
        assert_eq!(
            pinned(&file, &alias("24500002", SshEndpointKind::Direct))?,
            None
        );
        fs::write(&file, "24500001.direct garbage\n")?;
        assert!(
            pinned(&file, &direct).is_err(),
            "a pin that can't be read is no first contact"
        );
        Ok(())
    }
}

//! Boxes without privileges: an sshd of their own on the loopback, whose login has a folder for a home.
//!
//! Processes are real and die together; the file system below the home is the host's.

use std::collections::HashMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use tempfile::TempDir;

use super::folder::{failed, home_of, host_key, make, remove, write};
use super::jail::{Jail, MARK};
use super::sshd::{authorized, config, wait_until_open};
use super::{BoxSpec, Boxes, SshAddress, nvidia_smi};
use crate::SimError;

const SSHD: &str = "/usr/sbin/sshd";
const WRAPPER: &str = "libnss_wrapper.so";

/// All plain boxes of one simulator.
#[derive(Debug)]
pub struct PlainBoxes {
    folder: TempDir,
    jail: Jail,
    port: Option<u16>,
    addresses: HashMap<String, SocketAddr>,
    running: HashMap<String, Child>,
}

impl PlainBoxes {
    /// Finds the programs. With a port, all boxes are there, each on a loopback address of its own; ports below 1024
    /// take root.
    ///
    /// # Errors
    /// [`SimError::Missing`] names the package that is missing.
    pub fn open(port: Option<u16>) -> Result<Self, SimError> {
        let missing = |what: &str, package: &str| SimError::Missing {
            what: format!("{what} is missing"),
            remedy: format!("apt-get install {package}"),
        };
        if !Path::new(SSHD).exists() {
            return Err(missing(SSHD, "openssh-server"));
        }
        if !has_wrapper() {
            return Err(missing(WRAPPER, "libnss-wrapper"));
        }
        // Root's sshd locks its children in there; without it, it refuses to start.
        if nix::unistd::geteuid().is_root() {
            make("any", Path::new("/run/sshd"), 0o755)?;
        }
        let folder = tempfile::Builder::new().prefix("boxes-").tempdir();
        Ok(Self {
            folder: folder.map_err(failed("any", "can't make a temporary folder"))?,
            jail: Jail::find(),
            port,
            addresses: HashMap::new(),
            running: HashMap::new(),
        })
    }

    /// The folder that is the home of a box's login.
    #[must_use]
    pub fn home(&self, id: &str) -> PathBuf {
        self.folder.path().join(id).join("home")
    }

    fn lay_out(&self, spec: &BoxSpec, address: SocketAddr) -> Result<PathBuf, SimError> {
        let id = spec.id.as_str();
        let place = self.folder.path().join(id);
        let (home, etc, programs) = (self.home(id), place.join("etc"), place.join("bin"));
        let keys = home.join(".ssh/authorized_keys");
        make(id, &home, 0o700)?;
        make(id, &home.join(".ssh"), 0o700)?;
        make(id, &etc, 0o755)?;
        make(id, &programs, 0o755)?;
        write(id, &keys, &authorized(&spec.keys), 0o600)?;
        write(
            id,
            &programs.join("nvidia-smi"),
            &nvidia_smi::script(spec),
            0o755,
        )?;
        for (volume, path) in &spec.volumes {
            self.link_volume(id, spec.user, volume, path)?;
        }
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let passwd = format!(
            "{}:x:{user}:{group}:box:{}:/bin/bash\nsshd:x:9999:9999::/run/sshd:/usr/sbin/nologin\n",
            spec.user,
            home.display()
        );
        write(id, &etc.join("passwd"), &passwd, 0o644)?;
        write(
            id,
            &etc.join("group"),
            &format!("{}:x:{group}:\n", spec.user),
            0o644,
        )?;
        host_key(id, &etc.join("host_key"))?;
        let mut spec = spec.clone();
        spec.environment
            .push((MARK.to_owned(), place.display().to_string()));
        if let Some(torch) = spec.broken_torch() {
            let python = place.join("python");
            make(id, &python.join("torch"), 0o755)?;
            write(id, &python.join("torch/__init__.py"), &torch, 0o644)?;
            spec.environment
                .push(("PYTHONPATH".to_owned(), python.display().to_string()));
        }
        let host_key = etc.join("host_key");
        let text = config(&spec, address, &host_key, &keys, &programs);
        write(id, &etc.join("sshd_config"), &text, 0o644)?;
        Ok(etc)
    }

    /// A volume below the login's home; elsewhere the file system is the host's, and none appears.
    fn link_volume(&self, id: &str, user: &str, volume: &str, path: &str) -> Result<(), SimError> {
        let Ok(inside) = Path::new(path).strip_prefix(home_of(user)) else {
            return Ok(());
        };
        let folder = self.folder.path().join("volumes").join(volume);
        make(id, &folder, 0o700)?;
        let link = self.home(id).join(inside);
        if link.is_symlink() {
            return Ok(());
        }
        make(id, link.parent().unwrap_or(&link), 0o700)?;
        let linked = std::os::unix::fs::symlink(&folder, &link);
        linked.map_err(failed(id, format!("can't mount {}", link.display())))
    }

    fn spawn(&self, id: &str, etc: &Path) -> Result<Child, SimError> {
        let log = File::create(etc.join("log")).map_err(failed(id, "can't make its log"))?;
        let mut command = self.jail.command(Path::new("/usr/bin/env"));
        command
            .arg(format!("LD_PRELOAD={WRAPPER}"))
            .arg(format!(
                "NSS_WRAPPER_PASSWD={}",
                etc.join("passwd").display()
            ))
            .arg(format!("NSS_WRAPPER_GROUP={}", etc.join("group").display()))
            .arg(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(etc.join("sshd_config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        command.spawn().map_err(failed(id, "can't start its sshd"))
    }
}

impl Boxes for PlainBoxes {
    fn start(&mut self, spec: &BoxSpec) -> Result<SshAddress, SimError> {
        let id = spec.id.as_str();
        self.stop(id)?;
        let address = match self.addresses.get(id) {
            Some(address) => *address,
            None => free_address(self.port).map_err(failed(id, "no free address"))?,
        };
        self.addresses.insert(id.to_owned(), address);
        let etc = self.lay_out(spec, address)?;
        let mut child = self.spawn(id, &etc)?;
        let up = wait_until_open(address, &mut child);
        self.running.insert(id.to_owned(), child);
        up.map_err(|error| {
            let said = std::fs::read_to_string(etc.join("log")).unwrap_or_default();
            failed(id, format!("its sshd doesn't listen; it said: {said}"))(error)
        })?;
        Ok(SshAddress {
            host: address.ip().to_string(),
            port: address.port(),
        })
    }

    fn stop(&mut self, id: &str) -> Result<(), SimError> {
        if let Some(mut child) = self.running.remove(id) {
            let mark = self.folder.path().join(id);
            self.jail.kill(&mut child, &mark.display().to_string());
        }
        Ok(())
    }

    fn destroy(&mut self, id: &str) -> Result<(), SimError> {
        self.stop(id)?;
        self.addresses.remove(id);
        remove(id, &self.folder.path().join(id))
    }

    fn set_keys(&mut self, id: &str, _: &str, keys: &[String]) -> Result<(), SimError> {
        let home = self.home(id);
        if !home.exists() {
            return Ok(());
        }
        write(
            id,
            &home.join(".ssh/authorized_keys"),
            &authorized(keys),
            0o600,
        )
    }
}

impl Drop for PlainBoxes {
    fn drop(&mut self) {
        let ids: Vec<String> = self.running.keys().cloned().collect();
        for id in ids {
            // Nobody is left to tell.
            let _ = self.stop(&id);
        }
    }
}

fn has_wrapper() -> bool {
    let places = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib",
        "/usr/lib64",
    ];
    places
        .iter()
        .any(|place| Path::new(place).join(WRAPPER).exists())
}

/// Any free port of 127.0.0.1, or the given one on an address of 127.64.0.0/10 that nobody uses.
fn free_address(port: Option<u16>) -> std::io::Result<SocketAddr> {
    let Some(port) = port else {
        return TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr();
    };
    loop {
        let address = Ipv4Addr::new(
            127,
            fastrand::u8(64..128),
            fastrand::u8(..),
            fastrand::u8(1..255),
        );
        match TcpListener::bind((address, port)) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            bound => return bound?.local_addr(),
        }
    }
}

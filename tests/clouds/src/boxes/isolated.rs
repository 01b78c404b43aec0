//! Boxes that are machines of their own: root file system on a disk of limited size, address, processes, host name.
//!
//! They take root. Their programs are the host's, read-only below an overlay; nothing else of the host is in them.

use std::collections::HashMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::folder::{failed, home_of, host_key, make, remove, run, write};
use super::jail::{Jail, children};
use super::sshd::{authorized, config, wait_until_open};
use super::{BoxSpec, Boxes, SshAddress, nvidia_smi};
use crate::SimError;

const INIT: &str = include_str!("isolated_init.sh");

/// Folders of the host's root that hold its programs; the others are hidden.
const SHOWN: [&str; 10] = [
    "bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt", "var",
];

/// How long a box may take until its first process is there.
const PATIENCE: Duration = Duration::from_secs(20);

/// All isolated boxes of one simulator.
#[derive(Debug)]
pub struct IsolatedBoxes {
    folder: TempDir,
    port: u16,
    networks: HashMap<String, Network>,
    running: HashMap<String, Child>,
}

/// A cable between the host and one box: four addresses, of which two are used.
#[derive(Debug, Clone)]
struct Network {
    link: String,
    gateway: Ipv4Addr,
    address: Ipv4Addr,
}

impl IsolatedBoxes {
    /// Tries out whether this machine allows them.
    ///
    /// # Errors
    /// [`SimError::Missing`] names what is missing.
    pub fn open(port: Option<u16>) -> Result<Self, SimError> {
        let missing = |what: &str, remedy: &str| SimError::Missing {
            what: what.to_owned(),
            remedy: remedy.to_owned(),
        };
        if !nix::unistd::geteuid().is_root() {
            return Err(missing(
                "isolated boxes take root",
                "run as root, or use plain boxes",
            ));
        }
        for (program, package) in [
            ("/usr/sbin/sshd", "openssh-server"),
            ("/sbin/mkfs.ext4", "e2fsprogs"),
            ("/sbin/ip", "iproute2"),
        ] {
            if !Path::new(program).exists() {
                return Err(missing(
                    &format!("{program} is missing"),
                    &format!("apt-get install {package}"),
                ));
            }
        }
        if !Command::new("unshare")
            .args([
                "--mount", "--net", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt",
            ])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
        {
            return Err(missing(
                "namespaces and mounts are forbidden here",
                "use plain boxes",
            ));
        }
        let folder = tempfile::Builder::new().prefix("boxes-").tempdir();
        Ok(Self {
            folder: folder.map_err(failed("any", "can't make a temporary folder"))?,
            port: port.unwrap_or(22),
            networks: HashMap::new(),
            running: HashMap::new(),
        })
    }

    fn place(&self, id: &str) -> PathBuf {
        self.folder.path().join(id)
    }

    fn lay_out(&self, spec: &BoxSpec, address: SocketAddr) -> Result<(), SimError> {
        let id = spec.id.as_str();
        let seed = self.place(id).join("seed");
        make(id, &seed, 0o700)?;
        disk(id, &self.place(id).join("disk.img"), spec.disk_mb)?;
        host_key(id, &seed.join("host_key"))?;
        let home = home_of(spec.user);
        let (key, keys) = (
            Path::new("/etc/ssh/host_key"),
            home.join(".ssh/authorized_keys"),
        );
        let mut spec = spec.clone();
        if let Some(torch) = spec.broken_torch() {
            write(id, &seed.join("torch.py"), &torch, 0o644)?;
            let path = "/usr/local/share/broken-python";
            spec.environment
                .push(("PYTHONPATH".to_owned(), path.to_owned()));
        }
        let text = config(&spec, address, key, &keys, Path::new("/usr/local/bin"));
        write(id, &seed.join("sshd_config"), &text, 0o644)?;
        write(
            id,
            &seed.join("authorized_keys"),
            &authorized(&spec.keys),
            0o600,
        )?;
        write(
            id,
            &seed.join("nvidia-smi"),
            &nvidia_smi::script(&spec),
            0o755,
        )?;
        let mut mounts = String::new();
        for (volume, path) in &spec.volumes {
            let folder = self.folder.path().join("volumes").join(volume);
            make(id, &folder, 0o777)?;
            mounts += &format!("{} {path}\n", folder.display());
        }
        write(id, &seed.join("mounts"), &mounts, 0o644)?;
        write(id, &seed.join("hidden"), &hidden(id)?, 0o644)
    }

    fn spawn(&self, spec: &BoxSpec, network: &Network) -> Result<Child, SimError> {
        let id = spec.id.as_str();
        let place = self.place(id);
        let log = File::create(place.join("log")).map_err(failed(id, "can't make its log"))?;
        Command::new("unshare")
            .args([
                "--mount",
                "--propagation",
                "private",
                "--net",
                "--uts",
                "--ipc",
            ])
            .args([
                "--pid",
                "--fork",
                "--kill-child",
                "--",
                "/bin/sh",
                "-c",
                INIT,
                "init",
            ])
            .arg(&place)
            .args([
                spec.user,
                id,
                &network.address.to_string(),
                &network.gateway.to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(failed(id, "can't start it"))
    }
}

impl Boxes for IsolatedBoxes {
    fn start(&mut self, spec: &BoxSpec) -> Result<SshAddress, SimError> {
        let id = spec.id.as_str();
        self.stop(id)?;
        let network = self
            .networks
            .entry(id.to_owned())
            .or_insert_with(Network::random)
            .clone();
        let address = SocketAddr::from((network.address, self.port));
        self.lay_out(spec, address)?;
        let mut child = self.spawn(spec, &network)?;
        let up = connect(id, &mut child, &network).and_then(|()| {
            wait_until_open(address, &mut child).map_err(failed(id, "its sshd doesn't listen"))
        });
        self.running.insert(id.to_owned(), child);
        up.map_err(|error| {
            let said = std::fs::read_to_string(self.place(id).join("log")).unwrap_or_default();
            failed(id, format!("{error}; it said: {said}"))(std::io::Error::other("not up"))
        })?;
        Ok(SshAddress {
            host: network.address.to_string(),
            port: self.port,
        })
    }

    fn stop(&mut self, id: &str) -> Result<(), SimError> {
        if let Some(mut child) = self.running.remove(id) {
            Jail::Root.kill(&mut child, "");
            if let Some(network) = self.networks.get(id) {
                // The kernel pulls the cable too, but only after a while. An error says that it has.
                let _ = run(
                    id,
                    Command::new("/sbin/ip").args(["link", "delete", &network.link]),
                );
            }
        }
        Ok(())
    }

    fn destroy(&mut self, id: &str) -> Result<(), SimError> {
        self.stop(id)?;
        self.networks.remove(id);
        remove(id, &self.place(id))
    }

    fn set_keys(&mut self, id: &str, user: &str, keys: &[String]) -> Result<(), SimError> {
        let Some(first) = self
            .running
            .get(id)
            .and_then(|child| children(child.id()).first().copied())
        else {
            return Ok(());
        };
        let home = home_of(user);
        let inside = home
            .strip_prefix("/")
            .unwrap_or(&home)
            .join(".ssh/authorized_keys");
        write(
            id,
            &PathBuf::from(format!("/proc/{first}/root")).join(inside),
            &authorized(keys),
            0o600,
        )
    }
}

impl Drop for IsolatedBoxes {
    fn drop(&mut self) {
        let ids: Vec<String> = self.running.keys().cloned().collect();
        for id in ids {
            // Nobody is left to tell.
            let _ = self.stop(&id);
        }
    }
}

impl Network {
    /// One of the million /30 networks of 10.64.0.0/10.
    fn random() -> Self {
        let block = fastrand::u32(0..1 << 20);
        let base = u32::from(Ipv4Addr::new(10, 64, 0, 0)) + block * 4;
        Self {
            link: format!("box{block:x}"),
            gateway: Ipv4Addr::from(base + 1),
            address: Ipv4Addr::from(base + 2),
        }
    }
}

/// Puts the cable in, and waits until the box's end is up. It vanishes with the box.
fn connect(id: &str, child: &mut Child, network: &Network) -> Result<(), SimError> {
    let first = wait_for(id, child, |child| children(child.id()).first().copied())?;
    let (link, gateway) = (network.link.as_str(), format!("{}/30", network.gateway));
    let mut add = Command::new("/sbin/ip");
    add.args([
        "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns",
    ]);
    run(id, add.arg(first.to_string()))?;
    run(
        id,
        Command::new("/sbin/ip").args(["address", "add", &gateway, "dev", link]),
    )?;
    run(
        id,
        Command::new("/sbin/ip").args(["link", "set", link, "up"]),
    )?;
    // A question for its hardware address that is asked before is lost, and asked again only after a second.
    let carrier = format!("/sys/class/net/{link}/carrier");
    wait_for(id, child, |_| {
        let up = std::fs::read_to_string(&carrier).is_ok_and(|text| text.trim() == "1");
        up.then_some(())
    })
}

/// Looks until something is there, or the box has ended.
fn wait_for<T>(
    id: &str,
    child: &mut Child,
    look: impl Fn(&Child) -> Option<T>,
) -> Result<T, SimError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look(child) {
            return Ok(found);
        }
        let ended = child.try_wait().map_err(failed(id, "can't look at it"))?;
        if ended.is_some() || Instant::now() > deadline {
            return Err(failed(id, "it doesn't come up")(std::io::Error::other(
                "ended or late",
            )));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// An empty ext4 of so many MB, which takes no room before it is written to; one that is there stays as it is.
fn disk(id: &str, image: &Path, megabytes: u64) -> Result<(), SimError> {
    if image.exists() {
        return Ok(());
    }
    let file = File::create(image).map_err(failed(id, "can't make its disk"))?;
    file.set_len(megabytes.max(64) * 1_000_000)
        .map_err(failed(id, "can't size its disk"))?;
    let options = [
        "-q",
        "-F",
        "-m0",
        "-O",
        "^has_journal,^resize_inode",
        "-E",
        "lazy_itable_init=1",
    ];
    run(id, Command::new("/sbin/mkfs.ext4").args(options).arg(image))
}

fn hidden(id: &str) -> Result<String, SimError> {
    let entries = std::fs::read_dir("/").map_err(failed(id, "can't list /"))?;
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let hidden = names.filter(|name| !SHOWN.contains(&name.as_str()));
    Ok(hidden.fold(String::new(), |text, name| text + &name + "\n"))
}

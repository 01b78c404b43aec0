//! What must be on the machine before anything is built: installed when root on Debian, else named.

use std::process::Command;

use crate::Error;
use crate::process::{run, succeeds};

struct Tool {
    package: &'static str,
    program: &'static str,
    /// Succeeds when the tool is there.
    probe: &'static [&'static str],
}

const TOOLS: [Tool; 6] = [
    Tool {
        package: "build-essential",
        program: "c++",
        probe: &["--version"],
    },
    Tool {
        package: "git",
        program: "git",
        probe: &["--version"],
    },
    Tool {
        package: "curl",
        program: "curl",
        probe: &["--version"],
    },
    Tool {
        package: "python3",
        program: "python3",
        probe: &["--version"],
    },
    Tool {
        package: "python3-pip",
        program: "python3",
        probe: &["-m", "pip", "--version"],
    },
    Tool {
        package: "python3-venv",
        program: "python3",
        probe: &["-c", "import venv, ensurepip"],
    },
];

/// What the tests' simulated boxes are made of.
const BOX_TOOLS: [Tool; 5] = [
    Tool {
        package: "iproute2",
        program: "ip",
        probe: &["-V"],
    },
    Tool {
        package: "e2fsprogs",
        program: "test",
        probe: &["-x", "/sbin/mkfs.ext4"],
    },
    Tool {
        package: "openssh-server",
        program: "test",
        probe: &["-x", "/usr/sbin/sshd"],
    },
    Tool {
        package: "openssh-client",
        program: "ssh",
        probe: &["-V"],
    },
    Tool {
        package: "libnss-wrapper",
        program: "sh",
        probe: &["-c", "ls /usr/lib/*/libnss_wrapper.so"],
    },
];

/// Makes sure that every tool is there that building takes.
pub(crate) fn ensure() -> Result<(), Error> {
    install(&missing(&TOOLS))
}

/// The same, and every tool that the tests take.
pub(crate) fn ensure_for_tests() -> Result<(), Error> {
    let mut all = missing(&TOOLS);
    all.extend(missing(&BOX_TOOLS));
    install(&all)
}

fn install(missing: &[&str]) -> Result<(), Error> {
    if missing.is_empty() {
        return Ok(());
    }
    let line = format!("apt-get install -y {}", missing.join(" "));
    if !succeeds("apt-get", &["--version"]) || !is_root() {
        return Err(format!("missing: {}. As root: {line}", missing.join(", ")).into());
    }
    run(Command::new("apt-get").arg("update"))?;
    run(Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "-y", "--no-install-recommends"])
        .args(missing))
}

fn missing(tools: &[Tool]) -> Vec<&'static str> {
    tools
        .iter()
        .filter(|tool| !succeeds(tool.program, tool.probe))
        .map(|tool| tool.package)
        .collect()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

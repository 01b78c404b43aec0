//! Virtual environments for the tests that drive other people's programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::process::{root, run};

/// What a test run drives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Set {
    /// pycocotools, the reference of our validation, and onnxruntime, that of our exports.
    Quick,
    /// The real LibreYOLO with a whole torch: 5 GB and minutes.
    Full,
}

impl Set {
    fn folder(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    fn requirements(self) -> &'static [&'static str] {
        match self {
            Self::Quick => &["pycocotools==2.0.11", "onnx==1.23.2", "onnxruntime==1.32.0"],
            Self::Full => &[
                "torch==2.13.0",
                "libreyolo==1.6.0",
                "onnx==1.23.2",
                "onnxruntime==1.32.0",
            ],
        }
    }
}

/// The marketplaces' own clients, which must find our simulators real: each in an environment of its own, named after
/// its vendor, since one vendor's requirements exclude another's.
const CLIENTS: &[(&str, &str)] = &[
    ("vast", "vastai==1.9.1"),
    ("runpod", "runpod==1.12.0"),
    ("lambda", "lambda-ai-cloud-api-client==2.4.1"),
    ("verda", "verda==1.25.0"),
    ("aws", "awscli==1.46.3"),
];

/// Makes the clients' environments; returns the folder that holds them.
pub(crate) fn clients() -> Result<PathBuf, Error> {
    let folder = root().join(".venv/clients");
    for (vendor, requirement) in CLIENTS {
        make(&folder.join(vendor), &[requirement])?;
    }
    Ok(folder)
}

/// What links for an old glibc; returns the folder of its programs.
pub(crate) fn dist_tools() -> Result<PathBuf, Error> {
    let folder = root().join(".venv/dist");
    make(&folder, &["cargo-zigbuild==0.24.1", "ziglang==0.17.1"])?;
    Ok(folder.join("bin"))
}

/// Makes the environment unless it is there with these very requirements; returns its Python.
pub(crate) fn environment(set: Set) -> Result<PathBuf, Error> {
    make(&root().join(".venv").join(set.folder()), set.requirements())
}

fn make(folder: &Path, requirements: &[&str]) -> Result<PathBuf, Error> {
    let python = folder.join("bin/python");
    let stamp = folder.join("requirements.installed");
    let wanted = requirements.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(folder))?;
    run(Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(requirements))?;
    std::fs::write(&stamp, wanted)
        .map_err(|error| format!("can't write {}: {error}", stamp.display()))?;
    Ok(python)
}

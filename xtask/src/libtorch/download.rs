//! Finding the wheels through pip, and fetching them so that an interruption costs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Wheel;
use super::error::{Error, IoContext};
use super::manifest::sha256_of;
use crate::output::say;

/// The tags of the pinned files; with them named, the machine's own Python version doesn't matter.
const PLATFORMS: [&str; 7] = [
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_26_x86_64",
    "manylinux_2_25_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
];

/// Asks pip where the wheels are, one URL per wheel and in their order. Nothing is installed.
pub(super) fn resolve(wheels: &[Wheel]) -> Result<Vec<String>, Error> {
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--report",
        "-",
    ]);
    pip.args(["--ignore-installed", "--no-deps", "--only-binary", ":all:"]);
    pip.args([
        "--implementation",
        "cp",
        "--python-version",
        "3.11",
        "--abi",
        "cp311",
    ]);
    for platform in PLATFORMS {
        pip.args(["--platform", platform]);
    }
    // pip insists on a target for a foreign platform; a dry run never creates it.
    pip.args(["--target", "unused"]);
    pip.args(wheels.iter().map(|wheel| wheel.requirement));
    let output = pip.output().map_err(|source| Error::Tool {
        program: "python3",
        remedy: "Python 3 with pip (Debian: apt-get install python3-pip)",
        source,
    })?;
    if !output.status.success() {
        return Err(Error::Resolve {
            output: String::from_utf8_lossy(&output.stderr).trim().into(),
        });
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    wheels.iter().map(|wheel| url_of(&report, wheel)).collect()
}

/// The place of one wheel in pip's installation report.
fn url_of(report: &Value, wheel: &Wheel) -> Result<String, Error> {
    let items = report["install"].as_array().map_or(&[][..], Vec::as_slice);
    let wanted = |item: &&Value| {
        let name = item["metadata"]["name"].as_str().unwrap_or_default();
        let version = item["metadata"]["version"].as_str().unwrap_or_default();
        wheel.requirement == format!("{}=={version}", name.replace('_', "-").to_lowercase())
    };
    items
        .iter()
        .find(wanted)
        .and_then(|item| item["download_info"]["url"].as_str())
        .map(str::to_owned)
        .ok_or_else(|| Error::Unresolved {
            requirement: wheel.requirement.into(),
        })
}

/// Fetches one wheel into `downloads`, going on where an earlier call stopped, and checks its hash.
pub(super) fn wheel(wheel: &Wheel, url: &str, downloads: &Path) -> Result<PathBuf, Error> {
    // The hash in the name keeps the bytes of an older pin from being continued.
    let archive = downloads.join(format!("{}.whl", &wheel.sha256[..16]));
    let part = archive.with_extension("part");
    let mut found = String::new();
    if archive.exists() && sha256_of(&archive)? == wheel.sha256 {
        return Ok(archive);
    }
    for _attempt in 0..2 {
        transfer(wheel, url, &part)?;
        found = sha256_of(&part)?;
        if found == wheel.sha256 {
            fs::rename(&part, &archive).context(&part)?;
            return Ok(archive);
        }
        fs::remove_file(&part).context(&part)?;
    }
    Err(Error::Hash {
        requirement: wheel.requirement.into(),
        expected: wheel.sha256.into(),
        found,
    })
}

fn transfer(wheel: &Wheel, url: &str, part: &Path) -> Result<(), Error> {
    let have = fs::metadata(part).map_or(0, |metadata| metadata.len());
    // A server answers a range that starts at the end with an error.
    if have == wheel.bytes {
        return Ok(());
    }
    if have > wheel.bytes {
        fs::remove_file(part).context(part)?;
    }
    say(format_args!(
        "downloading {} ({} MB, {} MB already here)",
        wheel.requirement,
        wheel.bytes / 1_000_000,
        have / 1_000_000
    ));
    let status = Command::new("curl")
        .args(["--fail", "--location", "--silent", "--show-error"])
        .args(["--retry", "5", "--retry-connrefused", "--continue-at", "-"])
        .arg("--output")
        .arg(part)
        .arg(url)
        .stdin(Stdio::null())
        .status()
        .map_err(|source| Error::Tool {
            program: "curl",
            remedy: "curl (Debian: apt-get install curl)",
            source,
        })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Download {
        requirement: wheel.requirement.into(),
        status: status.to_string(),
    })
}

/// Fails early when the disk cannot hold the download and the unpacked set.
pub(super) fn require_space(dir: &Path, needed: u64) -> Result<(), Error> {
    let Ok(output) = Command::new("df").arg("-Pk").arg(dir).output() else {
        return Ok(()); // Writing will tell.
    };
    let Some(available) = available_bytes(&String::from_utf8_lossy(&output.stdout)) else {
        return Ok(());
    };
    if available >= needed {
        return Ok(());
    }
    Err(Error::Space {
        dir: dir.into(),
        available: available / 1_000_000,
        needed: needed / 1_000_000,
    })
}

/// The fourth column of the POSIX format of `df`, in bytes.
fn available_bytes(df: &str) -> Option<u64> {
    let line = df.lines().nth(1)?;
    let kibibytes: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Wheel {
        Wheel {
            requirement: "nvidia-cuda-runtime==13.0.96",
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            bytes: 3,
            pick: |_| None,
        }
    }

    #[test]
    fn the_url_is_found_whatever_the_case_and_order_of_the_report() {
        let report = serde_json::json!({"install": [
            {"metadata": {"name": "torch", "version": "2.13.0"}, "download_info": {"url": "t"}},
            {"metadata": {"name": "Nvidia_CUDA-runtime", "version": "13.0.96"}, "download_info": {"url": "r"}},
        ]});
        assert_eq!(url_of(&report, &small()).expect("named"), "r");
    }

    #[test]
    fn another_version_in_the_report_is_not_taken() {
        let report = serde_json::json!({"install": [
            {"metadata": {"name": "nvidia-cuda-runtime", "version": "13.0.97"}, "download_info": {"url": "r"}},
        ]});
        assert!(matches!(
            url_of(&report, &small()),
            Err(Error::Unresolved { .. })
        ));
    }

    #[test]
    fn an_interrupted_download_goes_on() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let source = dir.path().join("source");
        fs::write(&source, "abc").expect("writable");
        let url = format!("file://{}", source.display());
        let part = dir.path().join("ba7816bf8f01cfea.part");
        fs::write(&part, "ab").expect("writable");
        let archive = wheel(&small(), &url, dir.path()).expect("completed");
        assert_eq!(fs::read(&archive).expect("readable"), b"abc");
        assert!(!part.exists());

        // Bytes that never belonged to the file cost a second download, not a wrong archive.
        fs::remove_file(&archive).expect("removable");
        fs::write(&part, "xb").expect("writable");
        let archive = wheel(&small(), &url, dir.path()).expect("fetched from the start");
        assert_eq!(fs::read(archive).expect("readable"), b"abc");
    }

    #[test]
    fn wrong_bytes_are_refused_and_not_kept() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let source = dir.path().join("source");
        fs::write(&source, "abd").expect("writable");
        let url = format!("file://{}", source.display());
        assert!(matches!(
            wheel(&small(), &url, dir.path()),
            Err(Error::Hash { .. })
        ));
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1);
    }

    #[test]
    fn free_space_is_the_fourth_column() {
        let df =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 100 40 60 40% /\n";
        assert_eq!(available_bytes(df), Some(60 * 1024));
        assert_eq!(available_bytes("df: no such file\n"), None);
    }
}

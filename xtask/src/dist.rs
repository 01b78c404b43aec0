//! `cargo xtask dist`: both programs as one bundle that any x86-64 Linux box can run.
//!
//! gpurun is linked by zig against an old glibc. gpurun-train holds C++, which must be the compiler's that libtorch was
//! made with: gcc links it, against this machine's glibc.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurun_protocol::bundle::{self, Bundle, Glibc, Program};
use sha2::{Digest, Sha256};

use crate::output::say;
use crate::process::{cargo, root, run};
use crate::{Error, libtorch, prerequisites, python};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// RHEL 8, Debian 10, Ubuntu 20.04 and later.
const GPURUN_GLIBC: &str = "2.28";
/// Ubuntu 22.04, Debian 12 and later.
const TRAINER_GLIBC: &str = "2.34";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds `target/dist/gpurun-VERSION-x86_64-linux`, and its archive beside it.
pub(crate) fn run_dist(options: &[String]) -> Result<(), Error> {
    if !options.is_empty() {
        return Err("usage: cargo xtask dist".into());
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the bundle is built on x86-64 Linux; unpack one that was built there".into());
    }
    prerequisites::ensure()?;
    libtorch::run(&[])?;
    let built = [
        ("gpurun", gpurun()?, GPURUN_GLIBC),
        ("gpurun-train", trainer()?, TRAINER_GLIBC),
    ];
    let name = Bundle::folder(VERSION);
    let place = root().join("target/dist");
    let folder = place.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let mut programs = Vec::new();
    for (name, file, newest) in built {
        let to = folder.join(name);
        fs::copy(&file, &to).map_err(at(&file))?;
        programs.push(describe(name, &to, newest)?);
    }
    let bundle = Bundle {
        schema_version: 1,
        version: VERSION.to_owned(),
        system: bundle::SYSTEM.to_owned(),
        programs,
    };
    let file = folder.join(bundle::FILE);
    let text = serde_json::to_string_pretty(&bundle)? + "\n";
    fs::write(&file, text).map_err(at(&file))?;
    for program in &bundle.programs {
        says_its_version(&folder.join(&program.name), &program.name)?;
    }
    archive(&place, &name)?;
    for Program {
        name, bytes, glibc, ..
    } in &bundle.programs
    {
        say(format_args!(
            "{name}: {:.1} MB, glibc {glibc} or newer",
            *bytes as f64 / 1e6
        ));
    }
    say(format_args!("{}", folder.display()));
    Ok(())
}

fn gpurun() -> Result<PathBuf, Error> {
    let tools = python::dist_tools()?;
    let mut path = OsString::from(tools);
    if let Some(others) = std::env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    run(cargo().env("PATH", path).args([
        "zigbuild",
        "--release",
        "--package",
        "gpurun",
        "--target",
        &format!("{TARGET}.{GPURUN_GLIBC}"),
    ]))?;
    Ok(root().join("target").join(TARGET).join("release/gpurun"))
}

/// Without the place of this machine's libtorch in it: only the one beside it is looked at.
fn trainer() -> Result<PathBuf, Error> {
    run(cargo().env("GPURUN_PORTABLE", "1").args([
        "build",
        "--release",
        "--package",
        "gpurun-train",
    ]))?;
    Ok(root().join("target/release/gpurun-train"))
}

/// What the bundle says of a program; one that needs too new a glibc is no part of it.
fn describe(name: &str, file: &Path, newest: &str) -> Result<Program, Error> {
    let content = fs::read(file).map_err(at(file))?;
    let glibc = Glibc::needed_by(&content)
        .ok_or_else(|| format!("{} names no version of glibc", file.display()))?;
    if glibc > newest.parse()? {
        return Err(format!(
            "{name} needs glibc {glibc}, and boxes with {newest} are to run it: build on an older system"
        )
        .into());
    }
    Ok(Program {
        name: name.to_owned(),
        sha256: format!("{:x}", Sha256::digest(&content)),
        bytes: content.len() as u64,
        glibc,
    })
}

fn says_its_version(program: &Path, name: &str) -> Result<(), Error> {
    let output = Command::new(program)
        .arg("--version")
        .env("LD_LIBRARY_PATH", libtorch::folder()?.join("lib"))
        .output()
        .map_err(at(program))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.starts_with(&format!("{name} {VERSION}")) {
        return Ok(());
    }
    Err(format!("`{} --version` says `{}`", program.display(), said.trim()).into())
}

/// The same content gives the same archive, whoever packs it and when.
fn archive(place: &Path, name: &str) -> Result<(), Error> {
    let file = format!("{name}.tar.gz");
    run(Command::new("tar").current_dir(place).args([
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--use-compress-program=gzip -n",
        "-cf",
        &file,
        name,
    ]))?;
    let content = fs::read(place.join(&file)).map_err(at(&place.join(&file)))?;
    let sum = place.join(format!("{file}.sha256"));
    fs::write(&sum, format!("{:x}  {file}\n", Sha256::digest(&content))).map_err(at(&sum))?;
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.display().to_string();
    move |error| format!("{path}: {error}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_for_newer_systems_is_no_part_of_a_bundle() -> Result<(), Error> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("gpurun");
        fs::write(&file, b"\0GLIBC_2.30\0")?;
        assert_eq!(describe("gpurun", &file, "2.34")?.glibc.to_string(), "2.30");
        let refused = describe("gpurun", &file, "2.28")
            .err()
            .ok_or("it is taken")?;
        assert!(
            refused.to_string().contains("needs glibc 2.30"),
            "{refused}"
        );
        fs::write(&file, b"#!/bin/sh\n")?;
        assert!(describe("gpurun", &file, "2.28").is_err());
        Ok(())
    }
}

//! Node packages that tests drive: RunPod's own client of its newest API.

use std::path::PathBuf;
use std::process::Command;

use crate::Error;
use crate::process::{root, run, succeeds};

const PACKAGE: &str = "@runpod/mcp-server@4.0.0";

/// Installs the packages unless they are there; returns their folder. `None` without npm, which the tests then say.
pub(crate) fn environment() -> Result<Option<PathBuf>, Error> {
    let folder = root().join(".venv/clients-node");
    let stamp = folder.join("package.installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == PACKAGE) {
        return Ok(Some(folder));
    }
    if !succeeds("npm", &["--version"]) {
        return Ok(None);
    }
    run(Command::new("npm")
        .args(["install", "--no-fund", "--no-audit", "--loglevel=error"])
        .arg("--prefix")
        .arg(&folder)
        .arg(PACKAGE))?;
    std::fs::write(&stamp, PACKAGE)
        .map_err(|error| format!("can't write {}: {error}", stamp.display()))?;
    Ok(Some(folder))
}

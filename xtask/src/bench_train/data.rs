//! What is trained on: BCCD where it lies beside the checkout, else drawn shapes of its size.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::process::{cargo, root, run};

/// Images of one step.
pub(super) const BATCH: usize = 8;

/// The data set, and a list of one step's images out of it.
pub(super) struct Data {
    pub(super) name: &'static str,
    pub(super) whole: PathBuf,
    pub(super) one_step: PathBuf,
    /// Steps of an epoch.
    pub(super) steps: usize,
    /// Images that are validated on.
    pub(super) validated: usize,
}

impl Data {
    pub(super) fn make() -> Result<Self, Error> {
        let folder = root().join("target/bench-train");
        fs::create_dir_all(&folder)?;
        let bccd = root().join("../shared/data/bccd");
        let bccd = std::env::var_os("GPURUN_SHARED")
            .map_or(bccd, |shared| PathBuf::from(shared).join("data/bccd"));
        let (name, source) = if bccd.join("data.yaml").is_file() {
            ("BCCD", fs::canonicalize(bccd)?)
        } else {
            let shapes = folder.join("shapes");
            let mut draw = cargo();
            draw.args([
                "run",
                "--quiet",
                "--release",
                "--package",
                "gpurun-dataset",
                "--bin",
                "draw-shapes",
                "--",
            ]);
            run(draw.arg(&shapes))?;
            ("drawn shapes", fs::canonicalize(shapes)?)
        };
        let images = images(&source.join("images/train"))?;
        let validated = images_count(&source.join("images/val"))?;
        let names = names(&source.join("data.yaml"))?;
        let list = folder.join("one-step.txt");
        let first: Vec<String> = images
            .iter()
            .take(BATCH)
            .map(|path| path.display().to_string())
            .collect();
        fs::write(&list, first.join("\n") + "\n")?;
        let one_step = folder.join("one-step.yaml");
        fs::write(
            &one_step,
            format!(
                "path: {}\ntrain: {list}\nval: {list}\n{names}",
                folder.display(),
                list = list.display()
            ),
        )?;
        Ok(Self {
            name,
            whole: source.join("data.yaml"),
            one_step,
            steps: images.len() / BATCH,
            validated,
        })
    }
}

/// The lines of a data.yaml that name the classes.
fn names(yaml: &Path) -> Result<String, Error> {
    let text = fs::read_to_string(yaml)?;
    let is_name = |line: &&str| {
        line.starts_with("names") || line.starts_with("nc") || line.starts_with([' ', '-'])
    };
    let lines: Vec<&str> = text.lines().filter(is_name).collect();
    Ok(lines.join("\n") + "\n")
}

fn images(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut images = vec![];
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        images.push(entry?.path());
    }
    images.sort();
    Ok(images)
}

fn images_count(folder: &Path) -> Result<usize, Error> {
    Ok(images(folder)?.len())
}

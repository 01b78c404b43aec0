//! The Python engine, in a virtual environment of its own.

use std::time::Duration;

use gpurun_lifecycle::InstallSpec;

use super::super::command::{Command, RemoteError};
use super::super::transport::Remote;

pub(in crate::remote) const PYTHON: &str = "gpurun/venv/bin/python";
/// Written last: what it says is there is there.
const MARKER: &str = "gpurun/libreyolo.txt";
const SHORT: Duration = Duration::from_secs(180);
/// PyTorch with CUDA is a few gigabytes.
const LONG: Duration = Duration::from_secs(3600);

/// Installs libreyolo with its extras, PyTorch first so that pip can't choose one that doesn't fit the card.
pub(super) async fn install(
    remote: &dyn Remote,
    spec: &InstallSpec,
) -> Result<String, RemoteError> {
    let package = requirement(spec);
    if is_installed(remote, &package).await? {
        return Ok(package);
    }
    // The image's own PyTorch, made for its driver, is used where there is one.
    let venv = [
        "python3",
        "-m",
        "venv",
        "--system-site-packages",
        "gpurun/venv",
    ];
    step(
        remote,
        &venv,
        SHORT,
        "install python3 with its venv module in the image",
    )
    .await?;
    let has_torch = remote
        .exec(&Command::new(&[PYTHON, "-c", "import torch, torchvision"]).timeout(SHORT))
        .await?;
    if !has_torch.success() {
        pip(remote, &["torch", "torchvision"]).await?;
    }
    pip(remote, &[&package]).await?;
    let check = [PYTHON, "-c", "import libreyolo, cv2"];
    step(
        remote,
        &check,
        SHORT,
        "OpenCV needs libgl1 and libglib2.0-0 in the image",
    )
    .await?;
    step(
        remote,
        &[
            "ln",
            "-sfn",
            "../venv/bin/libreyolo",
            "gpurun/bin/libreyolo",
        ],
        SHORT,
        "look at the disk",
    )
    .await?;
    remote.put_bytes(package.as_bytes(), MARKER).await?;
    Ok(package)
}

/// What pip is asked for: `libreyolo[lora,rfdetr]==1.6.0`.
fn requirement(spec: &InstallSpec) -> String {
    let mut extras = spec.extras.clone();
    extras.sort();
    extras.dedup();
    let extras = if extras.is_empty() {
        String::new()
    } else {
        format!("[{}]", extras.join(","))
    };
    let version = spec
        .version
        .as_ref()
        .map(|version| format!("=={version}"))
        .unwrap_or_default();
    format!("libreyolo{extras}{version}")
}

async fn is_installed(remote: &dyn Remote, package: &str) -> Result<bool, RemoteError> {
    let marker = remote.exec(&Command::new(&["cat", MARKER])).await?;
    Ok(marker.success() && marker.stdout == package.as_bytes())
}

async fn pip(remote: &dyn Remote, packages: &[&str]) -> Result<(), RemoteError> {
    let pip = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
    ];
    step(
        remote,
        &[&pip, packages].concat(),
        LONG,
        "check the box's network, and the names and version in the job",
    )
    .await
}

async fn step(
    remote: &dyn Remote,
    argv: &[&str],
    timeout: Duration,
    remedy: &str,
) -> Result<(), RemoteError> {
    let output = remote.exec(&Command::new(argv).timeout(timeout)).await?;
    if output.success() {
        return Ok(());
    }
    // Networks come back, and wrong names are refused again soon enough.
    Err(RemoteError::temporary(
        format!("`{}` on the box: {}", argv.join(" "), output.why()),
        remedy,
    ))
}

#[cfg(test)]
mod tests {
    use gpurun_lifecycle::Engine;

    use super::*;

    #[test]
    fn pip_is_asked_for_just_the_extras_named() {
        let spec = |extras: &[&str], version: Option<&str>| InstallSpec {
            engine: Engine::Libreyolo,
            extras: extras.iter().map(|extra| (*extra).to_owned()).collect(),
            version: version.map(str::to_owned),
        };
        assert_eq!(requirement(&spec(&[], None)), "libreyolo");
        assert_eq!(
            requirement(&spec(&["rfdetr", "lora", "lora"], Some("1.6.0"))),
            "libreyolo[lora,rfdetr]==1.6.0"
        );
    }
}

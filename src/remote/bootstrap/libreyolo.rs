//! The Python engine, in a virtual environment of its own.

use gpurun_lifecycle::InstallSpec;

use super::super::command::{Command, RemoteError};
use super::super::transport::Remote;
use super::recipe::{PYTHON, SHORT, pip, step, venv};
use super::torch;

/// Written last: what it says is there is there.
const MARKER: &str = "gpurun/libreyolo.txt";

/// Installs libreyolo with its extras, PyTorch first so that pip can't choose one that doesn't fit the cards.
pub(super) async fn install(
    remote: &dyn Remote,
    spec: &InstallSpec,
    cards: u32,
) -> Result<String, RemoteError> {
    let package = requirement(spec);
    if is_installed(remote, &package).await? {
        return Ok(package);
    }
    // The image's own PyTorch, made for its driver, is used where it is one for the cards.
    venv(remote).await?;
    if !computes(remote, cards).await? {
        pip(
            remote,
            &[&format!("torch=={}", torch::VERSION), "torchvision"],
        )
        .await?;
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
    let link = [
        "ln",
        "-sfn",
        "../venv/bin/libreyolo",
        "gpurun/bin/libreyolo",
    ];
    step(remote, &link, SHORT, "look at the disk").await?;
    remote.put_bytes(package.as_bytes(), MARKER).await?;
    Ok(package)
}

/// Whether the PyTorch that is there runs a kernel on every card; on a box without cards, whether there is one.
async fn computes(remote: &dyn Remote, cards: u32) -> Result<bool, RemoteError> {
    let cards = cards.to_string();
    let argv = [PYTHON, "-c", KERNELS, &cards];
    let output = remote.exec(&Command::new(&argv).timeout(SHORT)).await?;
    Ok(output.success())
}

const KERNELS: &str = "
import sys, torch, torchvision
for card in range(int(sys.argv[1])):
    if not (torch.ones(64).to(torch.device(f'cuda:{card}')) + 1).sum().item() == 128:
        sys.exit(f'cuda:{card} adds falsely')
";

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

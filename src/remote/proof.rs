//! Proving a box before more money goes in: what it really has, and that its device computes.

use std::time::Duration;

use gpurun_lifecycle::{Engine, ProveSpec};
use gpurun_protocol::proof::{Proof, Severity};

use super::bootstrap::PYTHON;
use super::command::{Command, RemoteError};
use super::transport::Remote;

const AGENT_TIMEOUT: Duration = Duration::from_secs(120);
/// The first use of a GPU loads its libraries and may compile kernels.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(300);

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Proved {
    /// Cores, memory, disk, shared memory, GPUs.
    pub(crate) machine: Proof,
    /// What the engine said of each device; empty for a plain command.
    pub(crate) devices: Vec<String>,
}

/// Measures the box, then computes a product of two 2000x2000 matrices on each device: a card whose kernels are missing
/// says that it is available, and fails there.
///
/// # Errors
/// When something makes the box unfit; then it is to be given back.
pub(crate) async fn prove(remote: &dyn Remote, spec: &ProveSpec) -> Result<Proved, RemoteError> {
    let machine = machine(remote).await?;
    let mut devices = Vec::new();
    for device in devices_of(&spec.device) {
        match spec.engine {
            Engine::Command => {}
            Engine::GpurunTrain => {
                let argv = [
                    "gpurun/bin/gpurun-train",
                    "smoke",
                    "--device",
                    device,
                    "--json",
                ];
                devices.push(computes(remote, device, &argv).await?);
            }
            Engine::Libreyolo => {
                devices.push(computes(remote, device, &[PYTHON, "-c", MATMUL, device]).await?)
            }
        }
    }
    Ok(Proved { machine, devices })
}

async fn machine(remote: &dyn Remote) -> Result<Proof, RemoteError> {
    let output = remote
        .exec(&Command::agent(&["proof"]).timeout(AGENT_TIMEOUT))
        .await?;
    let again = "try again; if it stays, take another box";
    if !output.success() {
        return Err(RemoteError::temporary(
            format!("the box can't be measured: {}", output.why()),
            again,
        ));
    }
    let proof: Proof = serde_json::from_slice(&output.stdout).map_err(|error| {
        RemoteError::permanent(
            format!("the box's proof can't be read: {error}"),
            "install again",
        )
    })?;
    let fatal = proof
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fatal);
    let fatal: Vec<&str> = fatal.map(|finding| finding.message.as_str()).collect();
    if fatal.is_empty() {
        return Ok(proof);
    }
    Err(RemoteError::permanent(
        format!("the box is unfit: {}", fatal.join("; ")),
        "take another box",
    ))
}

async fn computes(remote: &dyn Remote, device: &str, argv: &[&str]) -> Result<String, RemoteError> {
    let output = remote
        .exec(&Command::new(argv).timeout(DEVICE_TIMEOUT))
        .await?;
    if output.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let message = format!(
        "device {device} fails in a real computation: {}",
        output.why()
    );
    Err(RemoteError::permanent(
        message,
        "take another box, or another device",
    ))
}

/// `0,1,2,3` names four devices, anything else one.
fn devices_of(device: &str) -> impl Iterator<Item = &str> {
    device
        .split(',')
        .map(str::trim)
        .filter(|device| !device.is_empty())
}

const MATMUL: &str = "
import sys, torch
name = sys.argv[1]
device = torch.device('cuda:' + name if name.isdigit() else 'cuda' if name == 'auto' and torch.cuda.is_available()
                      else 'cpu' if name == 'auto' else name)
left, right = torch.rand(2000, 2000), torch.rand(2000, 2000)
product = (left.to(device) @ right.to(device)).cpu()
error = (product[-1].double() - left[-1].double() @ right.double()).abs().max().item()
if not error < 1.0:
    sys.exit(f'the product is wrong by {error}')
print(f'{device}: torch {torch.__version__}')
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_devices_is_proved_one_by_one() {
        assert_eq!(devices_of("0,1, 2").collect::<Vec<_>>(), ["0", "1", "2"]);
        assert_eq!(devices_of("cpu").collect::<Vec<_>>(), ["cpu"]);
        assert_eq!(devices_of("").count(), 0);
    }
}

//! Proving a box before more money goes in: what it really has, and that its device computes.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_lifecycle::{Engine, ProveSpec};
use gpurun_protocol::proof::{Finding, Proof, Severity};

use super::bootstrap::PYTHON;
use super::command::{Command, RemoteError};
use super::transport::Remote;

const AGENT_TIMEOUT: Duration = Duration::from_secs(120);
/// The first use of a GPU loads its libraries and may compile kernels.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(300);
/// Half of what signed requests are allowed to be off.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::minutes(5);

/// What a box is, once it was measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Examined {
    /// With what is worth knowing about it.
    Fit(Box<Proof>),
    /// To be given back, and why.
    Unfit(String),
}

/// Measures the box before anything but the agent is on it: cores, memory, disk, clock, and a first kernel on every card.
///
/// # Errors
/// When it can't be measured.
pub(crate) async fn examine(remote: &dyn Remote) -> Result<Examined, RemoteError> {
    let asked_at = Utc::now();
    let mut proof = machine(remote).await?;
    proof.findings.extend(skew(asked_at, proof.at, Utc::now()));
    let fatal = proof
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fatal);
    let fatal: Vec<&str> = fatal.map(|finding| finding.message.as_str()).collect();
    Ok(match fatal.is_empty() {
        true => Examined::Fit(Box::new(proof)),
        false => Examined::Unfit(format!("the box is unfit: {}", fatal.join("; "))),
    })
}

/// What a box's clock says against this machine's, around one question.
fn skew(before: DateTime<Utc>, said: DateTime<Utc>, after: DateTime<Utc>) -> Option<Finding> {
    let off = if said < before {
        before - said
    } else {
        said - after
    };
    (off > CLOCK_TOLERANCE).then(|| Finding {
        severity: Severity::Warning,
        message: format!(
            "its clock is {} min off: certificates and signed requests may be refused there",
            off.num_minutes()
        ),
    })
}

/// Computes a product of two 2000x2000 matrices on each device: a card whose kernels are missing
/// says that it is available, and fails there. Returns what the engine said of its devices, in one report or one each; nothing
/// for a plain command.
///
/// # Errors
/// When something makes the box unfit; then it is to be given back.
pub(crate) async fn prove(
    remote: &dyn Remote,
    spec: &ProveSpec,
) -> Result<Vec<String>, RemoteError> {
    let mut devices = Vec::new();
    match spec.engine {
        Engine::Command => {}
        // All in one call: it also copies from each card to the next.
        Engine::GpurunTrain => {
            let device = &spec.device;
            let trainer = "gpurun/bin/gpurun-train";
            let argv = [trainer, "smoke", "--device", device, "--json"];
            devices.push(computes(remote, device, &argv).await?);
        }
        Engine::Libreyolo => {
            for device in devices_of(&spec.device) {
                let argv = [PYTHON, "-c", MATMUL, device];
                devices.push(computes(remote, device, &argv).await?);
            }
        }
    }
    Ok(devices)
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
    Ok(proof)
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
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use gpurun_protocol::proof::{CpuProof, DiskProof, Finding, MemoryProof};
    use tempfile::TempDir;

    use super::super::local::Local;
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn measured(findings: Vec<Finding>) -> Proof {
        Proof {
            schema_version: 1,
            at: chrono::DateTime::UNIX_EPOCH,
            cpu: CpuProof {
                model: None,
                visible_cores: 8,
                allowed_cores: 8,
                quota_cores: Some(2.0),
                usable_cores: 2,
                kernel_right: true,
                kernel_mega_flops: 1000.0,
            },
            memory: MemoryProof {
                total_bytes: 1 << 34,
                available_bytes: 1 << 33,
                limit_bytes: None,
            },
            disk: DiskProof {
                free_bytes: 1 << 40,
                total_bytes: 1 << 41,
                written_bytes: 1 << 20,
                write_bytes_per_second: 1e8,
            },
            shared_memory_bytes: Some(1 << 26),
            gpus: Vec::new(),
            driver: None,
            c_library: None,
            findings,
        }
    }

    /// A box whose agent measured `proof` and whose trainer runs `trainer`.
    fn measured_box(
        proof: &str,
        trainer: &str,
    ) -> Result<(TempDir, Local), Box<dyn std::error::Error>> {
        let home = tempfile::tempdir()?;
        fs::create_dir_all(home.path().join("gpurun/bin"))?;
        fs::write(home.path().join("proof.json"), proof)?;
        script(&home.path().join("gpurun/bin/gpurun"), "cat proof.json")?;
        script(&home.path().join("gpurun/bin/gpurun-train"), trainer)?;
        let remote = Local::open(home.path(), &[].into())?;
        Ok((home, remote))
    }

    fn script(path: &Path, line: &str) -> std::io::Result<()> {
        fs::write(path, format!("#!/bin/sh\n{line}\n"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }

    fn spec(device: &str) -> ProveSpec {
        ProveSpec {
            engine: Engine::GpurunTrain,
            device: device.to_owned(),
        }
    }

    fn finding(severity: Severity, message: &str) -> Finding {
        Finding {
            severity,
            message: message.to_owned(),
        }
    }

    #[tokio::test]
    async fn every_device_has_to_compute() -> Outcome {
        let proof = serde_json::to_string(&measured(Vec::new()))?;
        let trainer = "case $3 in *2*) echo 'cuda:2: no kernel image is available' >&2; exit 1;; esac; echo \"$1 $3 right\"";
        let (_home, remote) = measured_box(&proof, trainer)?;
        let proved = prove(&remote, &spec("0,1")).await?;
        assert_eq!(proved, ["smoke 0,1 right"]);
        let refused = prove(&remote, &spec("0,1,2,3"))
            .await
            .err()
            .ok_or("it was proved")?;
        assert!(
            refused.message.contains("cuda:2") && refused.message.contains("no kernel image"),
            "{refused}"
        );
        assert!(!refused.temporary, "the same card fails again");
        let command = ProveSpec {
            engine: Engine::Command,
            device: "2".to_owned(),
        };
        assert!(prove(&remote, &command).await?.is_empty());
        Ok(())
    }

    #[tokio::test]
    async fn a_warning_and_a_wrong_clock_give_no_box_back() -> Outcome {
        let warning = finding(Severity::Warning, "/dev/shm has 64 MB");
        let proof = serde_json::to_string(&measured(vec![warning]))?;
        let (_home, remote) = measured_box(&proof, "exit 0")?;
        let Examined::Fit(proof) = examine(&remote).await? else {
            return Err("it was given back".into());
        };
        let said: Vec<&str> = proof
            .findings
            .iter()
            .map(|it| it.message.as_str())
            .collect();
        assert_eq!(said[0], "/dev/shm has 64 MB");
        assert!(
            said[1].starts_with("its clock is ") && said[1].contains("min off"),
            "{said:?}"
        );
        let at = |minutes| DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        assert_eq!(skew(at(0), at(3), at(1)), None);
        assert!(skew(at(0), at(181), at(1)).is_some(), "3 h ahead");
        Ok(())
    }

    #[tokio::test]
    async fn an_unfit_box_is_refused_in_its_own_words() -> Outcome {
        let fatal = finding(Severity::Fatal, "the disk is full");
        let proof = serde_json::to_string(&measured(vec![fatal]))?;
        let (_home, remote) = measured_box(&proof, "exit 0")?;
        let examined = examine(&remote).await?;
        let Examined::Unfit(why) = examined else {
            return Err("it was taken".into());
        };
        assert!(why.contains("the disk is full"), "{why}");
        let (_home, remote) = measured_box("Segmentation fault", "exit 0")?;
        assert!(
            examine(&remote).await.is_err(),
            "what can't be read proves nothing"
        );
        Ok(())
    }

    #[test]
    fn a_list_of_devices_is_proved_one_by_one() {
        assert_eq!(devices_of("0,1, 2").collect::<Vec<_>>(), ["0", "1", "2"]);
        assert_eq!(devices_of("cpu").collect::<Vec<_>>(), ["cpu"]);
        assert_eq!(devices_of("").count(), 0);
    }
}

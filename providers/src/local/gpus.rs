//! The GPUs of this machine, as `nvidia-smi` shows them. Without it there are none.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::convert::{LocalGpu, parse_nvidia_smi};

/// A driver that hangs must not hang us.
const DEADLINE: Duration = Duration::from_secs(15);

/// Asks `nvidia_smi` for the GPUs it knows; none when there is no such program.
///
/// # Errors
/// In words, when the program is there and doesn't answer: GPUs that can't be seen are not "no GPUs".
pub(super) async fn present(nvidia_smi: &Path) -> Result<Vec<LocalGpu>, String> {
    let name = nvidia_smi.display();
    let mut command = Command::new(nvidia_smi);
    command.args([
        "--query-gpu=index,name,memory.total",
        "--format=csv,noheader,nounits",
    ]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = match tokio::time::timeout(DEADLINE, command.output()).await {
        Err(_elapsed) => {
            return Err(format!(
                "{name} did not answer within {} s",
                DEADLINE.as_secs()
            ));
        }
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Ok(Err(error)) => return Err(format!("{name} can't be run: {error}")),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(format!(
            "{name} failed ({}): {}",
            output.status,
            String::from_utf8_lossy(&said).trim()
        ));
    }
    parse_nvidia_smi(&String::from_utf8_lossy(&output.stdout))
}

//! GPUs by `nvidia-smi`, where there is one.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gpurun_protocol::heartbeat::GpuSample;

use super::signals::in_own_session;

const QUERY: &str = "index,name,utilization.gpu,memory.used,memory.total,driver_version";

/// What `nvidia-smi` answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) gpus: Vec<GpuSample>,
    pub(crate) driver: Option<String>,
}

/// Asks `nvidia-smi`; empty when there is none. A driver in trouble lets it hang, so it is killed after
/// `limit`.
///
/// # Errors
/// What went wrong, in words, when it is there and does not answer.
pub(crate) fn ask(limit: Duration) -> Result<Answer, String> {
    let mut command = Command::new("nvidia-smi");
    command
        .arg(format!("--query-gpu={QUERY}"))
        .arg("--format=csv,noheader,nounits")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = match in_own_session(&mut command).spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Answer::default()),
        Err(error) => return Err(format!("nvidia-smi does not start: {error}")),
    };
    let deadline = Instant::now() + limit;
    // The answer of even 16 GPUs fits a pipe's buffer: it can be read after the exit.
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                // Not waited for: in the kernel's hands it may never end.
                return Err(format!(
                    "nvidia-smi gave no answer in {} s",
                    limit.as_secs()
                ));
            }
            Err(error) => return Err(format!("nvidia-smi: {error}")),
        }
    };
    let mut text = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout
            .read_to_string(&mut text)
            .map_err(|error| format!("nvidia-smi: {error}"))?;
    }
    if !status.success() {
        return Err(format!("nvidia-smi: {status}: {}", text.trim()));
    }
    Ok(parse(&text))
}

/// One line a GPU; what a GPU doesn't tell reads `[N/A]`.
fn parse(text: &str) -> Answer {
    const MEBIBYTE: u64 = 1 << 20;

    let mut answer = Answer::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [index, name, utilization, used, total, driver] = fields[..] else {
            continue;
        };
        let Ok(index) = index.parse() else { continue };
        let mebibytes = |field: &str| field.parse::<u64>().ok().map(|count| count * MEBIBYTE);
        answer.gpus.push(GpuSample {
            index,
            name: name.to_owned(),
            utilization_percent: utilization.parse().ok(),
            memory_used_bytes: mebibytes(used),
            memory_total_bytes: mebibytes(total),
        });
        answer.driver = Some(driver.to_owned());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gpu_does_not_tell_is_absent() {
        let answer = parse(
            "0, NVIDIA GeForce RTX 4090, 97, 20480, 24564, 570.86.15\n\
             1, NVIDIA H200 MIG 1g.18gb, [N/A], 512, 16384, 570.86.15\n\
             No devices were found\n",
        );
        assert_eq!(answer.driver.as_deref(), Some("570.86.15"));
        assert_eq!(answer.gpus.len(), 2);
        assert_eq!(answer.gpus[0].utilization_percent, Some(97));
        assert_eq!(answer.gpus[0].memory_used_bytes, Some(20480 << 20));
        assert_eq!(answer.gpus[1].utilization_percent, None);
    }
}

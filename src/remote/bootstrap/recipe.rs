//! The steps that installing on a box is made of: each may be done again, and what each said is kept there.

use std::time::Duration;

use super::super::command::{Command, RemoteError};
use super::super::transport::Remote;

/// Of the virtual environment that everything in Python goes to.
pub(in crate::remote) const PYTHON: &str = "gpurun/venv/bin/python";
pub(super) const SHORT: Duration = Duration::from_secs(180);
/// PyTorch with CUDA is a few gigabytes.
const LONG: Duration = Duration::from_secs(3600);

// The log keeps all, the answer has this step's: `tee` would hide its exit code.
const LOGGED: &str = "mkdir -p gpurun
{ date -u +%FT%TZ; echo \"+ $*\"; } >>gpurun/install.log
\"$@\" >gpurun/install.step 2>&1
code=$?
cat gpurun/install.step >>gpurun/install.log
cat gpurun/install.step
exit $code";

/// Makes the virtual environment, in which the image's own packages can be seen; one that is there stays.
///
/// # Errors
/// When the image has no Python that can.
pub(super) async fn venv(remote: &dyn Remote) -> Result<(), RemoteError> {
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
    .await
}

/// Installs packages into the virtual environment.
///
/// # Errors
/// When pip says so; networks come back, so that it may be tried again.
pub(super) async fn pip(remote: &dyn Remote, packages: &[&str]) -> Result<(), RemoteError> {
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

/// Runs one command to its end; what it said is in `gpurun/install.log` on the box.
///
/// # Errors
/// When it can't be run, or fails.
pub(super) async fn step(
    remote: &dyn Remote,
    argv: &[&str],
    timeout: Duration,
    remedy: &str,
) -> Result<(), RemoteError> {
    let logged = [&["sh", "-c", LOGGED, "sh"], argv].concat();
    let output = remote.exec(&Command::new(&logged).timeout(timeout)).await?;
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
    use std::fs;

    use super::super::super::local::Local;
    use super::*;

    #[tokio::test]
    async fn what_a_step_said_is_kept_and_told() -> Result<(), Box<dyn std::error::Error>> {
        let home = tempfile::tempdir()?;
        let remote = Local::open(home.path(), &[].into())?;
        step(&remote, &["echo", "it's", "$HOME"], SHORT, "").await?;
        let fails = [
            "sh",
            "-c",
            "echo 'ERROR: no such version' >&2; echo bye; exit 3",
        ];
        let refused = step(&remote, &fails, SHORT, "look")
            .await
            .err()
            .ok_or("it worked")?;
        assert!(
            refused
                .message
                .contains("ERROR: no such version (exit code 3)"),
            "{refused}"
        );
        let log = fs::read_to_string(home.path().join("gpurun/install.log"))?;
        assert!(
            log.contains("+ echo it's $HOME\nit's $HOME\n")
                && log.contains("no such version\nbye\n"),
            "{log}"
        );
        Ok(())
    }
}

//! Installing what a run needs on its box, and nothing else.

mod bundle;
mod libreyolo;
mod platform;
mod recipe;
mod sources;
mod torch;

pub(super) use recipe::PYTHON;

use std::path::Path;
use std::time::Duration;

use gpurun_lifecycle::{Engine, InstallSpec};

use super::command::{Command, GPURUN, RemoteError};
use super::transport::Remote;
use sources::Sources;

const TRAINER: &str = "gpurun/bin/gpurun-train";
const LIBTORCH: &str = "gpurun/libtorch/lib";
/// Loading a few hundred megabytes of libtorch from a slow disk takes a while, once.
const VERSION_TIMEOUT: Duration = Duration::from_secs(120);

/// What is on the box now, as each program tells its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) gpurun: String,
    /// `None` for a plain command.
    pub(crate) engine: Option<String>,
}

/// Installs this program and the engine, for a box with so many GPUs; what is there already stays.
///
/// # Errors
/// When something to install is missing here, can't be put there, or doesn't run there.
pub(crate) async fn install(
    remote: &dyn Remote,
    spec: &InstallSpec,
    cards: u32,
) -> Result<Installed, RemoteError> {
    install_from(remote, spec, cards, &Sources::of_this_process()).await
}

/// Puts this very program on the box, for `gpurun agent`. [`install`] does so too.
///
/// # Errors
/// When it can't be put there, or doesn't run there.
pub(crate) async fn bring_agent(remote: &dyn Remote) -> Result<(), RemoteError> {
    agent(remote, &Sources::of_this_process()).await.map(drop)
}

/// Whether what [`install`] takes from this machine is here: asked before money.
///
/// # Errors
/// What is missing, and how it comes here.
pub(crate) fn can_install(spec: &InstallSpec) -> Result<(), RemoteError> {
    let sources = Sources::of_this_process();
    sources.gpurun()?;
    match spec.engine {
        Engine::GpurunTrain => sources.trainer().map(drop),
        Engine::Command | Engine::Libreyolo => Ok(()),
    }
}

async fn install_from(
    remote: &dyn Remote,
    spec: &InstallSpec,
    cards: u32,
    sources: &Sources,
) -> Result<Installed, RemoteError> {
    let gpurun = agent(remote, sources).await?;
    let engine = match spec.engine {
        Engine::Command => None,
        Engine::GpurunTrain => Some(trainer(remote, cards, sources).await?),
        Engine::Libreyolo => Some(libreyolo::install(remote, spec, cards).await?),
    };
    Ok(Installed { gpurun, engine })
}

async fn agent(remote: &dyn Remote, sources: &Sources) -> Result<String, RemoteError> {
    let gpurun = sources.gpurun()?;
    platform::ask(remote).await?.runs("gpurun", gpurun.glibc)?;
    remote.put_program(&gpurun.path, GPURUN).await?;
    version(
        remote,
        GPURUN,
        "the box is not like this machine: rent one with the same system",
    )
    .await
}

async fn trainer(
    remote: &dyn Remote,
    cards: u32,
    sources: &Sources,
) -> Result<String, RemoteError> {
    let trainer = sources.trainer()?;
    let platform = platform::ask(remote).await?;
    platform.runs("gpurun-train", trainer.glibc)?;
    remote.put_program(&trainer.path, TRAINER).await?;
    let here = sources.libtorch(&trainer.path);
    match (torch::source(here.as_deref(), cards), here) {
        (torch::Source::Here, Some(libtorch)) => {
            remote.provide_folder(&libtorch, LIBTORCH).await?;
        }
        // It may find the libtorch it was built with; its own word decides.
        _ if cards == 0 && trainer_version(remote).await.is_ok() => {}
        _ => torch::provide(remote, cards).await?,
    }
    trainer_version(remote).await
}

async fn trainer_version(remote: &dyn Remote) -> Result<String, RemoteError> {
    version(
        remote,
        TRAINER,
        "run `cargo xtask demo` in gpurun's own folder: it fetches libtorch and builds the trainer",
    )
    .await
}

async fn version(remote: &dyn Remote, program: &str, remedy: &str) -> Result<String, RemoteError> {
    let output = remote
        .exec(&Command::new(&[program, "--version"]).timeout(VERSION_TIMEOUT))
        .await?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let name = Path::new(program)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    if output.success() && said.starts_with(name.as_ref()) {
        return Ok(said);
    }
    if let Some(error) = platform::explained(&name, &String::from_utf8_lossy(&output.stderr)) {
        return Err(error);
    }
    let why = if output.success() {
        format!("it says `{said}`")
    } else {
        output.why()
    };
    Err(RemoteError::permanent(
        format!("`{program} --version` doesn't work on the box: {why}"),
        remedy,
    ))
}

#[cfg(test)]
mod tests;

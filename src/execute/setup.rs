//! What makes a rented box ready: install, prove, stage, restore. Each may run again after a crash.

use super::{failed, gpus, send};
use crate::remote::{self, Examined, Remote, WayIn};
use crate::shell::Shell;
use crate::sink::SinkError;
use crate::{observe, sink, stage};
use gpurun_lifecycle::{
    ActionResult, InstallSpec, ProveSpec, RestoredFile, RunRecord, StageSpec, Target,
};
use gpurun_pricing::GpuRequest;
use gpurun_providers::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The way into the target's box, or why there is none. A box that still boots is no failure of the
/// step: it is tried again.
pub(super) async fn way_in(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
) -> Result<(WayIn, Arc<dyn Remote>), ActionResult> {
    let provider = shell
        .provider(&target.provider)
        .map_err(|failure| failed(false, failure.report))?;
    let id = target
        .instance
        .as_deref()
        .or(run.instance.as_ref().map(|instance| instance.id.as_str()))
        .ok_or_else(|| failed(true, "the box's id is not known yet"))?;
    let way = observe::way_in(provider, run, id)
        .await
        .map_err(|error| failed(error.temporary, error))?
        .ok_or_else(|| failed(true, "the box is not running yet"))?;
    let remote = shell.connections.connect(&way).await;
    let remote = remote.map_err(|error| failed(error.temporary, error))?;
    Ok((way, remote))
}

pub(super) async fn install(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    spec: &InstallSpec,
) -> ActionResult {
    let (way, remote) = match way_in(shell, run, target).await {
        Ok(found) => found,
        Err(result) => return result,
    };
    // Minutes of downloads cost money: what makes the box unfit is found before them.
    if let Err(error) = remote::bring_agent(remote.as_ref()).await {
        return failed(error.temporary, error);
    }
    match remote::examine(remote.as_ref()).await {
        Err(error) => return failed(error.temporary, error),
        Ok(Examined::Unfit(message)) => return ActionResult::Unfit { message },
        Ok(Examined::Fit(proof)) => {
            if let Some(message) = gpus::fault(offered(run), &proof.gpus) {
                return ActionResult::Unfit { message };
            }
            if let Access::Ssh(_) = way.access {
                for finding in &proof.findings {
                    shell.ui.talk(&format!("   ! {}", finding.message));
                }
            }
        }
    }
    match remote::install(remote.as_ref(), spec, cards(run)).await {
        Ok(_installed) => ActionResult::done(),
        Err(error) => failed(error.temporary, error),
    }
}

pub(super) async fn prove(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    spec: &ProveSpec,
) -> ActionResult {
    let remote = match way_in(shell, run, target).await {
        Ok((_, remote)) => remote,
        Err(result) => return result,
    };
    match remote::prove(remote.as_ref(), spec).await {
        Ok(_devices) => ActionResult::done(),
        Err(error) => failed(error.temporary, error),
    }
}

/// How many GPUs the engine is to compute on: a training on the processor needs no CUDA.
fn cards(run: &RunRecord) -> u32 {
    match run.spec.prove.device.as_str() {
        "cpu" => 0,
        _ => offered(run).count(),
    }
}

/// The GPUs of the offer that became the run's box.
fn offered(run: &RunRecord) -> &GpuRequest {
    let rented = run
        .instance
        .as_ref()
        .and_then(|instance| instance.offer.as_ref());
    let mut offers = run.spec.offers.iter();
    let offer = offers.find(|offer| Some(&offer.id) == rented);
    offer.map_or(&GpuRequest::Cpu, |offer| &offer.gpu)
}

pub(super) async fn stage(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    spec: &StageSpec,
) -> ActionResult {
    let (way, remote) = match way_in(shell, run, target).await {
        Ok(found) => found,
        Err(result) => return result,
    };
    let Access::Local { home, .. } = way.access else {
        return match send::send(remote.as_ref(), spec, run.spec.disk).await {
            Ok(()) => ActionResult::done(),
            Err(error) => failed(error.temporary, error),
        };
    };
    let order = stage::Order {
        source: PathBuf::from(&spec.source),
        fingerprint: spec.fingerprint.clone(),
        home,
        dest: PathBuf::from(&spec.dest),
        disk_limit: Some(run.spec.disk.to_bytes()),
    };
    match stage::receive(&order, &mut |_progress| {}) {
        Ok(()) => ActionResult::done(),
        Err(error) => failed(
            error.temporary,
            format!("{}; {}", error.message, error.help),
        ),
    }
}

pub(super) async fn restore(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    files: &[RestoredFile],
) -> ActionResult {
    let (_, remote) = match way_in(shell, run, target).await {
        Ok(found) => found,
        Err(result) => return result,
    };
    for file in files {
        let scratch;
        let location = if sink::is_store(&file.location) {
            scratch = match from_store(shell, file) {
                Ok(scratch) => scratch,
                Err(error) => return failed(error.is_temporary(), error),
            };
            scratch.as_ref()
        } else {
            let location = Path::new(&file.location);
            if let Err(error) = sink::check(location, &file.sha256) {
                return failed(false, format!("{}: {error}", file.location));
            }
            location
        };
        if let Err(error) = remote.put_file(location, &file.dest).await {
            return failed(error.temporary, error);
        }
    }
    ActionResult::done()
}

/// A checkpoint from a store, brought here on its way to the box.
fn from_store(shell: &Shell, file: &RestoredFile) -> Result<tempfile::TempPath, SinkError> {
    let scratch = tempfile::NamedTempFile::new()
        .map_err(|error| SinkError::from_io("the temporary folder", error))?
        .into_temp_path();
    sink::fetch(&file.location, &shell.sink_keys, &file.sha256, &scratch)?;
    Ok(scratch)
}

//! Disks that outlive boxes: made and deleted by a person's own word alone.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use gpurun_providers::{Provider, Volume, VolumeRequest, Volumes};

/// Makes one.
pub(crate) async fn create_volume(
    provider: &dyn Provider,
    request: &VolumeRequest,
) -> Result<Volume> {
    Ok(of(provider)?.create(request).await?)
}

/// Asks for one to be deleted, and looks whether it is gone.
pub(crate) async fn delete_volume(provider: &dyn Provider, id: &str) -> Result<()> {
    let volumes = of(provider)?;
    volumes.delete(id).await?;
    let left = volumes.list().await?;
    if left.iter().all(|volume| volume.id != id) {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Provider,
        format!("the deletion of {id} was accepted, and it is still listed"),
        "it bills until it is gone: `gpurun volumes` shows it",
    ))
}

fn of(provider: &dyn Provider) -> Result<&dyn Volumes> {
    provider.volumes().ok_or_else(|| {
        Failure::new(
            ExitCode::Usage,
            format!("{} has no volumes", provider.name()),
            "`gpurun volumes` lists those of every account",
        )
    })
}

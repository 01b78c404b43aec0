//! A data set to a box that is another machine.

use crate::remote::{Command, Remote, RemoteError};
use crate::stage::{Parcel, StageError};
use gpurun_lifecycle::StageSpec;
use gpurun_pricing::Gigabytes;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::task::spawn_blocking;

/// Slower lines than this aren't waited for.
const SLOWEST_BYTES_PER_SECOND: u64 = 200_000;
const SHORT: Duration = Duration::from_secs(300);

/// Streams it into the box's `gpurun agent receive`, which takes nothing where it is there already.
pub(super) async fn send(
    remote: &dyn Remote,
    spec: &StageSpec,
    disk: Gigabytes,
) -> Result<(), RemoteError> {
    let source = PathBuf::from(&spec.source);
    let parcel = spawn_blocking(move || Parcel::of(&source)).await;
    let parcel = parcel.map_err(internal)?.map_err(unsent)?;
    let (reader, writer) = std::io::pipe().map_err(internal)?;
    let input = Receiver::from_owned_fd(reader.into()).map_err(internal)?;
    let command = order(&parcel, spec, disk);
    let sending = spawn_blocking(move || parcel.write(writer));
    let output = remote.feed(&command, Box::new(input)).await?;
    if output.success() {
        return Ok(());
    }
    // What couldn't be read here is why it wasn't whole there.
    sending.await.map_err(internal)?.map_err(unsent)?;
    Err(RemoteError::temporary(
        format!("the data set did not get onto the box: {}", output.why()),
        "look at the box's disk",
    ))
}

fn order(parcel: &Parcel, spec: &StageSpec, disk: Gigabytes) -> Command {
    let (bytes, limit) = (parcel.bytes.to_string(), disk.to_bytes().to_string());
    let mut verb = vec![
        "receive",
        "--dest",
        &spec.dest,
        "--fingerprint",
        &spec.fingerprint,
    ];
    verb.extend(["--bytes", &bytes, "--disk-limit", &limit]);
    if parcel.is_archive() {
        verb.push("--archive");
    }
    if let Some(description) = parcel.description() {
        verb.extend(["--description", description]);
    }
    let moving = Duration::from_secs(parcel.bytes / SLOWEST_BYTES_PER_SECOND);
    Command::agent(&verb).timeout(SHORT + moving)
}

fn unsent(error: StageError) -> RemoteError {
    RemoteError {
        message: error.message,
        remedy: error.help,
        temporary: error.temporary,
        locked: false,
    }
}

fn internal(error: impl std::fmt::Display) -> RemoteError {
    RemoteError::temporary(format!("the data set can't be sent: {error}"), "try again")
}

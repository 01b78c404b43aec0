//! The way into a box over the network.
//!
//! Every run has a key pair of its own, made before anything is rented, and every box's host key is pinned at the first
//! contact: another one later is refused. Both lie in the state directory, in the forms that OpenSSH reads:
//!
//! ```text
//! ssh/RUN/id_ed25519    the run's private key, readable by its owner alone
//! ssh/RUN/known_hosts   `BOX.direct` and `BOX.proxy`, each with the key it showed first
//! ```

mod channel;
mod connect;
mod endpoint;
mod folder;
mod keys;
mod pins;
mod script;
mod system;

pub(crate) use keys::RunKeys;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gpurun_providers::SshAccess;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::sync::{Mutex, Semaphore};

use self::channel::{Raw, Trouble};
use self::connect::{Patience, Session, Way};
use self::folder::{Listed, MODE_FILE, MODE_PROGRAM, digest};
use super::command::{Command, Ended, Output, RemoteError};
use super::transport::Remote;

/// An sshd lets ten sessions share a connection, and frees them late.
const CHANNELS: usize = 4;
/// Slower lines than this aren't waited for.
const SLOWEST_BYTES_PER_SECOND: u64 = 100_000;
const SHORT: Duration = Duration::from_secs(60);
/// A file comes here in parts, each held in memory once.
const PART_BYTES: u64 = 16 << 20;
const LONG: Duration = Duration::from_secs(SHORT.as_secs() + PART_BYTES / SLOWEST_BYTES_PER_SECOND);

/// One box, its run's keys, and the connection while there is one.
pub(super) struct Ssh {
    /// The provider's id.
    instance: String,
    access: SshAccess,
    keys: RunKeys,
    patience: Patience,
    session: Mutex<Option<Way>>,
    channels: Semaphore,
}

impl Ssh {
    pub(super) fn new(instance: &str, access: &SshAccess, keys: RunKeys) -> Self {
        Self {
            instance: instance.to_owned(),
            access: access.clone(),
            keys,
            patience: Patience::default(),
            session: Mutex::new(None),
            channels: Semaphore::new(CHANNELS),
        }
    }

    pub(super) fn leads_to(&self, access: &SshAccess) -> bool {
        self.access == *access
    }

    /// Connects, unless it is connected.
    pub(super) async fn open(&self) -> Result<(), RemoteError> {
        self.session().await.map(drop)
    }

    async fn session(&self) -> Result<Arc<Session>, RemoteError> {
        self.way().await.map(|way| way.session)
    }

    /// Connects anew where the connection is closed.
    async fn way(&self) -> Result<Way, RemoteError> {
        let mut held = self.session.lock().await;
        if let Some(open) = held.as_ref().filter(|way| !way.session.is_closed()) {
            return Ok(open.clone());
        }
        *held = None;
        let fresh = connect::open(&self.access, &self.instance, &self.keys, self.patience).await?;
        *held = Some(fresh.clone());
        Ok(fresh)
    }

    /// The words that start this machine's own `ssh` on the same way in; more may follow.
    pub(super) async fn system_command(&self) -> Result<Vec<OsString>, RemoteError> {
        let way = self.way().await?;
        Ok(system::command(
            &self.access.user,
            &way.endpoint,
            &self.instance,
            &self.keys,
        ))
    }

    /// Runs a shell script to its end. `name` is what it is called in errors.
    async fn run(
        &self,
        name: &str,
        script: &str,
        stdin: impl AsyncRead + Unpin,
        timeout: Duration,
    ) -> Result<Raw, RemoteError> {
        let _slot = self.channels.acquire().await;
        let (session, channel) = self.channel().await?;
        let ended = channel::run(&session, channel, script, stdin, timeout).await;
        ended.map_err(|trouble| match trouble {
            Trouble::Lost(why) => RemoteError::temporary(
                format!("the connection was lost while `{name}` ran on the box: {why}"),
                "what it did shows at the next look",
            ),
            Trouble::Late => RemoteError::temporary(
                format!(
                    "`{name}` did not end within {} s and was killed",
                    timeout.as_secs()
                ),
                "look at the load of the box: gpurun status",
            ),
            Trouble::Refused => RemoteError::permanent(
                format!("the box's SSH server refuses to run `{name}`"),
                "take another image, one whose SSH server runs commands",
            ),
        })
    }

    /// A channel of the connection, or of a new one where that turns out to be dead.
    async fn channel(&self) -> Result<(Arc<Session>, channel::Open), RemoteError> {
        let session = self.session().await?;
        if let Ok(channel) = channel::open(&session).await {
            return Ok((session, channel));
        }
        let mut held = self.session.lock().await;
        if held
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(&held.session, &session))
        {
            *held = None;
        }
        drop(held);
        let session = self.session().await?;
        let channel = channel::open(&session).await.map_err(|why| {
            RemoteError::temporary(
                format!("the box's SSH server opens no session: {why}"),
                "try again in a minute",
            )
        })?;
        Ok((session, channel))
    }

    async fn put(
        &self,
        content: impl AsyncRead + Unpin,
        bytes: u64,
        to: &str,
        mode: &str,
    ) -> Result<(), RemoteError> {
        let timeout = SHORT + Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND);
        let script = script::put(to, bytes, mode);
        let raw = self.run(to, &script, content, timeout).await?;
        done(to, raw.into_output()?)
    }

    async fn put_opened(&self, file: &Path, to: &str, mode: &str) -> Result<(), RemoteError> {
        let unread = |error| unreadable(file, &error);
        let content = tokio::fs::File::open(file).await.map_err(unread)?;
        let bytes = content.metadata().await.map_err(unread)?.len();
        self.put(content, bytes, to, mode).await
    }
}

#[async_trait]
impl Remote for Ssh {
    async fn exec(&self, command: &Command) -> Result<Output, RemoteError> {
        let input = std::io::Cursor::new(command.stdin.clone());
        self.feed(command, Box::new(input)).await
    }

    async fn feed(
        &self,
        command: &Command,
        input: Box<dyn AsyncRead + Send + Unpin>,
    ) -> Result<Output, RemoteError> {
        let name = command.argv.first().cloned().unwrap_or_default();
        let script = script::exec(command);
        let raw = self.run(&name, &script, input, command.timeout).await?;
        let missing = |why: &str, remedy| {
            let message = format!("`{name}` can't be run on the box: {why}");
            Err(RemoteError::permanent(message, remedy))
        };
        match raw.said.as_deref() {
            Some(script::MISSING) => missing(
                "there is no such program",
                "install it there, or give its whole path",
            ),
            Some(script::DENIED) => missing("it is not executable", "make it executable"),
            _ => raw.into_output(),
        }
    }

    async fn put_bytes(&self, content: &[u8], to: &str) -> Result<(), RemoteError> {
        let bytes = content.len() as u64;
        self.put(content, bytes, to, "600").await
    }

    async fn put_file(&self, file: &Path, to: &str) -> Result<(), RemoteError> {
        self.put_opened(file, to, "600").await
    }

    async fn get_file(&self, from: &str, to: &Path) -> Result<(), RemoteError> {
        let unwritten = |error| unwritable(to, &error);
        let mut file = tokio::fs::File::create(to).await.map_err(unwritten)?;
        let mut offset = 0;
        loop {
            let script = script::part(from, offset, PART_BYTES);
            let raw = self.run(from, &script, tokio::io::empty(), LONG).await?;
            let part = raw.into_output()?;
            if !part.success() {
                return Err(RemoteError::temporary(
                    format!("{from} on the box: {}", part.why()),
                    "`gpurun status` shows what is on it",
                ));
            }
            file.write_all(&part.stdout).await.map_err(unwritten)?;
            offset += part.stdout.len() as u64;
            if (part.stdout.len() as u64) < PART_BYTES {
                return file.flush().await.map_err(unwritten);
            }
        }
    }

    async fn put_program(&self, program: &Path, to: &str) -> Result<(), RemoteError> {
        let sha256 = digest(program.to_owned()).await?;
        let is_there = async || {
            let script = script::is_program(to, &sha256);
            let same = self.run(to, &script, tokio::io::empty(), SHORT).await?;
            Ok(same.ended == Some(Ended::Code(0)))
        };
        if is_there().await? {
            return Ok(());
        }
        self.put_opened(program, to, MODE_PROGRAM).await?;
        if is_there().await? {
            return Ok(());
        }
        Err(RemoteError::temporary(
            format!("{to} on the box is not what was sent: its SHA-256 is another"),
            "try again; if it stays, take another box: its disk changes what is written",
        ))
    }

    async fn provide_folder(&self, folder: &Path, to: &str) -> Result<(), RemoteError> {
        let files = folder::list(folder.to_owned()).await?;
        let bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let timeout = SHORT + Duration::from_secs(bytes / 10_000_000);
        let sums: String = files.iter().map(Listed::sum_line).collect();
        let checked = self
            .run(to, &script::check_sums(to), sums.as_bytes(), timeout)
            .await?;
        let there = checked.stdout_text();
        for file in files {
            if there.lines().any(|line| line == file.ok_line()) {
                continue;
            }
            let mode = if file.executable {
                MODE_PROGRAM
            } else {
                MODE_FILE
            };
            let to = format!("{to}/{}", file.name);
            self.put_opened(&file.path, &to, mode).await?;
        }
        Ok(())
    }
}

fn done(to: &str, output: Output) -> Result<(), RemoteError> {
    if output.success() {
        return Ok(());
    }
    Err(RemoteError::temporary(
        format!("{to} on the box: {}", output.why()),
        "look at the disk's space and the folder's owner",
    ))
}

fn unreadable(file: &Path, error: &std::io::Error) -> RemoteError {
    RemoteError::permanent(
        format!("{} can't be read: {error}", file.display()),
        "look at its owner and whether it is still there",
    )
}

fn unwritable(file: &Path, error: &std::io::Error) -> RemoteError {
    RemoteError::permanent(
        format!("{} can't be written: {error}", file.display()),
        "look at the disk's space and the folder's owner",
    )
}

#[cfg(test)]
mod tests;

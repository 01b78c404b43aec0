//! The way into a box that is a folder of this machine.

mod environment;
mod files;
mod pipes;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncRead;
use tokio::process::{Child, Command as Process};
use tokio::task::spawn_blocking;

use self::files::{is_same, remove_if_there, replace};
use self::pipes::Pipe;
use super::command::{Command, Ended, Output, RemoteError};
use super::transport::Remote;

/// A home directory, and what its processes carry in their environment.
pub(super) struct Local {
    home: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Local {
    pub(super) fn open(home: &Path, marks: &BTreeMap<String, String>) -> Result<Self, RemoteError> {
        if !home.is_dir() {
            let message = format!("the box's home {} is not there", home.display());
            return Err(RemoteError::temporary(
                message,
                "`gpurun status` says what became of the box",
            ));
        }
        let environment = environment::of_box(home, marks);
        Ok(Self {
            home: home.to_owned(),
            environment,
        })
    }

    fn start(&self, command: &Command) -> io::Result<Child> {
        let [program, arguments @ ..] = command.argv.as_slice() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "an empty command",
            ));
        };
        let program = if program.contains('/') {
            self.home.join(program)
        } else {
            program.into()
        };
        let mut process = Process::new(program);
        process
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .envs(&command.environment);
        process.current_dir(&self.home).process_group(0);
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process.spawn()
    }

    /// Starts it; a program that was written a moment ago may still be held open by a fork elsewhere in this process.
    async fn start_patiently(&self, command: &Command) -> io::Result<Child> {
        for _ in 0..50 {
            match self.start(command) {
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                result => return result,
            }
        }
        self.start(command)
    }

    async fn blocking<F>(&self, to: &str, work: F) -> Result<(), RemoteError>
    where
        F: FnOnce(&Path) -> io::Result<()> + Send + 'static,
    {
        let path = self.home.join(to);
        let shown = path.display().to_string();
        let result = spawn_blocking(move || {
            let folder = path
                .parent()
                .ok_or_else(|| io::Error::other("no folder to write into"))?;
            fs::create_dir_all(folder)?;
            work(&path)
        });
        let failed = |why: String| {
            RemoteError::temporary(
                format!("{shown}: {why}"),
                "look at the disk's space and the folder's owner",
            )
        };
        result
            .await
            .map_err(|panic| failed(panic.to_string()))?
            .map_err(|error| failed(error.to_string()))
    }
}

#[async_trait]
impl Remote for Local {
    async fn exec(&self, command: &Command) -> Result<Output, RemoteError> {
        let input = std::io::Cursor::new(command.stdin.clone());
        self.feed(command, Box::new(input)).await
    }

    async fn feed(
        &self,
        command: &Command,
        mut input: Box<dyn AsyncRead + Send + Unpin>,
    ) -> Result<Output, RemoteError> {
        let name = command.argv.first().cloned().unwrap_or_default();
        let mut child = self
            .start_patiently(command)
            .await
            .map_err(|error| not_started(&name, &error))?;
        let group = Group(child.id());
        let (stdin, stdout, stderr) = (
            child.stdin.take(),
            Pipe::read(child.stdout.take()),
            Pipe::read(child.stderr.take()),
        );
        let feed = tokio::spawn(async move {
            if let Some(mut stdin) = stdin {
                // A program that doesn't read its input to the end is free to.
                let _closed = tokio::io::copy(&mut input, &mut stdin).await;
            }
        });
        let ended = tokio::time::timeout(command.timeout, child.wait()).await;
        feed.abort();
        let status = match ended {
            Ok(status) => status.map_err(|error| not_started(&name, &error))?,
            Err(_elapsed) => {
                drop(group);
                let message = format!(
                    "`{name}` did not end within {} s and was killed",
                    command.timeout.as_secs()
                );
                return Err(RemoteError::temporary(
                    message,
                    "look at the load of the box: gpurun status",
                ));
            }
        };
        group.leave();
        let code = status.code().map(Ended::Code);
        let ended = code
            .or(status.signal().map(Ended::Signal))
            .unwrap_or(Ended::Code(-1));
        let (stdout, stderr) = tokio::join!(stdout.drained(), stderr.drained());
        Ok(Output {
            ended,
            stdout,
            stderr,
        })
    }

    async fn put_bytes(&self, content: &[u8], to: &str) -> Result<(), RemoteError> {
        let content = content.to_vec();
        self.blocking(to, move |path| {
            replace(path, 0o600, |file| file.write_all(&content))
        })
        .await
    }

    async fn put_file(&self, file: &Path, to: &str) -> Result<(), RemoteError> {
        let source = file.to_owned();
        let put = move |path: &Path| {
            let mut source = fs::File::open(&source)?;
            replace(path, 0o600, |file| {
                io::copy(&mut source, file).map(|_bytes| ())
            })
        };
        self.blocking(to, put).await
    }

    async fn get_file(&self, from: &str, to: &Path) -> Result<(), RemoteError> {
        let to = to.to_owned();
        self.blocking(from, move |path| fs::copy(path, to).map(|_bytes| ()))
            .await
    }

    async fn put_program(&self, program: &Path, to: &str) -> Result<(), RemoteError> {
        let program = program.to_owned();
        let put = move |path: &Path| {
            let mut source = fs::File::open(&program)?;
            if is_same(&mut source, path)? {
                return Ok(());
            }
            // Copied, not linked: a build that rewrites the original must not reach into a box.
            let mut source = fs::File::open(&program)?;
            replace(path, 0o755, |file| {
                io::copy(&mut source, file).map(|_bytes| ())
            })
        };
        self.blocking(to, put).await
    }

    async fn provide_folder(&self, folder: &Path, to: &str) -> Result<(), RemoteError> {
        let folder = folder.to_owned();
        let link = move |path: &Path| {
            if fs::read_link(path).is_ok_and(|target| target == folder) {
                return Ok(());
            }
            let temporary = path.with_extension(format!("new-{}", std::process::id()));
            remove_if_there(&temporary)?;
            std::os::unix::fs::symlink(&folder, &temporary)?;
            fs::rename(&temporary, path)
        };
        self.blocking(to, link).await
    }
}

/// Kills a command's whole process group when dropped, unless it has left.
struct Group(Option<u32>);

impl Group {
    /// The command has ended by itself; what it started stays.
    fn leave(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0.and_then(|group| i32::try_from(group).ok()) {
            let _gone = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

fn not_started(program: &str, error: &io::Error) -> RemoteError {
    let message = format!("`{program}` can't be run on the box: {error}");
    match error.kind() {
        io::ErrorKind::NotFound => {
            RemoteError::permanent(message, "install it there, or give its whole path")
        }
        io::ErrorKind::PermissionDenied => RemoteError::permanent(message, "make it executable"),
        _ => RemoteError::temporary(message, "look at the box's memory and number of processes"),
    }
}

#[cfg(test)]
mod tests;

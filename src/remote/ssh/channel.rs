//! One command's channel: its input in, both outputs out, and how it ended.

use std::time::Duration;

use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelOpenFailure, ChannelReadHalf, Sig};
use tokio::io::AsyncRead;
use tokio::time::{Instant, timeout, timeout_at};

use super::super::command::{Ended, Output, RemoteError};
use super::connect::Session;
use super::script::{self, MARK};

/// A program that leaves a child behind with its output open is not waited for longer than this.
const DRAIN: Duration = Duration::from_secs(2);
const OPEN: Duration = Duration::from_secs(10);
const KILL: Duration = Duration::from_secs(10);
const STDERR: u32 = 1;

pub(super) type Open = Channel<Msg>;

/// What came back of a script.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) ended: Option<Ended>,
    /// What the script said of itself: its process's id, or why there is none.
    pub(super) said: Option<String>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Why a script that was sent has no end.
#[derive(Debug)]
pub(super) enum Trouble {
    Lost(String),
    Late,
    Refused,
}

/// A new channel. A server that is out of sessions for a moment is asked again.
pub(super) async fn open(session: &Session) -> Result<Open, russh::Error> {
    let opening = async {
        let mut pause = Duration::from_millis(20);
        loop {
            match session.channel_open_session().await {
                Err(russh::Error::ChannelOpenFailure(
                    ChannelOpenFailure::ConnectFailed | ChannelOpenFailure::ResourceShortage,
                )) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                result => return result,
            }
        }
    };
    timeout(OPEN, opening)
        .await
        .unwrap_or(Err(russh::Error::ConnectionTimeout))
}

/// Runs `script` on `channel`; one that takes longer than `limit` is killed with all its children.
pub(super) async fn run(
    session: &Session,
    channel: Open,
    script: &str,
    stdin: impl AsyncRead + Unpin,
    limit: Duration,
) -> Result<Raw, Trouble> {
    let (mut incoming, outgoing) = channel.split();
    let mut raw = Raw::default();
    let exchange = async {
        let lost = |error: russh::Error| Trouble::Lost(error.to_string());
        outgoing.exec(true, script).await.map_err(lost)?;
        let feed = async {
            // A program that doesn't read its input to the end is free to.
            if outgoing.data(stdin).await.is_ok() {
                let _closed = outgoing.eof().await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            read = read(&mut incoming, &mut raw) => read,
            () = feed => Ok(()),
        }
    };
    let finished = timeout(limit, exchange).await;
    let _closed = outgoing.close().await;
    raw.find_mark();
    match finished {
        Ok(result) => result.map(|()| raw),
        Err(_elapsed) => {
            if let Some(group) = raw.said {
                kill(session, &group).await;
            }
            Err(Trouble::Late)
        }
    }
}

async fn read(incoming: &mut ChannelReadHalf, raw: &mut Raw) -> Result<(), Trouble> {
    let mut drained = None;
    loop {
        let message = match drained {
            None => incoming.wait().await,
            Some(until) => match timeout_at(until, incoming.wait()).await {
                Ok(message) => message,
                Err(_elapsed) => return Ok(()),
            },
        };
        match message {
            Some(ChannelMsg::Data { data }) => raw.stdout.extend_from_slice(&data),
            Some(ChannelMsg::ExtendedData { data, ext: STDERR }) => {
                raw.stderr.extend_from_slice(&data);
            }
            Some(ChannelMsg::ExitStatus { exit_status }) => {
                raw.ended = Some(Ended::Code(exit_status.cast_signed()));
                drained = Some(Instant::now() + DRAIN);
            }
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                raw.ended = Some(Ended::Signal(number(&signal_name)));
                drained = Some(Instant::now() + DRAIN);
            }
            Some(ChannelMsg::Failure) => return Err(Trouble::Refused),
            Some(_) => {}
            None if raw.ended.is_some() => return Ok(()),
            None => return Err(Trouble::Lost("it ended in the middle".to_owned())),
        }
    }
}

async fn kill(session: &Session, group: &str) {
    let killing = async {
        let channel = open(session).await.ok()?;
        let (mut incoming, outgoing) = channel.split();
        outgoing.exec(true, script::kill(group)).await.ok()?;
        read(&mut incoming, &mut Raw::default()).await.ok()
    };
    if timeout(KILL, killing).await.ok().flatten().is_none() {
        tracing::debug!(group, "a command on the box may still run");
    }
}

impl Raw {
    /// Takes the script's own line, and what a shell said before it, out of the output.
    fn find_mark(&mut self) {
        let Some(start) = find(&self.stdout, MARK) else {
            return;
        };
        let after = start + MARK.len();
        let Some(length) = find(&self.stdout[after..], b"\n") else {
            return;
        };
        let said = String::from_utf8_lossy(&self.stdout[after..after + length]).into_owned();
        self.stdout.drain(..=after + length);
        self.said = Some(said);
    }

    pub(super) fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Only a box whose shell really ran the script has an output.
    pub(super) fn into_output(self) -> Result<Output, RemoteError> {
        let output = Output {
            ended: self.ended.unwrap_or(Ended::Code(-1)),
            stdout: self.stdout,
            stderr: self.stderr,
        };
        if self.said.is_some() {
            return Ok(output);
        }
        Err(RemoteError::temporary(
            format!("the box's shell doesn't run commands: {}", output.why()),
            "a box that has just come up may need a moment; else take another image",
        ))
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn number(signal: &Sig) -> i32 {
    match signal {
        Sig::HUP => 1,
        Sig::INT => 2,
        Sig::QUIT => 3,
        Sig::ILL => 4,
        Sig::ABRT => 6,
        Sig::FPE => 8,
        Sig::KILL => 9,
        Sig::USR1 => 10,
        Sig::SEGV => 11,
        Sig::PIPE => 13,
        Sig::ALRM => 14,
        Sig::TERM => 15,
        Sig::Custom(_) => -1,
    }
}

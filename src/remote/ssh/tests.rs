//! Against a real sshd, in a simulated cloud's plain boxes.

mod files;
mod trust;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::time::Instant;

use gpurun_clouds::SimError;
use gpurun_clouds::boxes::{BoxSpec, Boxes, Gpus, PlainBoxes};
use gpurun_providers::{SshEndpoint, SshEndpointKind};
use tempfile::TempDir;

use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const BOX: &str = "24500001";

/// A box that runs, and the run whose key it knows.
struct Place {
    boxes: PlainBoxes,
    spec: BoxSpec,
    state: TempDir,
    access: SshAccess,
}

/// `None`, said aloud, where this machine can't run boxes.
fn place() -> Result<Option<Place>, Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let key = RunKeys::of(state.path(), "3f9a").public_line()?;
    let spec = BoxSpec {
        id: BOX.to_owned(),
        user: "root",
        keys: vec![key],
        environment: Vec::new(),
        gpus: 1,
        model: "NVIDIA GeForce RTX 4090".to_owned(),
        memory_mb: 24564,
        driver: "580.95.05".to_owned(),
        gpu_state: Gpus::Good,
        disk_mb: 10_000,
        volumes: Vec::new(),
    };
    let mut boxes = match PlainBoxes::open(None) {
        Err(missing @ SimError::Missing { .. }) => {
            skip(&missing);
            return Ok(None);
        }
        opened => opened?,
    };
    let address = boxes.start(&spec)?;
    let access = SshAccess {
        user: "root".to_owned(),
        endpoints: vec![endpoint(
            &address.host,
            address.port,
            SshEndpointKind::Direct,
        )],
    };
    Ok(Some(Place {
        boxes,
        spec,
        state,
        access,
    }))
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(error: &SimError) {
    eprintln!("skipped: {error}");
}

fn endpoint(host: &str, port: u16, kind: SshEndpointKind) -> SshEndpoint {
    let host = host.to_owned();
    SshEndpoint { host, port, kind }
}

impl Place {
    fn ssh(&self) -> Ssh {
        Ssh::new(BOX, &self.access, self.keys("3f9a"))
    }

    fn keys(&self, run: &str) -> RunKeys {
        RunKeys::of(self.state.path(), run)
    }

    fn home(&self, path: &str) -> PathBuf {
        self.boxes.home(BOX).join(path)
    }
}

fn shell(script: &str) -> Command {
    Command::new(&["sh", "-c", script])
}

async fn stdout(ssh: &Ssh, command: &Command) -> Result<String, Box<dyn std::error::Error>> {
    let output = ssh.exec(command).await?;
    assert!(output.success(), "{}", output.why());
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test]
async fn commands_run_in_the_home_and_end_as_they_end() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    let home = place.boxes.home(BOX).canonicalize()?;
    let command = shell("pwd -P; echo $EXTRA; echo ${PATH%%:*}").env("EXTRA", "it's more");
    let said = stdout(&ssh, &command).await?;
    let expected = format!("{0}\nit's more\n{0}/gpurun/bin\n", home.display());
    assert_eq!(said, expected);
    let output = ssh.exec(&shell("echo out; echo err >&2; exit 7")).await?;
    let parts = (
        output.ended,
        output.stdout.as_slice(),
        output.stderr.as_slice(),
    );
    assert_eq!(parts, (Ended::Code(7), &b"out\n"[..], &b"err\n"[..]));
    assert_eq!(
        ssh.exec(&shell("kill -9 $$")).await?.ended,
        Ended::Signal(9)
    );
    for (program, why) in [
        ("gpurun/bin/gpurun", "no such"),
        ("nonesuch", "no such"),
        ("./", "not executable"),
    ] {
        let refused = ssh
            .exec(&Command::new(&[program]))
            .await
            .err()
            .ok_or("it ran")?;
        assert!(
            !refused.temporary && refused.message.contains(why),
            "{refused}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_a_shells_start_up_files_say_is_not_the_commands_output() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    fs::write(place.home(".bashrc"), "echo Welcome to the box\n")?;
    assert_eq!(
        stdout(&place.ssh(), &shell("echo only this")).await?,
        "only this\n"
    );
    fs::write(
        place.home(".bashrc"),
        "echo 'Please use a terminal'; exit 1\n",
    )?;
    let refused = place
        .ssh()
        .exec(&shell("true"))
        .await
        .err()
        .ok_or("it ran")?;
    assert!(
        refused.temporary && refused.message.contains("Please use a terminal"),
        "{refused}"
    );
    Ok(())
}

#[tokio::test]
async fn input_arrives_and_output_of_any_size_comes_back() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    let content: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let echo = Command {
        stdin: content.clone(),
        ..Command::new(&["cat"])
    };
    assert_eq!(ssh.exec(&echo).await?.stdout, content);
    let deaf = Command {
        stdin: vec![0; 40 << 20],
        ..Command::new(&["true"])
    };
    assert!(ssh.exec(&deaf).await?.success());
    Ok(())
}

#[tokio::test]
async fn many_commands_share_one_connection() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    let commands: Vec<Command> = (0..30)
        .map(|number| shell(&format!("echo {number}; echo $PPID")))
        .collect();
    let mut running: Vec<_> = commands
        .iter()
        .map(|command| Box::pin(ssh.exec(command)))
        .collect();
    let mut servers = std::collections::BTreeSet::new();
    let mut outputs = Vec::new();
    while !running.is_empty() {
        // Polled together: all of them wait for the same four channels.
        let (output, rest) = first(running).await;
        outputs.push(output?);
        running = rest;
    }
    for output in &outputs {
        let text = String::from_utf8_lossy(&output.stdout);
        servers.extend(text.lines().nth(1).map(str::to_owned));
    }
    assert_eq!((outputs.len(), servers.len()), (30, 1));
    Ok(())
}

/// The first of several futures to end, and the others.
async fn first<F: Future + Unpin>(mut futures: Vec<F>) -> (F::Output, Vec<F>) {
    std::future::poll_fn(move |context| {
        let ready = futures.iter_mut().enumerate().find_map(|(index, future)| {
            match std::pin::Pin::new(future).poll(context) {
                std::task::Poll::Ready(output) => Some((index, output)),
                std::task::Poll::Pending => None,
            }
        });
        match ready {
            None => std::task::Poll::Pending,
            Some((index, output)) => {
                drop(futures.remove(index));
                std::task::Poll::Ready((output, std::mem::take(&mut futures)))
            }
        }
    })
    .await
}

#[tokio::test]
async fn what_takes_too_long_is_ended_with_its_children() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    let command = shell("sleep 600 & echo $! > child; wait").timeout(Duration::from_secs(1));
    let late = ssh.exec(&command).await.err().ok_or("it ended")?;
    assert!(
        late.temporary && late.message.contains("did not end"),
        "{late}"
    );
    let gone = shell("while kill -0 $(cat child) 2>/dev/null; do sleep 0.01; done");
    assert!(ssh.exec(&gone).await?.success(), "its child lives on");
    Ok(())
}

#[tokio::test]
async fn a_child_left_behind_with_its_output_open_does_not_hold_us_up() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    let started = Instant::now();
    let said = stdout(
        &ssh,
        &shell("setsid sleep 600 & echo $! > child; echo started"),
    )
    .await?;
    assert_eq!(said, "started\n");
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "it was waited for"
    );
    let alive = shell("kill -0 $(cat child)");
    assert!(
        ssh.exec(&alive).await?.success(),
        "what a command leaves running goes on"
    );
    Ok(())
}

#[tokio::test]
async fn a_lost_connection_is_told_and_made_anew() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    // The program's parent is the server's end of the connection.
    let cut = ssh.exec(&shell("kill -9 $PPID; sleep 600")).await;
    let cut = cut.err().ok_or("it has an end")?;
    assert!(
        cut.temporary && cut.message.contains("the connection was lost"),
        "{cut}"
    );
    assert_eq!(stdout(&ssh, &shell("echo again")).await?, "again\n");
    Ok(())
}

#[tokio::test]
async fn a_line_gone_dead_is_noticed_without_a_word_from_anybody() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let mut ssh = place.ssh();
    ssh.patience.keepalive = Duration::from_millis(100);
    // The server's end is frozen, as a line that was cut: nothing is answered, and nothing is closed.
    let freeze = shell("kill -STOP $PPID; sleep 600").timeout(Duration::from_secs(600));
    let lost = ssh.exec(&freeze).await.err().ok_or("it has an end")?;
    assert!(
        lost.temporary && lost.message.contains("the connection was lost"),
        "{lost}"
    );
    assert_eq!(stdout(&ssh, &shell("echo again")).await?, "again\n");
    Ok(())
}

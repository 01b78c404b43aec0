use std::os::unix::fs::PermissionsExt;
use std::process::Command as Plain;
use std::time::Instant;

use tempfile::TempDir;

use super::super::command::Ended;
use super::environment::is_passed_on;
use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn open() -> Result<(TempDir, Local), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let marks = [("GPURUN_BOX".to_owned(), "box-1".to_owned())];
    let local = Local::open(home.path(), &marks.into())?;
    Ok((home, local))
}

fn shell(script: &str) -> Command {
    Command::new(&["sh", "-c", script])
}

#[tokio::test]
async fn commands_run_in_the_home_with_the_boxs_environment() -> Outcome {
    let (home, local) = open()?;
    let command = shell("pwd -P; echo $HOME; echo $GPURUN_BOX; echo $EXTRA; echo ${PATH%%:*}")
        .env("EXTRA", "more");
    let output = local.exec(&command).await?;
    let real = home.path().canonicalize()?;
    let shown = home.path().display();
    let expected = format!(
        "{}\n{shown}\nbox-1\nmore\n{shown}/gpurun/bin\n",
        real.display()
    );
    assert_eq!(String::from_utf8(output.stdout)?, expected);
    Ok(())
}

#[tokio::test]
async fn the_users_environment_stays_outside() -> Outcome {
    let (_home, local) = open()?;
    // Cargo sets this for every test, as a user's shell sets a provider's key.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    let output = local.exec(&shell("env")).await?;
    let text = String::from_utf8(output.stdout)?;
    assert!(!text.contains("CARGO_PKG_NAME"), "{text}");
    for secret in [
        "VAST_API_KEY",
        "RUNPOD_API_KEY",
        "LAMBDA_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN",
        "GPURUN_HOME",
    ] {
        assert!(!is_passed_on(secret.as_ref()), "{secret}");
    }
    Ok(())
}

#[tokio::test]
async fn how_it_ended_is_told_apart() -> Outcome {
    let (_home, local) = open()?;
    let output = local.exec(&shell("echo out; echo err >&2; exit 7")).await?;
    assert_eq!(
        (
            output.ended,
            output.stdout.as_slice(),
            output.stderr.as_slice()
        ),
        (Ended::Code(7), &b"out\n"[..], &b"err\n"[..])
    );
    assert_eq!(
        local.exec(&shell("kill -9 $$")).await?.ended,
        Ended::Signal(9)
    );
    let missing = local
        .exec(&Command::new(&["gpurun/bin/gpurun"]))
        .await
        .err()
        .ok_or("it ran")?;
    assert!(
        !missing.temporary && missing.message.contains("can't be run"),
        "{missing}"
    );
    assert!(local.exec(&Command::new(&[])).await.is_err());
    Ok(())
}

#[tokio::test]
async fn input_arrives_and_output_of_any_size_comes_back() -> Outcome {
    let (_home, local) = open()?;
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let echo = Command {
        stdin: content.clone(),
        ..Command::new(&["cat"])
    };
    assert_eq!(local.exec(&echo).await?.stdout, content);
    let deaf = Command {
        stdin: content,
        ..Command::new(&["true"])
    };
    assert!(local.exec(&deaf).await?.success());
    Ok(())
}

#[tokio::test]
async fn what_takes_too_long_is_ended_with_its_children() -> Outcome {
    let (home, local) = open()?;
    let command = shell("sleep 600 & echo $! > child; wait").timeout(Duration::from_millis(300));
    let late = local.exec(&command).await.err().ok_or("it ended")?;
    assert!(
        late.temporary && late.message.contains("did not end"),
        "{late}"
    );
    let child = fs::read_to_string(home.path().join("child"))?;
    let deadline = Instant::now() + Duration::from_secs(30);
    while Plain::new("kill")
        .args(["-0", child.trim()])
        .stderr(Stdio::null())
        .status()?
        .success()
    {
        let state = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        if state.contains(") Z ") || state.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "the child lives on: {state}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_child_left_behind_with_its_output_open_does_not_hold_us_up() -> Outcome {
    let (home, local) = open()?;
    let output = local
        .exec(&shell("setsid sleep 600 & echo $! > child; echo started"))
        .await?;
    assert_eq!(
        (output.ended, output.stdout.as_slice()),
        (Ended::Code(0), &b"started\n"[..])
    );
    let child = fs::read_to_string(home.path().join("child"))?;
    assert!(
        Plain::new("kill").arg(child.trim()).status()?.success(),
        "what a command leaves running goes on"
    );
    Ok(())
}

#[tokio::test]
async fn files_arrive_whole_or_not_at_all() -> Outcome {
    let (home, local) = open()?;
    local.put_bytes(b"orders", "gpurun/agent.json").await?;
    let path = home.path().join("gpurun/agent.json");
    assert_eq!(fs::read(&path)?, b"orders");
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    local.put_bytes(b"new orders", "gpurun/agent.json").await?;
    assert_eq!(fs::read(&path)?, b"new orders");
    assert_eq!(
        fs::read_dir(home.path().join("gpurun"))?.count(),
        1,
        "nothing temporary is left"
    );
    fs::create_dir(home.path().join("taken"))?;
    assert!(local.put_bytes(b"", "taken").await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_program_is_copied_once_and_is_the_boxs_own() -> Outcome {
    let (home, local) = open()?;
    let here = tempfile::tempdir()?;
    let program = here.path().join("tool");
    fs::write(&program, "#!/bin/sh\necho one\n")?;
    local.put_program(&program, "bin/tool").await?;
    let inode = || {
        fs::metadata(home.path().join("bin/tool"))
            .map(|file| std::os::unix::fs::MetadataExt::ino(&file))
    };
    let first = inode()?;
    local.put_program(&program, "bin/tool").await?;
    assert_eq!(inode()?, first, "the same program isn't written again");
    fs::write(&program, "#!/bin/sh\necho two\n")?;
    let run = local.exec(&Command::new(&["bin/tool"])).await?;
    assert_eq!(
        run.stdout, b"one\n",
        "what happens to the original doesn't reach the box"
    );
    local.put_program(&program, "bin/tool").await?;
    assert_eq!(
        local.exec(&Command::new(&["bin/tool"])).await?.stdout,
        b"two\n"
    );
    Ok(())
}

#[tokio::test]
async fn a_box_that_is_gone_is_said_so() {
    let gone = Local::open(Path::new("/nowhere/home"), &[].into())
        .err()
        .map(|error| error.message);
    assert!(gone.is_some_and(|message| message.contains("/nowhere/home")));
}

//! What is the local provider's own: folders, processes, GPUs, and being killed at any point.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gpurun_pricing::{Gigabytes, GpuRequest, Offer};
use gpurun_providers::local::{Local, LocalConfig};
use gpurun_providers::{
    Access, ErrorKind, Instance, InstanceState, OfferRequest, Provider, RentRequest,
};
use rust_decimal::Decimal;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const WORKER: &str = "GPURUN_TEST_WORKER_ROOT";

fn disk() -> Gigabytes {
    Gigabytes::new(Decimal::from(20))
}

async fn offers(local: &Local, gpu: &str) -> Result<Vec<Offer>, Box<dyn std::error::Error>> {
    Ok(local
        .search(&OfferRequest::new(gpu.parse::<GpuRequest>()?, disk()))
        .await?)
}

async fn rent(
    local: &Local,
    gpu: &str,
    label: &str,
) -> Result<Instance, Box<dyn std::error::Error>> {
    let offer = offers(local, gpu)
        .await?
        .into_iter()
        .next()
        .ok_or("nothing offered")?;
    Ok(local.rent(&RentRequest::new(label, offer, disk())).await?)
}

async fn state(local: &Local, id: &str) -> Result<Option<InstanceState>, gpurun_providers::Error> {
    Ok(local.describe(id).await?.map(|instance| instance.state))
}

fn home(instance: &Instance) -> Result<PathBuf, &'static str> {
    let Some(Access::Local { home, .. }) = &instance.access else {
        return Err("no way in");
    };
    Ok(home.clone())
}

/// Starts a process in the box, as whoever has its `access` would.
fn start_in(instance: &Instance, argv: &[&str]) -> Result<Child, Box<dyn std::error::Error>> {
    let Some(Access::Local { home, environment }) = &instance.access else {
        return Err("no way in".into());
    };
    let mut command = Command::new(argv[0]);
    command
        .args(&argv[1..])
        .envs(environment)
        .current_dir(home)
        .stdin(Stdio::null());
    Ok(command.spawn()?)
}

#[tokio::test]
async fn stop_ends_processes_and_keeps_the_disk() -> Outcome {
    let folder = tempfile::tempdir()?;
    let local = Local::new(LocalConfig::new(folder.path().to_owned()));
    let rented = rent(&local, "cpu", "gpurun-one").await?;
    fs::write(home(&rented)?.join("weights.pt"), "learned")?;
    let mut training = start_in(&rented, &["sleep", "600"])?;
    local.stop(&rented.id).await?;
    assert!(!training.wait()?.success());
    assert_eq!(
        state(&local, &rented.id).await?,
        Some(InstanceState::Stopped)
    );
    local.start(&rented.id).await?;
    let again = local.describe(&rented.id).await?.ok_or("gone")?;
    assert_eq!(
        fs::read_to_string(home(&again)?.join("weights.pt"))?,
        "learned"
    );
    let mut training = start_in(&again, &["sleep", "600"])?;
    local.destroy(&rented.id).await?;
    assert!(!training.wait()?.success());
    assert!(!home(&again)?.exists());
    Ok(())
}

#[tokio::test]
async fn a_box_with_folders_that_forbid_writing_can_be_destroyed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let outside = tempfile::tempdir()?;
    fs::write(outside.path().join("data"), "mine")?;
    let local = Local::new(LocalConfig::new(folder.path().to_owned()));
    let rented = rent(&local, "cpu", "gpurun-one").await?;
    let locked = home(&rented)?.join("cache/locked");
    fs::create_dir_all(&locked)?;
    fs::write(locked.join("file"), "")?;
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555))?;
    std::os::unix::fs::symlink(outside.path(), home(&rented)?.join("link"))?;
    local.destroy(&rented.id).await?;
    assert_eq!(state(&local, &rented.id).await?, None);
    assert_eq!(
        fs::read_to_string(outside.path().join("data"))?,
        "mine",
        "links are not followed"
    );
    Ok(())
}

#[tokio::test]
async fn a_box_that_cannot_be_read_is_broken_not_invisible() -> Outcome {
    let folder = tempfile::tempdir()?;
    let local = Local::new(LocalConfig::new(folder.path().to_owned()));
    for content in ["", "{}", "{\"version\":99}", "\0\0\0\0"] {
        let rented = rent(&local, "cpu", "gpurun-one").await?;
        fs::write(
            folder
                .path()
                .join("boxes")
                .join(&rented.id)
                .join("box.json"),
            content,
        )?;
        let listed = local.list_mine().await?;
        let [broken] = listed.as_slice() else {
            return Err(format!("{listed:?}").into());
        };
        assert_eq!(
            (broken.id.as_str(), broken.state),
            (rented.id.as_str(), InstanceState::Broken)
        );
        assert!(
            broken
                .message
                .as_deref()
                .is_some_and(|why| why.contains("box.json")),
            "{broken:?}"
        );
        let refused = local.start(&rented.id).await.err().ok_or("it started")?;
        assert_eq!(refused.kind, ErrorKind::Unknown);
        local.destroy(&rented.id).await?;
        assert_eq!(local.list_mine().await?, []);
    }
    Ok(())
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_an_error_not_empty() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::write(
        folder.path().join("boxes"),
        "a file where the folder should be",
    )?;
    let local = Local::new(LocalConfig::new(folder.path().to_owned()));
    assert!(local.list_mine().await.is_err());
    Ok(())
}

#[tokio::test]
async fn an_id_is_never_a_way_out_of_the_folder() -> Outcome {
    let folder = tempfile::tempdir()?;
    let local = Local::new(LocalConfig::new(folder.path().join("local")));
    let rented = rent(&local, "cpu", "gpurun-one").await?;
    fs::create_dir(folder.path().join("precious"))?;
    for id in ["../../precious", "..", ".", "", "/", ".new-box", "a/b"] {
        assert_eq!(local.describe(id).await?, None, "{id}");
        local.destroy(id).await?;
        assert_eq!(
            local.stop(id).await.err().map(|error| error.kind),
            Some(ErrorKind::Gone),
            "{id}"
        );
    }
    assert!(folder.path().join("precious").exists());
    assert_eq!(
        state(&local, &rented.id).await?,
        Some(InstanceState::Running)
    );
    Ok(())
}

/// Writes a state into `box.json` as a process that was killed right after would have left it.
fn leave_in_state(root: &Path, id: &str, state: &str) -> Outcome {
    let path = root.join("boxes").join(id).join("box.json");
    let mut content: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let now = serde_json::json!({ "state": state, "at": "2026-12-01T00:00:00Z" });
    content["timeline"]
        .as_array_mut()
        .ok_or("no timeline")?
        .push(now);
    Ok(fs::write(path, content.to_string())?)
}

#[tokio::test]
async fn what_a_killed_process_began_the_next_look_finishes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let local = Local::new(LocalConfig::new(folder.path().to_owned()));
    let rented = rent(&local, "cpu", "gpurun-one").await?;
    let mut training = start_in(&rented, &["sleep", "600"])?;
    leave_in_state(folder.path(), &rented.id, "stopping")?;
    assert_eq!(
        state(&local, &rented.id).await?,
        Some(InstanceState::Stopped)
    );
    training.wait()?;
    leave_in_state(folder.path(), &rented.id, "destroying")?;
    fs::remove_dir_all(folder.path().join("boxes").join(&rented.id).join("home"))?;
    assert_eq!(local.list_mine().await?, []);
    Ok(())
}

/// A stand-in for the driver's program, printing two cards.
fn fake_nvidia_smi(folder: &Path) -> Result<PathBuf, std::io::Error> {
    let path = folder.join("nvidia-smi");
    fs::write(
        &path,
        "#!/bin/sh\necho '0, NVIDIA H200, 143771'\necho '1, NVIDIA H200, 143771'\n",
    )?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

#[tokio::test]
async fn a_gpu_belongs_to_one_running_box() -> Outcome {
    let folder = tempfile::tempdir()?;
    let nvidia_smi = fake_nvidia_smi(folder.path())?;
    let local = Local::new(LocalConfig {
        nvidia_smi,
        ..LocalConfig::new(folder.path().join("local"))
    });
    let visible = |instance: &Instance| match &instance.access {
        Some(Access::Local { environment, .. }) => environment.get("CUDA_VISIBLE_DEVICES").cloned(),
        _ => None,
    };
    let first = rent(&local, "h200", "gpurun-one").await?;
    let second = rent(&local, "h200", "gpurun-two").await?;
    assert_eq!(
        (visible(&first).as_deref(), visible(&second).as_deref()),
        (Some("0"), Some("1"))
    );
    assert!(offers(&local, "h200").await?.is_empty(), "both are rented");

    local.stop(&first.id).await?;
    let third = rent(&local, "h200", "gpurun-three").await?;
    assert_eq!(
        visible(&third).as_deref(),
        Some("0"),
        "a stopped box gives its GPU up"
    );
    let refused = local
        .start(&first.id)
        .await
        .err()
        .ok_or("started without a GPU")?;
    assert_eq!(
        (refused.kind, refused.temporary),
        (ErrorKind::NoCapacity, true)
    );
    assert_eq!(
        state(&local, &first.id).await?,
        Some(InstanceState::Stopped)
    );

    local.destroy(&third.id).await?;
    local.start(&first.id).await?;
    let again = local.describe(&first.id).await?.ok_or("gone")?;
    assert_eq!(
        (visible(&again).as_deref(), again.gpus),
        (Some("0"), Some(1))
    );
    Ok(())
}

#[tokio::test]
async fn a_driver_that_fails_is_not_a_machine_without_gpus() -> Outcome {
    let folder = tempfile::tempdir()?;
    let nvidia_smi = fake_nvidia_smi(folder.path())?;
    fs::write(
        &nvidia_smi,
        "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n",
    )?;
    let local = Local::new(LocalConfig {
        nvidia_smi,
        ..LocalConfig::new(folder.path().join("local"))
    });
    let request = OfferRequest::new("h200".parse()?, disk());
    let error = local
        .search(&request)
        .await
        .err()
        .ok_or("it found something")?;
    assert!(error.message.contains("NVIDIA-SMI has failed"), "{error}");
    assert!(
        !offers(&local, "cpu").await?.is_empty(),
        "a CPU box needs no driver"
    );
    Ok(())
}

/// Not a test by itself: the process that the next one kills.
#[tokio::test]
async fn worker_process() -> Outcome {
    let Ok(root) = std::env::var(WORKER) else {
        return Ok(());
    };
    let local = Local::new(LocalConfig::new(PathBuf::from(root)));
    loop {
        let rented = rent(&local, "cpu", "gpurun-storm").await?;
        fs::create_dir_all(home(&rented)?.join("runs/one/weights"))?;
        local.stop(&rented.id).await?;
        local.start(&rented.id).await?;
        local.destroy(&rented.id).await?;
    }
}

#[tokio::test]
async fn killed_at_any_point_there_is_one_box_or_none() -> Outcome {
    let folder = tempfile::tempdir()?;
    let local = Local::new(LocalConfig::new(folder.path().to_owned()));
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..40_u64 {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", "local::worker_process", "--nocapture"])
            .env(WORKER, folder.path());
        let mut worker = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // Where the blow falls is chance; the moments are spread so that all parts of the cycle are hit.
        let blow = tokio::time::Instant::now() + Duration::from_millis(5 + round % 20);
        while !folder.path().join("boxes").exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep_until(blow).await;
        worker.kill()?;
        worker.wait()?;

        let listed = local.list_mine().await?;
        assert!(listed.len() <= 1, "{listed:?}");
        for left in &listed {
            seen.insert(left.state.to_string());
            assert_eq!(left.label.as_deref(), Some("gpurun-storm"));
            assert!(
                matches!(left.state, InstanceState::Running | InstanceState::Stopped),
                "{left:?}"
            );
            local.destroy(&left.id).await?;
            assert_eq!(state(&local, &left.id).await?, None);
        }
    }
    assert!(!seen.is_empty(), "no blow ever left a box behind");
    let rented = rent(&local, "cpu", "gpurun-last").await?;
    local.destroy(&rented.id).await?;
    assert_eq!(
        fs::read_dir(folder.path().join("boxes"))?.count(),
        0,
        "leftovers are swept"
    );
    Ok(())
}

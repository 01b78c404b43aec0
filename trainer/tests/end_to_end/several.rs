//! One training on several processes of this machine.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gpurun_protocol::status::State;
use gpurun_train::checkpoint::Checkpoint;
use tch::Tensor;

use crate::support::{Bench, fail, signal, start_until, succeed, wait};

/// Tensors of the trained network and of the optimizer, after a run's last step.
fn trained(bench: &Bench, run: &str) -> (BTreeMap<String, Tensor>, Vec<Tensor>) {
    let path = bench.path(&format!("runs/{run}/weights/last.pt"));
    let training = Checkpoint::read(&path).unwrap().training.unwrap();
    let momenta = training.optimizer.unwrap().memory;
    (
        training.train_model.into_iter().collect(),
        momenta
            .into_values()
            .flat_map(|memory| memory.buffers)
            .collect(),
    )
}

fn distance(found: &Tensor, expected: &Tensor) -> f64 {
    let wide = |tensor: &Tensor| tensor.to_kind(tch::Kind::Double);
    let error = (wide(found) - wide(expected)).norm().double_value(&[]);
    error / wide(expected).norm().double_value(&[]).max(1e-12)
}

/// The largest distance among tensors of the same place.
fn worst<'a>(pairs: impl Iterator<Item = (&'a Tensor, &'a Tensor)>) -> f64 {
    pairs
        .map(|(found, expected)| distance(found, expected))
        .fold(0.0, f64::max)
}

/// Two runs' trained tensors, optimizer's buffers and loss, by their relative distances.
fn distances(bench: &Bench, found: &str, expected: &str) -> (f64, f64, f64) {
    let (weights, momenta) = trained(bench, found);
    let (expected_weights, expected_momenta) = trained(bench, expected);
    assert!(weights.keys().eq(expected_weights.keys()));
    assert_eq!(momenta.len(), expected_momenta.len());
    let loss = |run: &str| {
        bench.history(&format!("runs/{run}")).rows[0]
            .train_loss
            .unwrap()
    };
    (
        worst(weights.values().zip(expected_weights.values())),
        worst(momenta.iter().zip(&expected_momenta)),
        (loss(found) / loss(expected) - 1.0).abs(),
    )
}

/// Noise of 6e-8 in the input, which is what another order of the same sums is, moves this network's gradients
/// by up to 5 % (normalisations of few values amplify it; see docs/trainer.md), with any implementation. One process
/// normalises by libtorch's own kernel, several by ours; two and three share ours, and so are held closer.
#[test]
fn two_and_three_processes_learn_what_one_does() {
    let bench = Bench::with(6, 4);
    let settings = ["epochs=1", "batch=6", "imgsz=128", "mosaic=0", "val=false"];
    for (name, device) in [("one", "cpu"), ("two", "cpu,cpu"), ("three", "cpu,cpu,cpu")] {
        let (name, device) = (format!("name={name}"), format!("device={device}"));
        succeed(&mut bench.train(&[&settings[..], &[&name, &device]].concat()));
    }
    let (weights, momenta, loss) = distances(&bench, "three", "two");
    assert!(weights < 5e-3 && momenta < 5e-3, "{weights:e} {momenta:e}");
    assert!(loss < 2e-6, "{loss:e}");
    for several in ["two", "three"] {
        let (weights, momenta, loss) = distances(&bench, several, "one");
        assert!(
            weights < 0.1 && momenta < 0.1,
            "{several}: {weights:e} {momenta:e}"
        );
        assert!(loss < 2e-4, "{several}: {loss:e}");
    }
}

/// As another launcher starts them: each told its place by torchrun's variables.
#[test]
fn torchruns_variables_are_enough() {
    let bench = Bench::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let number = port.local_addr().unwrap().port().to_string();
    drop(port);
    let start = |rank: &str| {
        let mut command = bench.train(&["epochs=2", "name=torchrun"]);
        command.envs([("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", "2")]);
        command.envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", &number)]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut both = [start("1"), start("0")];
    for process in &mut both {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(bench.status("runs/torchrun").state, Some(State::Completed));
    assert_eq!(bench.names("runs"), ["torchrun"]);
}

#[test]
fn a_batch_that_cannot_be_shared_starts_nothing() {
    let bench = Bench::new();
    let text = fail(&mut bench.train(&["batch=4", "device=cpu,cpu,cpu"]), 2);
    assert!(text.contains("3 and 6"), "{text}");
    assert!(!bench.path("runs").exists());
}

#[test]
fn a_stopped_group_is_resumed_by_one_process() {
    let bench = Bench::with(32, 4);
    let child = start_until(
        &mut bench.train(&["epochs=3", "device=cpu,cpu"]),
        "Checkpoint saved",
    );
    let workers = workers_of(child.id());
    assert_eq!(workers.len(), 2);
    signal(&child, "-TERM");
    assert_eq!(wait(child).code(), Some(143));
    let status = bench.status("runs/r");
    assert_eq!(status.state, Some(State::Failed));
    assert_eq!(status.error.unwrap().kind, "Terminated");
    assert!(workers.values().all(|pid| is_gone(*pid)));
    succeed(&mut bench.train(&["resume=true", "model=runs/r/weights/last.pt"]));
    assert_eq!(bench.status("runs/r").state, Some(State::Completed));
    assert_eq!(bench.history("runs/r").rows.len(), 3);
}

#[test]
fn a_killed_process_ends_all_and_is_named() {
    for victim in [1, 0] {
        let bench = Bench::with(32, 4);
        let child = start_until(
            &mut bench.train(&["epochs=200", "device=cpu,cpu"]),
            "Checkpoint saved",
        );
        let workers = workers_of(child.id());
        kill(workers[&victim]);
        assert_eq!(wait(child).code(), Some(1));
        let status = bench.status("runs/r");
        assert_eq!(status.state, Some(State::Failed), "{victim}");
        let message = status.error.unwrap().message;
        assert!(
            message.contains(&format!("process {victim} was killed")),
            "{message}"
        );
        assert!(workers.values().all(|pid| is_gone(*pid)));
        Checkpoint::read(&bench.path("runs/r/weights/last.pt")).unwrap();
    }
}

#[test]
fn workers_die_with_the_process_that_started_them() {
    let bench = Bench::with(32, 4);
    let child = start_until(
        &mut bench.train(&["epochs=200", "device=cpu,cpu"]),
        "Checkpoint saved",
    );
    let workers = workers_of(child.id());
    assert_eq!(workers.len(), 2);
    signal(&child, "-KILL");
    // Its standard error, which the workers share, is at its end once all of them are ending.
    assert!(!wait(child).success());
    let ended_by = Instant::now() + Duration::from_secs(30);
    while !workers.values().all(|pid| is_gone(*pid)) {
        assert!(Instant::now() < ended_by, "a worker is left: {workers:?}");
        std::thread::yield_now();
    }
}

/// Process numbers of a training's workers, by rank.
fn workers_of(parent: u32) -> BTreeMap<u32, u32> {
    let variable = format!("GPURUN_TRAIN_PARENT={parent}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let environment = String::from_utf8_lossy(&environment).into_owned();
            let variables: Vec<&str> = environment.split('\0').collect();
            let rank = variables
                .iter()
                .find_map(|text| text.strip_prefix("RANK="))?;
            variables.contains(&variable.as_str()).then_some(())?;
            Some((rank.parse().ok()?, pid))
        })
        .collect()
}

fn kill(pid: u32) {
    let status = Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Gone, or a zombie that nobody has waited for yet.
fn is_gone(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

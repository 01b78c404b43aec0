//! Signals, a resume, a killed process, a disk that takes no more.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use gpurun_protocol::status::{State, Status};
use gpurun_train::checkpoint::Checkpoint;

use crate::support::{Bench, fail, losses, signal, start_until, succeed, wait};

fn failed(bench: &Bench, run: &str) -> Status {
    let status = bench.status(run);
    assert_eq!(status.state, Some(State::Failed));
    status
}

/// Stopped within an epoch, or while it is validated, and resumed, a run learns bit for bit what it
/// would have learnt in one go.
#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let bench = Bench::with(32, 4);
    let settings = ["epochs=3", "no_aug_epochs=1"];
    succeed(&mut bench.train(&[&settings[..], &["name=whole"]].concat()));
    for (moment, run) in [
        ("Checkpoint saved", "within"),
        ("Running validation", "after"),
    ] {
        let name = format!("name={run}");
        let run = format!("runs/{run}");
        let last = format!("{run}/weights/last.pt");
        let child = start_until(
            &mut bench.train(&[&settings[..], &[&name]].concat()),
            moment,
        );
        signal(&child, "-TERM");
        assert_eq!(wait(child).code(), Some(143));
        assert_eq!(failed(&bench, &run).error.unwrap().kind, "Terminated");
        let training = Checkpoint::read(&bench.path(&last))
            .unwrap()
            .training
            .unwrap();
        assert!(
            training.position.is_some(),
            "{moment}: {}",
            training.finished_epochs
        );

        succeed(&mut bench.train(&["resume=true", &format!("model={last}")]));
        assert_eq!(
            losses(&bench, &run),
            losses(&bench, "runs/whole"),
            "{moment}"
        );
        let status = bench.status(&run);
        assert_eq!(status.state, Some(State::Completed));
        assert_eq!(
            (status.progress, status.completed_epochs),
            (Some(1.0), Some(3))
        );
        let metric = |run: &str| bench.history(run).rows[2].value("metrics/mAP50-95");
        assert_eq!(metric(&run), metric("runs/whole"), "{moment}");
    }
    assert_eq!(bench.names("runs"), ["after", "whole", "within"]);
}

#[test]
fn an_interrupt_is_a_keyboard_interrupt() {
    let bench = Bench::with(32, 4);
    let child = start_until(
        &mut with_sigint(
            "--default-signal=INT",
            &bench.train(&["epochs=50", "val=false"]),
        ),
        "Epoch 1 - ",
    );
    signal(&child, "-INT");
    assert_eq!(wait(child).code(), Some(130));
    assert_eq!(
        failed(&bench, "runs/r").error.unwrap().kind,
        "KeyboardInterrupt"
    );
}

/// A shell's background job does not end with what the terminal's user interrupts.
#[test]
fn an_ignored_interrupt_stays_ignored() {
    let bench = Bench::with(8, 4);
    let child = start_until(
        &mut with_sigint(
            "--ignore-signal=INT",
            &bench.train(&["epochs=2", "val=false"]),
        ),
        "Epoch 1 - ",
    );
    signal(&child, "-INT");
    assert!(wait(child).success());
    assert_eq!(bench.status("runs/r").state, Some(State::Completed));
}

/// The command under coreutils' `env`, which sets the disposition and becomes the command.
fn with_sigint(disposition: &str, command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg(disposition)
        .arg(command.get_program())
        .args(command.get_args());
    env.current_dir(command.get_current_dir().unwrap())
        .env("OMP_NUM_THREADS", "1");
    env
}

/// Before the first checkpoint there is nothing to go on from, and the status still tells the truth.
#[test]
fn a_stop_at_once_leaves_a_true_status() {
    let bench = Bench::with(32, 4);
    let child = start_until(&mut bench.train(&["epochs=50"]), "Starting training");
    signal(&child, "-TERM");
    assert_eq!(wait(child).code(), Some(143));
    let status = failed(&bench, "runs/r");
    assert_eq!(
        (status.completed_epochs, status.current_epoch),
        (Some(0), Some(1))
    );
}

#[test]
fn a_killed_run_resumes_from_its_last_checkpoint() {
    let bench = Bench::with(16, 4);
    let child = start_until(&mut bench.train(&["epochs=3"]), "Checkpoint saved");
    signal(&child, "-KILL");
    assert_eq!(wait(child).signal(), Some(9));
    assert_eq!(bench.status("runs/r").state, Some(State::Running));
    // Whatever the kill tore, the checkpoint is whole.
    Checkpoint::read(&bench.path("runs/r/weights/last.pt")).unwrap();
    Checkpoint::read(&bench.path("runs/r/weights/best.pt")).unwrap();
    fs::write(
        bench.path("runs/r/weights/.last.pt.torn.tmp"),
        b"half a file",
    )
    .unwrap();

    succeed(&mut bench.train(&["resume=true", "model=runs/r/weights/last.pt"]));
    let history = bench.history("runs/r");
    assert_eq!(
        history.rows.iter().map(|row| row.epoch).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(history.skipped.is_empty());
    assert_eq!(bench.names("runs/r/weights"), ["best.pt", "last.pt"]);
    let csv = fs::read_to_string(bench.path("runs/r/results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 4);
}

#[test]
fn a_finished_run_has_nothing_to_resume() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1"]));
    let words = fail(&mut bench.train(&["resume=runs/r/weights/last.pt"]), 2);
    assert!(words.contains("already trained 1/1 epochs"), "{words}");
    assert_eq!(bench.status("runs/r").state, Some(State::Completed));
    succeed(&mut bench.train(&["resume=true", "epochs=2"]));
    assert_eq!(bench.history("runs/r").rows.len(), 2);
}

/// A limit on file sizes that lets everything through but a checkpoint.
#[test]
fn a_full_disk_fails_the_run_and_keeps_its_checkpoint() {
    let bench = Bench::new();
    succeed(&mut bench.train(&["epochs=1"]));
    let before = fs::read(bench.path("runs/r/weights/last.pt")).unwrap();

    let resume = bench.train(&["resume=true", "epochs=2"]);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 2048; trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(resume.get_program());
    limited
        .args(resume.get_args())
        .current_dir(bench.path(""))
        .env("OMP_NUM_THREADS", "1");
    let words = fail(&mut limited, 1);
    assert!(words.contains("last.pt"), "{words}");

    let error = failed(&bench, "runs/r").error.unwrap();
    assert_eq!(error.kind, "OSError");
    assert_eq!(
        fs::read(bench.path("runs/r/weights/last.pt")).unwrap(),
        before
    );
    assert_eq!(bench.names("runs/r/weights"), ["best.pt", "last.pt"]);
    assert_eq!(bench.history("runs/r").rows.len(), 1);
}

//! Starting, starting again, and who may die.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getsid};

use super::support::{TestBox, checkpoint, kill_agent, kill_now, pid, signals, until};

#[test]
fn a_training_runs_to_its_end_and_its_files_are_safe() {
    let mut here = TestBox::new();
    let started = here.start();
    assert_eq!(started["outcome"], "started");
    assert_eq!(started["report"]["agent"]["alive"], true);
    assert_eq!(started["report"]["training"]["alive"], true);

    let (best, better, last) = (
        checkpoint(1, 3000),
        checkpoint(2, 3000),
        checkpoint(3, 3000),
    );
    here.order_checkpoint("best.pt", &best, 1);
    here.until_stored("best.pt", &best);
    here.order_checkpoint("best.pt", &better, 2);
    here.until_stored("best.pt", &better);
    here.order_checkpoint("last.pt", &last, 2);
    here.order("echo to the end; echo bad news >&2; exit 3");

    let exit = here.until_over();
    assert_eq!(exit["end"]["how"], "exited");
    assert_eq!(exit["end"]["code"], 3);
    assert_eq!(exit["not_pushed"].as_array().unwrap().len(), 0);
    here.until_stored("last.pt", &last);
    assert_eq!(
        fs::read(here.stored("stdout.log")).unwrap(),
        b"to the end\n"
    );

    until("the agent is gone", || {
        (here.report()["agent"]["alive"] == false).then_some(())
    });
    let report = here.report();
    assert_eq!(report["training"]["alive"], false);
    assert_eq!(report["exit"]["end"]["code"], 3);
    assert_eq!(report["history"]["epochs"], 2);
    assert_eq!(report["status"]["state"], "running");
    assert_eq!(report["stderr_tail"], "bad news\n");
    assert_eq!(report["heartbeat"]["phase"], "ended");
    let files = report["files"].as_array().unwrap();
    let best = files
        .iter()
        .find(|file| file["file"] == "weights/best.pt")
        .unwrap();
    assert_eq!(
        (&best["complete"], &best["verified"]),
        (&true.into(), &true.into())
    );
    assert_eq!(here.start()["outcome"], "already_ended");
}

#[test]
fn starting_again_reports_the_running_one() {
    let here = TestBox::new();
    let first = here.start();
    let again = here.start();
    assert_eq!(again["outcome"], "already_running");
    for part in ["agent", "training"] {
        assert_eq!(again["report"][part], first["report"][part]);
    }
}

#[test]
fn many_starts_at_once_start_one_training() {
    let here = TestBox::new();
    let starts: Vec<_> = (0..6)
        .map(|_| {
            here.command(&["start"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for start in starts {
        assert!(start.wait_with_output().unwrap().status.success());
    }
    let report = here.report();
    assert_eq!(report["training"]["alive"], true);
    let folder = here.home().join("gpurun");
    let mark = format!("GPURUN_TRAINING=3f.1@{}", folder.display());
    let leaders = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes());
            marked && getsid(Some(*pid)) == Ok(*pid)
        })
        .count();
    assert_eq!(leaders, 1);
}

#[test]
fn the_agent_outlives_the_session_that_started_it_with_signals_ignored() {
    let mut here = TestBox::new();
    // As `nohup … &` in a script leaves it: interrupts and hang-ups ignored, in a process group that is then killed.
    let script = "trap '' INT HUP PIPE TERM CHLD; \"$0\" agent start; sleep 600";
    let mut parent = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_gpurun")])
        .env("HOME", here.home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let training = until("the training runs", || {
        let report = here.report();
        (report["training"]["alive"] == true && report["heartbeat"].is_object()).then_some(report)
    });
    let group = Pid::from_raw(i32::try_from(parent.id()).unwrap());
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGKILL] {
        killpg(group, signal).unwrap();
    }
    parent.wait().unwrap();

    let trainer = pid(&training["training"]);
    assert_eq!(getsid(Some(trainer)), Ok(trainer));
    assert_eq!(signals(trainer, "SigIgn:"), 0);
    assert_eq!(signals(trainer, "SigBlk:"), 0);
    here.order("exit 0");
    assert_eq!(here.until_over()["end"]["code"], 0);
}

#[test]
fn a_killed_training_is_seen_for_what_it_is() {
    let mut here = TestBox::new();
    let started = here.start();
    let best = checkpoint(1, 3000);
    here.order_checkpoint("best.pt", &best, 1);
    kill_now(pid(&started["report"]["training"]));

    let exit = here.until_over();
    assert_eq!(exit["end"]["how"], "signaled");
    assert_eq!(exit["end"]["name"], "SIGKILL");
    let report = here.report();
    assert_eq!(report["training"]["alive"], false);
    assert_eq!(report["status"]["state"], "running");
    here.until_stored("best.pt", &best);
}

#[test]
fn a_killed_agent_leaves_the_evidence_and_is_replaced() {
    let mut here = TestBox::new();
    let started = here.start();
    kill_agent(pid(&started["report"]["agent"]));
    let alone = until("the agent is dead", || {
        Some(here.report()).filter(|report| report["agent"]["alive"] == false)
    });
    assert_eq!(alone["training"]["alive"], true);
    let best = checkpoint(1, 3000);
    here.order_checkpoint("best.pt", &best, 1);
    assert_eq!(here.report()["history"]["last"]["epoch"], 1);

    let again = here.start();
    assert_eq!(again["outcome"], "adopted");
    assert_eq!(again["report"]["training"], started["report"]["training"]);
    here.until_stored("best.pt", &best);
    here.order("exit 0");
    // Nobody was its parent: the exit code is not known, and not made up.
    assert_eq!(here.until_over()["end"]["how"], "unobserved");
}

#[test]
fn a_killed_agent_comes_back_by_itself_and_goes_on() {
    let mut here = TestBox::new();
    let started = here.start();
    let first = pid(&started["report"]["agent"]);
    kill_now(first);
    let report = until("another agent is there", || {
        let report = here.report();
        let alive = report["agent"]["alive"] == true;
        (alive && pid(&report["agent"]) != first).then_some(report)
    });
    assert_eq!(report["training"], started["report"]["training"]);
    let best = checkpoint(1, 3000);
    here.order_checkpoint("best.pt", &best, 1);
    here.until_stored("best.pt", &best);
    here.order("exit 0");
    assert_eq!(here.until_over()["end"]["how"], "unobserved");
    until("nothing of it is left", || {
        (here.report()["agent"]["alive"] == false).then_some(())
    });
}

#[test]
fn an_agent_killed_before_it_recorded_the_training_starts_no_second_one() {
    let here = TestBox::new();
    let started = here.start();
    kill_agent(pid(&started["report"]["agent"]));
    fs::remove_file(here.home().join("gpurun/training.json")).unwrap();
    until("the agent is dead", || {
        (here.report()["agent"]["alive"] == false).then_some(())
    });
    let again = here.start();
    assert_eq!(again["outcome"], "adopted");
    assert_eq!(again["report"]["training"], started["report"]["training"]);
}

#[test]
fn a_command_that_does_not_exist_is_an_end_in_words() {
    let mut here = TestBox::new();
    here.change_spec(|spec| spec["argv"] = serde_json::json!(["no-such-trainer"]));
    here.start();
    let exit = here.until_over();
    assert_eq!(exit["end"]["how"], "not_started");
    assert!(
        exit["end"]["message"]
            .as_str()
            .unwrap()
            .contains("no-such-trainer")
    );
    assert_eq!(here.start()["outcome"], "already_ended");
}

#[test]
fn a_box_without_a_spec_reports_and_refuses_with_a_remedy() {
    let here = TestBox::new();
    fs::remove_file(here.home().join("gpurun/agent.json")).unwrap();
    assert!(here.report()["run_id"].is_null());
    let refused = here.run(&["start"]);
    assert_eq!(refused.status.code(), Some(6));
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(errors.contains("nothing says what to run"), "{errors}");
}

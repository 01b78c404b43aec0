//! Ending a training, and going on in a next attempt.

use std::fs;

use super::support::{TestBox, checkpoint, kill_agent, pid, until};

#[test]
fn end_terminates_the_training_and_pushes_what_it_left() {
    let mut here = TestBox::new();
    here.start();
    let last = checkpoint(1, 3000);
    fs::write(here.home().join("files/last.pt"), &last).unwrap();
    here.order("trap 'cp files/last.pt $RUN/weights/last.pt; exit 143' TERM");
    let report = here.ask(&["end", "--grace", "50", "--why", "the budget is spent"]);
    assert_eq!(report["exit"]["end"]["code"], 143, "{report}");
    assert_eq!(report["exit"]["requested"], "the budget is spent");
    assert_eq!(report["exit"]["push_finished"], true);
    assert_eq!(report["agent"]["alive"], false);
    here.until_stored("last.pt", &last);
}

#[test]
fn a_training_that_ignores_the_end_is_killed_after_the_grace_with_all_its_processes() {
    let mut here = TestBox::new();
    here.start();
    // A worker in a session of its own, as launchers of several ranks make them.
    here.order("trap '' TERM; setsid sleep 600 & echo $! > worker");
    let report = here.ask(&["end", "--grace", "0"]);
    assert_eq!(report["exit"]["end"]["name"], "SIGKILL");
    let worker = fs::read_to_string(here.home().join("worker")).unwrap();
    let stat = format!("/proc/{}/stat", worker.trim());
    until("the worker is gone", || {
        fs::read_to_string(&stat)
            .map_or(true, |stat| stat.contains(") Z"))
            .then_some(())
    });
}

#[test]
fn what_a_training_leaves_behind_is_ended_with_it() {
    let mut here = TestBox::new();
    here.start();
    here.order("sleep 600 & exit 0");
    let exit = here.until_over();
    assert_eq!(exit["end"]["code"], 0, "{exit}");
    assert_eq!(exit["strays"], 1);
}

#[test]
fn end_works_without_an_agent() {
    let mut here = TestBox::new();
    let started = here.start();
    let best = checkpoint(1, 3000);
    kill_agent(pid(&started["report"]["agent"]));
    here.order_checkpoint("best.pt", &best, 1);
    let report = here.ask(&["end", "--grace", "50"]);
    assert_eq!(report["training"]["alive"], false);
    assert_eq!(report["exit"]["end"]["how"], "unobserved");
    here.until_stored("best.pt", &best);
    // Ending the ended changes nothing.
    assert_eq!(here.ask(&["end"])["exit"], report["exit"]);
}

#[test]
fn ending_a_box_that_never_trained_is_no_error() {
    let here = TestBox::new();
    assert!(here.ask(&["end"])["exit"].is_null());
}

#[test]
fn the_next_attempt_waits_for_the_one_before_and_keeps_its_files() {
    let mut here = TestBox::new();
    here.start();
    let (first, second) = (checkpoint(1, 3000), checkpoint(2, 3000));
    here.order_checkpoint("best.pt", &first, 1);
    here.until_stored("best.pt", &first);

    here.change_spec(|spec| spec["attempt"] = 2.into());
    let refused = here.run(&["start"]);
    assert_eq!(refused.status.code(), Some(6));
    let report = here.report();
    assert_eq!(report["attempt"], 2);
    assert!(report["training"].is_null() && report["heartbeat"].is_null());

    here.change_spec(|spec| spec["attempt"] = 1.into());
    here.ask(&["end", "--grace", "50"]);
    here.change_spec(|spec| spec["attempt"] = 2.into());
    for order in fs::read_dir(here.home().join("orders")).unwrap() {
        fs::remove_file(order.unwrap().path()).unwrap();
    }
    here.forget_orders();
    assert_eq!(here.start()["outcome"], "started");
    assert!(here.report()["exit"].is_null());
    assert_eq!(fs::read(here.stored("best.pt")).unwrap(), first);
    here.order_checkpoint("best.pt", &second, 2);
    here.until_stored("best.pt", &second);
}

//! What reaches the destination, and what must not.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::support::{TestBox, checkpoint, kill_agent, pid, until};

/// Waits until the agent has looked at the run directory again, several times.
fn until_looked(here: &TestBox) {
    let written = || here.heartbeat().map(|beat| beat["written_at"].clone());
    for _ in 0..5 {
        let before = written();
        until("the next heartbeat", || (written() != before).then_some(()));
    }
}

#[test]
fn a_half_written_checkpoint_waits_until_it_is_whole() {
    let mut here = TestBox::new();
    here.start();
    let whole = checkpoint(1, 5000);
    here.order_checkpoint("best.pt", &whole[..3000], 1);
    until("the agent has seen it", || {
        let pending = here.heartbeat()?["push"]["pending"].clone();
        pending
            .as_array()?
            .iter()
            .any(|file| file == "best.pt")
            .then_some(())
    });
    until_looked(&here);
    assert!(!here.stored("best.pt").exists());
    let reply = here.run(&["push"]);
    assert_eq!(reply.status.code(), Some(1));
    assert!(!here.stored("best.pt").exists());

    here.order_checkpoint("best.pt", &whole, 1);
    here.until_stored("best.pt", &whole);
}

#[test]
fn a_checkpoint_torn_by_the_end_never_replaces_a_whole_one() {
    let mut here = TestBox::new();
    here.start();
    let whole = checkpoint(1, 5000);
    here.order_checkpoint("best.pt", &whole, 1);
    here.until_stored("best.pt", &whole);
    fs::write(
        here.home().join("files/best.pt"),
        &checkpoint(2, 5000)[..4000],
    )
    .unwrap();
    here.order("cp files/best.pt $RUN/weights/best.pt; kill -9 $$; exit");
    let exit = here.until_over();
    assert_eq!(exit["not_pushed"][0]["file"], "best.pt");
    assert!(
        exit["not_pushed"][0]["why"]
            .as_str()
            .unwrap()
            .contains("not whole")
    );
    assert_eq!(fs::read(here.stored("best.pt")).unwrap(), whole);
}

#[test]
fn push_takes_what_no_milestone_has_taken_beside_a_living_agent_and_without() {
    let mut here = TestBox::new();
    here.start();
    let last = checkpoint(1, 3000);
    here.order_checkpoint("last.pt", &last, 1);
    let reply = here.ask(&["push"]);
    assert_eq!(reply["pushed"][0], "last.pt");
    here.until_stored("last.pt", &last);
    here.order("exit 0");
    here.until_over();
    assert_eq!(here.ask(&["push"])["pushed"].as_array().unwrap().len(), 0);
}

#[test]
fn a_full_destination_is_told_retried_and_loses_nothing() {
    let mut here = TestBox::new();
    let to = here.home().join("to");
    if !mount_small(&to) {
        return;
    }
    let _unmount = Unmount(&to.clone());
    here.start();
    let (old, new) = (checkpoint(1, 300_000), checkpoint(2, 800_000));
    here.order_checkpoint("best.pt", &old, 1);
    here.until_stored("best.pt", &old);
    fs::write(to.join("filler"), vec![0; 400_000]).unwrap();
    here.order_checkpoint("best.pt", &new, 2);
    let error = until("the failure is in the heartbeat", || {
        let error = here.heartbeat()?["push"]["last_error"].clone();
        error.is_object().then_some(error)
    });
    assert_eq!(error["file"], "best.pt");
    assert!(
        error["message"].as_str().unwrap().contains("is full"),
        "{error}"
    );
    assert_eq!(fs::read(here.stored("best.pt")).unwrap(), old);
    // The training and the heartbeat go on.
    until_looked(&here);
    here.order("echo still here");

    // Room for the old, not yet for both: the old one still stays.
    fs::remove_file(to.join("filler")).unwrap();
    let smaller = checkpoint(3, 500_000);
    here.order_checkpoint("best.pt", &smaller, 3);
    here.until_stored("best.pt", &smaller);
}

#[test]
fn a_pusher_killed_in_the_middle_of_a_copy_loses_nothing() {
    let mut here = TestBox::new();
    here.start();
    let old = checkpoint(1, 3000);
    here.order_checkpoint("best.pt", &old, 1);
    here.until_stored("best.pt", &old);

    let new = checkpoint(2, 60_000_000);
    here.order_checkpoint("best.pt", &new, 2);
    let partial = here.stored(".best.pt.partial");
    let agent = pid(&here.report()["agent"]);
    until("the copy has begun", || {
        fs::metadata(&partial)
            .is_ok_and(|file| file.len() > 0)
            .then_some(())
    });
    kill_agent(agent);
    until("the agent is dead", || {
        (here.report()["agent"]["alive"] == false).then_some(())
    });
    // Whichever version is there is whole, and the manifest knows it.
    let stored = fs::read(here.stored("best.pt")).unwrap();
    assert!(stored == old || stored == new);
    assert_eq!(here.start()["outcome"], "adopted");
    here.until_stored("best.pt", &new);
    assert!(!partial.exists());
}

#[test]
fn old_epochs_make_room_on_the_box() {
    let mut here = TestBox::new();
    here.change_spec(|spec| spec["push"]["keep_epochs"] = 1.into());
    here.start();
    let epochs: Vec<Vec<u8>> = (1..=3).map(|epoch| checkpoint(epoch, 3000)).collect();
    for (content, epoch) in epochs.iter().zip(1..) {
        let name = format!("epoch_{epoch}.pt");
        here.order_checkpoint(&name, content, epoch);
        here.until_stored(&name, content);
    }
    let weights = here.home().join("runs/yolo/weights");
    until("the old ones are gone", || {
        let left = |epoch: u32| weights.join(format!("epoch_{epoch}.pt")).exists();
        (!left(1) && !left(2) && left(3)).then_some(())
    });
    assert_eq!(fs::read(here.stored("epoch_1.pt")).unwrap(), epochs[0]);
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        // Lazily: a pusher may be at work in it.
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

fn mount_small(folder: &Path) -> bool {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(folder)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        skipped();
    }
    mounted
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped() {
    eprintln!("skipped: no right to mount a small file system here");
}

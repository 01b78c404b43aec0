//! Copies that were killed, and disks that are full.

use super::{Ground, Order, content, receive};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::Command,
};

/// What the child is told: source, fingerprint, home, and after how many files to die.
const VARIABLES: [&str; 4] = ["SOURCE", "FINGERPRINT", "HOME_OF_BOX", "DIES_AT"];

/// The part of the next test that is killed: it only does something in the child that test starts.
#[test]
fn dies_while_copying() {
    let [Ok(source), Ok(fingerprint), Ok(home), Ok(dies_at)] = VARIABLES.map(std::env::var) else {
        return;
    };
    let order = Order {
        source: source.into(),
        fingerprint,
        home: home.into(),
        dest: PathBuf::from("data/set"),
        disk_limit: None,
    };
    let dies_at: u64 = dies_at.parse().expect("a number");
    let copied = receive(&order, &mut |progress| {
        if progress.files == dies_at {
            kill(Pid::this(), Signal::SIGKILL).expect("it dies here");
        }
    });
    panic!("it lived: {copied:?}");
}

fn killed_at(order: &Order, files: usize) {
    let status = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "stage::tests::interrupted::dies_while_copying"])
        .env("SOURCE", &order.source)
        .env("FINGERPRINT", &order.fingerprint)
        .env("HOME_OF_BOX", &order.home)
        .env("DIES_AT", files.to_string())
        .output()
        .expect("it starts")
        .status;
    assert_eq!(status.signal(), Some(9), "{status}");
}

#[test]
fn a_killed_copy_shows_nothing_and_the_next_one_finishes_it() {
    let ground = Ground::new();
    let files = content(&ground.set()).len();
    let tar = ground.tar(".");
    for source in [ground.set(), tar] {
        let order = ground.order(&source);
        for dies_at in [1, files / 2, files] {
            killed_at(&order, dies_at);
            assert!(
                !ground.dest().exists(),
                "half a data set has the name of a whole one"
            );
        }
        receive(&order, &mut |_| {}).expect("it goes on");
        assert_eq!(content(&ground.dest()), content(&ground.set()));
        ground.assert_tidy();
        fs::remove_dir_all(ground.dest()).expect("removed");
    }
}

#[test]
fn a_copy_that_was_killed_goes_on_and_keeps_nothing_foreign() {
    let ground = Ground::new();
    let order = ground.order(&ground.set());
    receive(&order, &mut |_| {}).expect("room for it");
    // As a kill leaves it: the partial folder under its own name, one file missing, one half written.
    let partial = ground.home().join("data/.set.partial");
    fs::rename(ground.dest(), &partial).expect("moved");
    let images: Vec<_> = content(&partial)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    fs::remove_file(partial.join(&images[1])).expect("removed");
    let half = partial.join(images[2].with_file_name(".part-x"));
    fs::write(&half, "ha").expect("written");
    let kept = fs::metadata(partial.join(&images[3]))
        .expect("there")
        .modified()
        .expect("a time");
    receive(&order, &mut |_| {}).expect("it goes on");
    assert_eq!(content(&ground.dest()), content(&ground.set()));
    let now = fs::metadata(ground.dest().join(&images[3]))
        .expect("there")
        .modified()
        .expect("a time");
    assert_eq!(kept, now, "a complete file was written again");

    // Right size, wrong content, as after a description was rewritten in place.
    fs::rename(ground.dest(), &partial).expect("moved");
    let path = partial.join(&images[1]);
    let wrong = vec![7; fs::read(&path).expect("readable").len()];
    fs::write(&path, wrong).expect("written");
    receive(&order, &mut |_| {}).expect("it begins again");
    assert_eq!(content(&ground.dest()), content(&ground.set()));
    ground.assert_tidy();
}

/// A small file system of its own, gone when this is.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _best_effort = Command::new("umount").arg(self.0).output();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn a_full_disk_is_a_clear_error_and_leaves_nothing_with_the_final_name() {
    let ground = Ground::new();
    fs::write(ground.set().join("large"), vec![1; 200_000]).expect("written");
    let home = ground.home();
    let disk = SmallDisk::mount(&home);
    if !Uid::effective().is_root() || disk.is_none() {
        eprintln!("skipped: a small file system can't be mounted here");
        return;
    }
    let tar = ground.tar(".");
    for source in [ground.set(), tar] {
        let error = ground.put(&source).expect_err("it can't fit");
        assert!(
            error.message.contains("free, the data set needs 0."),
            "{error}"
        );
        assert!(!ground.dest().exists());
    }
}

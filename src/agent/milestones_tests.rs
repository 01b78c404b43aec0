use super::*;
use crate::agent::scan::Stamp;

pub(crate) fn at(minutes: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(minutes * 60, 0).unwrap()
}

pub(crate) fn file(name: &str, modified: i64) -> FileLook {
    FileLook {
        name: name.to_owned(),
        path: name.into(),
        stamp: Stamp {
            bytes: 1,
            modified: at(modified),
            inode: 1,
        },
    }
}

pub(crate) fn look(files: impl IntoIterator<Item = FileLook>) -> Look {
    Look {
        files: files.into_iter().collect(),
        status: None,
    }
}

/// A manifest that holds these files as the look has them, pushed when they were modified.
pub(crate) fn manifest(look: &Look, names: &[&str]) -> Manifest {
    let mut manifest = Manifest {
        schema_version: 1,
        run_id: "3f".to_owned(),
        run_name: "yolo".to_owned(),
        updated_at: at(0),
        location: String::new(),
        files: Vec::new(),
    };
    for file in look
        .files
        .iter()
        .filter(|f| names.contains(&f.name.as_str()))
    {
        manifest.settle(
            &file.name,
            Content {
                sha256: String::new(),
                bytes: file.stamp.bytes,
                epoch: None,
                milestone: Milestone::Interval,
                modified_at: file.stamp.modified,
                pushed_at: Some(file.stamp.modified),
                verified_at: Some(file.stamp.modified),
            },
        );
    }
    manifest
}

fn all() -> PushSpec {
    PushSpec {
        every_minutes: Some(30),
        ..PushSpec::every_milestone("/weights")
    }
}

fn decide(
    spec: &PushSpec,
    seen: &Look,
    pushed: Option<&Manifest>,
    trigger: Trigger,
    now: i64,
) -> Vec<(String, Milestone)> {
    due(spec, seen, pushed, trigger, at(0), at(now))
        .into_iter()
        .map(|due| (due.file.name, due.milestone))
        .collect()
}

fn names(due: &[(String, Milestone)]) -> Vec<&str> {
    due.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn roles_come_from_names() {
    assert_eq!(Role::of("epoch_10.pt"), Role::Epoch(10));
    for name in [
        "epoch_.pt",
        "epoch_x.pt",
        "epoch_+1.pt",
        "epoch_1.pth",
        "average.pt",
    ] {
        assert_eq!(Role::of(name), Role::Other, "{name}");
    }
}

#[test]
fn the_first_best_and_each_new_one() {
    let first = look([file("best.pt", 1)]);
    assert_eq!(
        decide(&all(), &first, None, Trigger::Watch, 2),
        [("best.pt".to_owned(), Milestone::FirstBest)]
    );
    let pushed = manifest(&first, &["best.pt"]);
    assert!(decide(&all(), &first, Some(&pushed), Trigger::Watch, 3).is_empty());

    let second = look([file("best.pt", 4)]);
    assert_eq!(
        decide(&all(), &second, Some(&pushed), Trigger::Watch, 5),
        [("best.pt".to_owned(), Milestone::Best)]
    );
    let only_first = PushSpec {
        each_best: false,
        ..all()
    };
    assert!(decide(&only_first, &second, Some(&pushed), Trigger::Watch, 5).is_empty());
}

#[test]
fn a_milestone_that_is_off_is_never_due_before_the_end() {
    let off = PushSpec {
        first_best: false,
        each_best: false,
        epochs: false,
        every_minutes: None,
        ..all()
    };
    let seen = look([
        file("best.pt", 1),
        file("last.pt", 1),
        file("epoch_1.pt", 1),
    ]);
    assert!(decide(&off, &seen, None, Trigger::Watch, 9999).is_empty());
    let at_end = decide(&off, &seen, None, Trigger::End, 9999);
    assert!(
        at_end
            .iter()
            .all(|(_, milestone)| *milestone == Milestone::End)
    );
    assert_eq!(at_end.len(), 3);
    let nor_then = PushSpec {
        at_end: false,
        ..off
    };
    assert!(decide(&nor_then, &seen, None, Trigger::End, 9999).is_empty());
}

#[test]
fn the_last_checkpoint_goes_by_the_clock() {
    let first = look([file("last.pt", 1)]);
    assert!(decide(&all(), &first, None, Trigger::Watch, 29).is_empty());
    assert_eq!(
        decide(&all(), &first, None, Trigger::Watch, 30),
        [("last.pt".to_owned(), Milestone::Interval)]
    );
    // Pushed in minute 31, and changed since.
    let pushed = manifest(&look([file("last.pt", 31)]), &["last.pt"]);
    let changed = look([file("last.pt", 40)]);
    assert!(decide(&all(), &changed, Some(&pushed), Trigger::Watch, 60).is_empty());
    assert_eq!(
        decide(&all(), &changed, Some(&pushed), Trigger::Watch, 61).len(),
        1
    );
}

#[test]
fn the_end_takes_all_that_changed_the_most_valuable_first() {
    let seen = look([
        file("average.pt", 9),
        file("best.pt", 9),
        file("epoch_10.pt", 9),
        file("epoch_20.pt", 9),
        file("last.pt", 9),
    ]);
    let pushed = manifest(&seen, &["epoch_10.pt"]);
    let due = decide(&all(), &seen, Some(&pushed), Trigger::End, 10);
    assert_eq!(
        names(&due),
        ["best.pt", "last.pt", "epoch_20.pt", "average.pt"]
    );
}

#[test]
fn a_request_takes_what_is_not_there() {
    let seen = look([file("average.pt", 1), file("last.pt", 1)]);
    let pushed = manifest(&seen, &["average.pt"]);
    assert_eq!(
        decide(&all(), &seen, Some(&pushed), Trigger::Requested, 1),
        [("last.pt".to_owned(), Milestone::Requested)]
    );
}

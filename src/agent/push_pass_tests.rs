use super::*;
use std::path::PathBuf;

use chrono::TimeDelta;
use gpurun_protocol::manifest::Milestone;

use crate::agent::scan::look;

struct Box {
    root: tempfile::TempDir,
    layout: Layout,
    spec: AgentSpec,
}

impl Box {
    fn new() -> Box {
        Box::pushing_to("weights-are-safe-here")
    }

    fn pushing_to(to: &str) -> Box {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::around(&root.path().join("gpurun/agent.json")).unwrap();
        fs::create_dir_all(layout.folder()).unwrap();
        fs::create_dir_all(root.path().join("runs/yolo/weights")).unwrap();
        let spec = AgentSpec {
            schema_version: 1,
            run_id: "3f".to_owned(),
            run_name: "yolo".to_owned(),
            attempt: 1,
            argv: vec!["true".to_owned()],
            env: Default::default(),
            working_dir: String::new(),
            run_dir: "runs/yolo".to_owned(),
            heartbeat_seconds: 5,
            grace_seconds: 10,
            push: Some(PushSpec {
                every_minutes: Some(30),
                ..PushSpec::every_milestone(to)
            }),
            disk_limit_bytes: None,
        };
        Box { root, layout, spec }
    }

    fn run_file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.root.path().join("runs/yolo").join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn destination(&self) -> PathBuf {
        let to = &self.spec.push.as_ref().unwrap().to;
        self.layout.resolve(to).join("yolo")
    }

    fn pass(&self, trigger: Trigger) -> Outcome {
        self.pass_with(trigger, &|_| true)
    }

    fn pass_with(&self, trigger: Trigger, settled: &dyn Fn(&str) -> bool) -> Outcome {
        let push = self.spec.push.as_ref().unwrap();
        let job = PushJob {
            layout: &self.layout,
            spec: &self.spec,
            push,
            started_at: clock::now() - TimeDelta::hours(1),
            output_from: Default::default(),
        };
        let seen = look(&self.layout.resolve("runs/yolo"), &push.files).unwrap();
        run(&job, &seen, trigger, settled, &|_| {})
    }

    /// The manifest at the destination; every file it holds is there with its hash.
    fn manifest(&self) -> Manifest {
        let bytes = fs::read(self.destination().join("manifest.json")).unwrap();
        let manifest: Manifest = serde_json::from_slice(&bytes).unwrap();
        for entry in &manifest.files {
            let digest = Digest::of_file(&self.destination().join(&entry.file)).unwrap();
            assert!(
                manifest.accounts_for(&entry.file, &digest.sha256),
                "{}",
                entry.file
            );
        }
        manifest
    }
}

/// A whole `.pt`: an archive of one stored entry.
pub(crate) fn checkpoint(seed: u8, bytes: usize) -> Vec<u8> {
    let size = u32::try_from(bytes).unwrap().to_le_bytes();
    let mut file = b"PK\x03\x04".to_vec();
    file.extend([0; 14]);
    file.extend(size.iter().chain(&size));
    file.extend([1, 0, 0, 0, b'w']);
    file.extend(vec![seed; bytes]);
    let offset = u32::try_from(file.len()).unwrap().to_le_bytes();
    file.extend(b"PK\x01\x02");
    file.extend([0; 16]);
    file.extend(size.iter().chain(&size));
    file.extend([1, 0]);
    file.extend([0; 16]);
    file.push(b'w');
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x2f\0\0\0");
    file.extend(offset);
    file.extend([0; 2]);
    file
}

#[test]
fn a_pass_pushes_what_is_due_with_its_companions() {
    let here = Box::new();
    here.run_file("weights/best.pt", &checkpoint(1, 1000));
    here.run_file("weights/last.pt", &checkpoint(2, 1000));
    here.run_file("status.json", br#"{"state":"running","best_epoch":4}"#);
    here.run_file("metrics.jsonl", b"{\"epoch\":4}\n{\"epoch\":5}\n{\"epo");

    let outcome = here.pass(Trigger::Watch);
    assert_eq!(outcome.pushed, ["best.pt", "last.pt"]);
    assert!(
        outcome.failed.is_empty() && outcome.unfit.is_empty(),
        "{outcome:?}"
    );
    let manifest = here.manifest();
    let best = manifest.verified("best.pt").unwrap();
    assert_eq!(
        (best.milestone, best.epoch),
        (Milestone::FirstBest, Some(4))
    );
    let last = manifest.verified("last.pt").unwrap();
    assert_eq!((last.milestone, last.epoch), (Milestone::Interval, Some(5)));
    let history = fs::read(here.destination().join("metrics.jsonl")).unwrap();
    assert_eq!(history, b"{\"epoch\":4}\n{\"epoch\":5}\n");
    // The box has a copy.
    let copy = fs::read(here.layout.manifest()).unwrap();
    assert_eq!(
        copy,
        fs::read(here.destination().join("manifest.json")).unwrap()
    );

    let again = here.pass(Trigger::Watch);
    assert!(again.pushed.is_empty(), "{again:?}");
}

#[test]
fn a_torn_checkpoint_is_never_pushed_and_the_whole_one_before_stays() {
    let here = Box::new();
    let whole = checkpoint(1, 1000);
    here.run_file("weights/best.pt", &whole);
    here.pass(Trigger::Watch);
    for length in [0, 4, 500, 1080] {
        here.run_file("weights/best.pt", &checkpoint(2, 1000)[..length]);
        for trigger in [Trigger::Watch, Trigger::Requested, Trigger::End] {
            let outcome = here.pass(trigger);
            assert!(outcome.pushed.is_empty(), "{length}: {outcome:?}");
            assert_eq!(outcome.unfit.len(), 1);
        }
        let stored = fs::read(here.destination().join("best.pt")).unwrap();
        assert_eq!(stored, whole, "{length}");
    }
    here.manifest();
}

#[test]
fn a_file_that_still_changes_waits() {
    let here = Box::new();
    here.run_file("weights/best.pt", &checkpoint(1, 1000));
    let outcome = here.pass_with(Trigger::Watch, &|_| false);
    assert!(outcome.pushed.is_empty());
    assert_eq!(outcome.unfit[0].0, "best.pt");
    assert!(!here.destination().exists());
}

#[test]
fn what_vanished_or_shrank_at_the_destination_is_pushed_again() {
    let here = Box::new();
    here.run_file("weights/best.pt", &checkpoint(1, 1000));
    here.run_file("weights/epoch_1.pt", &checkpoint(2, 1000));
    here.pass(Trigger::Watch);
    fs::remove_file(here.destination().join("best.pt")).unwrap();
    fs::write(here.destination().join("epoch_1.pt"), b"cut off").unwrap();
    assert_eq!(here.pass(Trigger::Watch).pushed, ["best.pt", "epoch_1.pt"]);
    here.manifest();
}

#[test]
fn a_damaged_manifest_is_kept_and_everything_pushed_again() {
    let here = Box::new();
    here.run_file("weights/best.pt", &checkpoint(1, 1000));
    here.pass(Trigger::Watch);
    fs::write(here.destination().join("manifest.json"), b"{\"torn").unwrap();
    assert_eq!(here.pass(Trigger::Watch).pushed, ["best.pt"]);
    let kept = fs::read(here.destination().join("manifest.damaged.json")).unwrap();
    assert_eq!(kept, b"{\"torn");
    here.manifest();
}

#[test]
fn the_same_content_written_again_is_not_sent_again() {
    let here = Box::new();
    let path = here.run_file("weights/best.pt", &checkpoint(1, 1000));
    here.pass(Trigger::Watch);
    let stored = || {
        fs::metadata(here.destination().join("best.pt"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = stored();
    let later = clock::now() + TimeDelta::minutes(1);
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(later.into())
        .unwrap();
    assert_eq!(here.pass(Trigger::Watch).pushed, ["best.pt"]);
    assert_eq!(stored(), before);
    assert!(here.pass(Trigger::Watch).pushed.is_empty());
}

#[test]
fn a_destination_that_can_not_be_written_fails_and_heals() {
    let here = Box::new();
    here.run_file("weights/best.pt", &checkpoint(1, 1000));
    let to = here.destination().parent().unwrap().to_path_buf();
    fs::write(&to, b"a file where the directory should be").unwrap();
    let outcome = here.pass(Trigger::Watch);
    assert!(
        outcome.pushed.is_empty() && !outcome.failed.is_empty(),
        "{outcome:?}"
    );
    fs::remove_file(&to).unwrap();
    assert_eq!(here.pass(Trigger::Watch).pushed, ["best.pt"]);
}

#[test]
fn old_epochs_leave_the_box_once_they_are_safe() {
    let mut here = Box::new();
    here.spec.push.as_mut().unwrap().keep_epochs = Some(1);
    let paths: Vec<PathBuf> = (1..=3)
        .map(|epoch| {
            here.run_file(
                &format!("weights/epoch_{epoch}.pt"),
                &checkpoint(epoch, 500),
            )
        })
        .collect();
    // Epoch 2 is torn: it is not at the destination, so it stays on the box.
    fs::write(&paths[1], &checkpoint(2, 500)[..300]).unwrap();
    let outcome = here.pass(Trigger::Watch);
    assert_eq!(outcome.pruned, ["epoch_1.pt"]);
    let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
    assert_eq!(left, [false, true, true]);
    assert!(here.manifest().verified("epoch_1.pt").is_some());
    // A pruned file is not missed.
    assert!(here.pass(Trigger::End).pushed.is_empty());
}

#[test]
fn a_killed_pass_leaves_every_file_accounted_for() {
    let here = Box::new();
    here.run_file("weights/best.pt", &checkpoint(1, 1000));
    here.pass(Trigger::Watch);
    let before = fs::read(here.destination().join("manifest.json")).unwrap();
    here.run_file("weights/best.pt", &checkpoint(2, 2000));
    here.pass(Trigger::Watch);

    // As if killed after the rename and before the last write: the manifest announces, the file is new.
    let mut manifest: Manifest = serde_json::from_slice(&before).unwrap();
    let incoming = here.manifest().verified("best.pt").unwrap().clone();
    manifest.announce("best.pt", incoming);
    let bytes = serde_json::to_vec(&manifest).unwrap();
    fs::write(here.destination().join("manifest.json"), bytes).unwrap();
    here.manifest();
    // The trainer is at it again: the new file can't be pushed a second time, and must not be forgotten.
    here.run_file("weights/best.pt", b"PK");
    assert!(here.pass(Trigger::Requested).pushed.is_empty());
    let known = here.manifest().verified("best.pt").unwrap().clone();
    assert_eq!(known.bytes, checkpoint(2, 2000).len() as u64);
}

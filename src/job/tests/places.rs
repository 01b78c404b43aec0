//! Which file is the job, and what its paths must be like.

use super::{arguments, report};
use crate::sink::Keys;
use crate::{
    document::DocumentError,
    job::{Defaults, Job, load},
};
use std::path::Path;

fn load_in(folder: &Path, flags: &[&str]) -> Result<Job, DocumentError> {
    load(arguments(flags), &Defaults::default(), folder)
}

#[test]
fn the_file_named_wins_then_gpurun_toml_then_flags() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let bare = load_in(here, &["--gpu", "cpu"]).expect("a bare box");
    assert_eq!(bare.spec.train, None);
    std::fs::write(
        here.join("gpurun.toml"),
        "name = 'usual'\n[box]\ngpu = 'cpu'\n",
    )
    .expect("written");
    std::fs::write(
        here.join("other.toml"),
        "name = 'other'\n[box]\ngpu = 'cpu'\n",
    )
    .expect("written");
    assert_eq!(
        load_in(here, &[]).expect("the usual file").spec.name,
        "usual"
    );
    assert_eq!(
        load_in(here, &["other.toml"])
            .expect("the named file")
            .spec
            .name,
        "other"
    );
    let shown = report(load_in(here, &["missing.toml"]).expect_err("no such file"));
    assert!(shown.contains("missing.toml: can't be read"), "{shown}");
    let shown = report(load_in(here, &["."]).expect_err("a directory"));
    assert!(shown.contains("a data set goes with --data"), "{shown}");
}

#[test]
fn paths_are_checked_before_anything_is_rented() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let boxes = here.join("state/local/boxes");
    std::fs::create_dir_all(boxes.join("b1/home")).expect("a box");
    std::fs::create_dir_all(here.join("set")).expect("a data set");
    std::fs::write(here.join("set.zip"), "PK").expect("written");
    std::fs::write(here.join("notes.txt"), "words").expect("written");
    let check = |flags: &[&str]| {
        load_in(here, &[&["--gpu", "cpu"], flags].concat())
            .expect("well-formed")
            .check(&boxes, &Keys::default())
            .map_err(report)
    };
    check(&["--data", "set"]).expect("all is well");
    let refusals: [(&[&str], &str); 8] = [
        (&["--data", "nowhere"], "No such file or directory"),
        (&["--data", "set.zip"], "is compressed"),
        (&["--data", "notes.txt"], "is no data set"),
        (
            &["--data", "set", "--to", "state/local/boxes/b1/home/w"],
            "lies inside a box",
        ),
        (
            &["--data", "set", "--to", "x/../state/local/boxes/b1"],
            "lies inside a box",
        ),
        (
            &["--data", "set", "--to", "notes.txt"],
            "is not a directory",
        ),
        (
            &["--data", "set", "--to", "notes.txt/below"],
            "is not a directory",
        ),
        (
            &["--data", "set", "--to", "set/weights"],
            "lies inside the data set",
        ),
    ];
    for (flags, expected) in refusals {
        let shown = check(flags).expect_err(expected).replace("\n  │ ", "");
        assert!(shown.contains(expected), "no '{expected}' in {shown}");
    }
    std::fs::create_dir_all(here.join("runs/set")).expect("a folder");
    std::fs::write(here.join("runs/set/best.pt"), "weights").expect("written");
    let shown = check(&["--data", "set"]).expect_err("weights are there");
    assert!(
        shown.contains("holds weights that gpurun didn't put there"),
        "{shown}"
    );
    check(&["--data", "set", "--name", "second"]).expect("another name has a folder of its own");
    std::fs::write(here.join("runs/set/manifest.json"), "{}").expect("written");
    check(&["--data", "set"]).expect("an earlier run's folder is left alone by the next one");
}

#[test]
fn a_directory_nobody_may_write_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Also for root, /proc refuses new entries; a locked folder does for everybody else.
    let job = load_in(
        folder.path(),
        &["--gpu", "cpu", "--to", "/proc/gpurun-weights"],
    )
    .expect("well-formed");
    let shown = report(
        job.check(Path::new("/nowhere"), &Keys::default())
            .expect_err("nothing can be made there"),
    );
    assert!(shown.contains("can't be written"), "{shown}");
}

#[test]
fn a_store_is_an_address_with_a_bucket_and_takes_a_key() {
    let refused = |to: &str| {
        let flags = ["--gpu", "cpu", "--command", "true", "--to", to];
        let job = load_in(Path::new("/w"), &flags);
        let checked = job.and_then(|job| job.check(Path::new("/nowhere"), &Keys::default()));
        report(checked.expect_err(to))
    };
    for wrong in ["s3://", "s3:///x", "s3://Bad_Bucket/x"] {
        let said = refused(wrong);
        assert!(said.contains("is no folder of a bucket"), "{said}");
    }
    assert!(refused("s3://good-bucket/x").contains("AWS_ACCESS_KEY_ID"));
}

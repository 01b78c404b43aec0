//! Data sets on their way, on real files: whole, cut, hostile, moved and interrupted.

use super::{receive::Order, space::Allotment, *};
use gpurun_dataset::{
    Split,
    check::{CheckOptions, Severity},
    shapes::{ShapesConfig, generate},
};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

mod archives;
mod descriptions;
mod interrupted;
mod streams;

/// A folder with a data set in `set/` and a home for a box in `home/`.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::tempdir().expect("a temporary folder"));
        let config = ShapesConfig {
            train: 3,
            val: 2,
            size: 32,
            ..ShapesConfig::default()
        };
        generate(&ground.set(), config).expect("a data set is drawn");
        fs::create_dir(ground.home()).expect("a home");
        ground
    }

    fn set(&self) -> PathBuf {
        self.0.path().join("set")
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn dest(&self) -> PathBuf {
        self.home().join("data/set")
    }

    fn describe(&self, yaml: &str) {
        fs::write(self.set().join("data.yaml"), yaml).expect("written");
    }

    /// Packs the set as `tar -C folder name` does.
    fn tar(&self, prefix: &str) -> PathBuf {
        let path = self.0.path().join("set.tar");
        let mut tar = tar::Builder::new(fs::File::create(&path).expect("created"));
        tar.append_dir_all(prefix, self.set()).expect("packed");
        tar.finish().expect("closed");
        path
    }

    fn order(&self, source: &Path) -> Order {
        Order {
            source: source.to_path_buf(),
            fingerprint: pack(source).expect("it can travel").fingerprint,
            home: self.home(),
            dest: PathBuf::from("data/set"),
            disk_limit: None,
        }
    }

    fn put(&self, source: &Path) -> Result<(), StageError> {
        receive(&self.order(source), &mut |_| {})
    }

    /// Nothing but the data set is left beside it.
    fn assert_tidy(&self) {
        let names: Vec<_> = fs::read_dir(self.home().join("data"))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names, ["set"]);
    }
}

/// Relative paths and contents of everything visible.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    listing::list(folder)
        .expect("readable")
        .into_iter()
        .map(|item| {
            let bytes = fs::read(folder.join(&item.relative)).expect("readable");
            (item.relative, bytes)
        })
        .collect()
}

#[test]
fn a_directory_arrives_whole_and_a_second_time_nothing_moves() {
    let ground = Ground::new();
    fs::write(ground.set().join(".hidden"), "not part of it").expect("written");
    let mut steps = Vec::new();
    receive(&ground.order(&ground.set()), &mut |step| steps.push(step)).expect("room for it");
    assert_eq!(content(&ground.dest()), content(&ground.set()));
    ground.assert_tidy();
    let last = steps.last().expect("files were copied");
    assert_eq!(last.bytes, last.total_bytes);
    assert_eq!(last.files as usize, content(&ground.set()).len());
    assert!(steps.is_sorted_by_key(|step| step.bytes));

    // Copies, not links: what a run does to its data never reaches the user's.
    let image = content(&ground.set())[1].0.clone();
    let inode = |path: PathBuf| fs::metadata(path).expect("there").ino();
    assert_ne!(
        inode(ground.set().join(&image)),
        inode(ground.dest().join(&image))
    );

    let mut steps = 0;
    receive(&ground.order(&ground.set()), &mut |_| steps += 1).expect("it is there");
    assert_eq!(steps, 0);
}

#[test]
fn a_tar_arrives_like_its_directory_packed_flat_or_one_level_down() {
    for prefix in [".", "my-set"] {
        let ground = Ground::new();
        let tar = ground.tar(prefix);
        ground.put(&tar).expect("room for it");
        assert_eq!(content(&ground.dest()), content(&ground.set()), "{prefix}");
        ground.assert_tidy();
        ground.put(&tar).expect("it is there");
    }
}

#[test]
fn another_data_set_replaces_the_one_that_is_there() {
    let ground = Ground::new();
    ground.put(&ground.set()).expect("room for it");
    fs::write(ground.set().join("images/train/extra.txt"), "new").expect("written");
    fs::remove_file(ground.set().join(&content(&ground.set())[1].0)).expect("removed");
    ground.put(&ground.set()).expect("room for it");
    assert_eq!(content(&ground.dest()), content(&ground.set()));
    ground.assert_tidy();
}

#[test]
fn a_source_that_changed_since_it_was_checked_is_not_put_there() {
    let ground = Ground::new();
    let order = ground.order(&ground.set());
    fs::write(ground.set().join("extra.txt"), "new").expect("written");
    let error = receive(&order, &mut |_| {}).expect_err("it changed");
    assert!(
        error.message.contains("changed after it was checked"),
        "{error}"
    );
    assert!(!ground.dest().exists());
    let tar = ground.tar(".");
    let order = ground.order(&tar);
    fs::write(ground.set().join("more.txt"), "newer").expect("written");
    ground.tar(".");
    let error = receive(&order, &mut |_| {}).expect_err("it changed");
    assert!(
        error.message.contains("changed after it was checked"),
        "{error}"
    );
    assert!(!ground.dest().exists());
}

#[test]
fn links_are_followed_and_broken_ones_named() {
    let ground = Ground::new();
    let outside = ground.0.path().join("elsewhere");
    fs::rename(ground.set().join("images"), &outside).expect("moved");
    symlink(&outside, ground.set().join("images")).expect("linked");
    ground.put(&ground.set()).expect("links are followed");
    let image = ground.dest().join("images");
    assert!(image.symlink_metadata().expect("there").is_dir());
    assert_eq!(content(&ground.dest()), content(&ground.set()));

    symlink("/nowhere/at/all", ground.set().join("lost")).expect("linked");
    let error = pack(&ground.set()).expect_err("a broken link");
    assert!(error.message.contains("set/lost"), "{error}");
    fs::remove_file(ground.set().join("lost")).expect("removed");
    symlink(ground.set(), ground.set().join("loop")).expect("linked");
    let error = pack(&ground.set()).expect_err("a loop");
    assert!(error.message.contains("folders deep"), "{error}");
}

#[test]
fn the_examination_finds_what_is_wrong_and_names_the_file() {
    let ground = Ground::new();
    let scratch = ground.0.path().join("scratch");
    let good = examine(&ground.set(), &scratch, &CheckOptions::default()).expect("readable");
    assert!(!good.has_errors(), "{:?}", good.report.findings);
    assert_eq!(
        good.data.expect("it can travel"),
        pack(&ground.set()).expect("the same")
    );

    let label = content(&ground.set())
        .into_iter()
        .map(|(path, _)| path)
        .find(|path| path.starts_with("labels/train"))
        .expect("a label");
    fs::write(
        ground.set().join(&label),
        "0 0.5 0.5 0.1 0.1\n9 0.5 0.5 0.1 0.1\n",
    )
    .expect("written");
    let tar = ground.tar("my-set");
    for source in [ground.set(), tar.clone()] {
        let bad = examine(&source, &scratch, &CheckOptions::default()).expect("readable");
        assert!(bad.has_errors());
        let finding = bad
            .report
            .findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)
            .expect("an error");
        let place = finding.places.first().expect("a place").to_string();
        let end = format!("{}:2", label.display());
        assert!(
            place.starts_with(&*source.to_string_lossy()) && place.ends_with(&end),
            "{place}"
        );
        assert!(bad.data.is_ok());
    }
    assert_eq!(
        fs::read_dir(&scratch).expect("there").count(),
        0,
        "scratch is left empty"
    );

    fs::remove_file(ground.set().join("data.yaml")).expect("removed");
    let none = examine(&ground.set(), &scratch, &CheckOptions::default()).expect("a folder");
    assert!(none.has_errors());
}

#[test]
fn what_does_not_fit_is_refused_before_a_byte_is_copied() {
    let ground = Ground::new();
    let order = Order {
        disk_limit: Some(1_000),
        ..ground.order(&ground.set())
    };
    let error = receive(&order, &mut |_| panic!("a file was copied")).expect_err("too large");
    assert!(
        error.message.contains("the box has a disk of 0.0 MB"),
        "{error}"
    );
    assert!(error.help.contains("--disk"), "{error}");
    let error = space::check(&ground.home(), u64::MAX, None).expect_err("no disk is that large");
    assert!(
        error.message.contains("free, the data set needs"),
        "{error}"
    );
    let full = Allotment {
        limit: 10,
        used: 10,
    };
    assert!(space::check(&ground.home(), 1, Some(full)).is_err());
    assert!(space::check(&ground.home(), 0, Some(full)).is_ok());
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn the_blood_cells_travel_as_directory_and_as_tar() {
    let shared = std::env::var_os("GPURUN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    let bccd = shared.join("data/bccd");
    if !bccd.is_dir() {
        eprintln!("skipped: {} is not there", bccd.display());
        return;
    }
    let ground = Ground::new();
    let tar = ground.0.path().join("bccd.tar");
    let mut packed = tar::Builder::new(fs::File::create(&tar).expect("created"));
    packed.append_dir_all("bccd", &bccd).expect("packed");
    packed.finish().expect("closed");
    for source in [bccd.clone(), tar] {
        let scratch = ground.0.path().join("scratch");
        let seen = examine(&source, &scratch, &CheckOptions::default()).expect("readable");
        assert!(!seen.has_errors(), "{:?}", seen.report.findings);
        let train = seen.report.stats.split(Split::Train).expect("it is there");
        assert_eq!(train.images, 205);
        let data = seen.data.expect("it can travel");
        assert_eq!(data.config, "data.yaml");
        ground.put(&source).expect("room for it");
        assert_eq!(content(&ground.dest()), content(&bccd));
    }
}

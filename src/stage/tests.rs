//! Data sets on their way, on real files: whole, cut, hostile, moved and interrupted.

use super::{receive::Order, space::Allotment, *};
use gpurun_dataset::{
    DataConfig, Split,
    check::{CheckOptions, Severity},
    shapes::{ShapesConfig, generate},
};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

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
fn a_path_key_is_written_out_of_the_copy_only() {
    let ground = Ground::new();
    let original = format!(
        "path: .\ntrain: images/train\nval: [{}/images/val]\nnames: {{0: 'a: b', 1: \"c\", 2: d}}\n",
        ground.set().display()
    );
    ground.describe(&original);
    ground.put(&ground.set()).expect("it can travel");
    assert_eq!(
        fs::read_to_string(ground.set().join("data.yaml")).expect("there"),
        original
    );
    let text = fs::read_to_string(ground.dest().join("data.yaml")).expect("there");
    assert!(!text.contains("path:"), "{text}");
    let before = DataConfig::load(&ground.set()).expect("the original");
    let after = DataConfig::load(&ground.dest()).expect("the copy");
    assert_eq!(after.names, before.names);
    for split in [Split::Train, Split::Val] {
        let names = |config: &DataConfig| -> Vec<_> {
            let samples = config.samples(split).expect("the images are there");
            samples
                .iter()
                .map(|sample| sample.image.file_name().map(ToOwned::to_owned))
                .collect()
        };
        assert!(!names(&after).is_empty());
        assert_eq!(names(&after), names(&before));
    }
    assert_eq!(after.root, ground.dest());
}

#[test]
fn a_description_that_lies_elsewhere_comes_along() {
    let ground = Ground::new();
    let config = ground.0.path().join("configs/cells.yaml");
    fs::create_dir(config.parent().expect("a parent")).expect("made");
    let text = "path: ../set\ntrain: images/train\nval: images/val\nnames: [a, b, c]\n";
    fs::write(&config, text).expect("written");
    let packed = pack(&config).expect("it can travel");
    assert_eq!(packed.config, "gpurun-data.yaml");
    ground.put(&config).expect("room for it");
    let copy = DataConfig::load(&ground.dest().join(packed.config)).expect("the copy");
    assert_eq!(
        copy.samples(Split::Val)
            .expect("the images are there")
            .len(),
        2
    );
}

#[test]
fn what_leads_out_of_the_data_set_is_refused_with_its_place() {
    let ground = Ground::new();
    for (yaml, expected) in [
        (
            "train: ../other\nval: images/val\nnames: [a]\n",
            "'train' leads to",
        ),
        (
            "train: /abs/images\nval: images/val\nnames: [a]\n",
            "'train' leads to /abs/images",
        ),
        (
            "train: images/train\nval: list.txt\nnames: [a]\n",
            "list.txt:3: /abs/x.jpg",
        ),
        (
            "train: images/train\nval: up.txt\nnames: [a]\n",
            "up.txt:1: ../x.jpg",
        ),
    ] {
        ground.describe(yaml);
        fs::write(
            ground.set().join("list.txt"),
            "images/a.jpg\n# /abs/no.jpg\n/abs/x.jpg\n",
        )
        .expect("written");
        fs::write(ground.set().join("up.txt"), "../x.jpg\n").expect("written");
        let error = pack(&ground.set()).expect_err(yaml);
        assert!(error.message.contains(expected), "{error}");
    }
}

#[test]
fn the_examination_finds_what_is_wrong_and_names_the_file() {
    let ground = Ground::new();
    let scratch = ground.0.path().join("scratch");
    let good = examine(&ground.set(), &scratch, CheckOptions::default()).expect("readable");
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
        let bad = examine(&source, &scratch, CheckOptions::default()).expect("readable");
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
    let none = examine(&ground.set(), &scratch, CheckOptions::default()).expect("a folder");
    assert!(none.has_errors());
}

fn entry(tar: &mut tar::Builder<Vec<u8>>, kind: tar::EntryType, name: &[u8], link: Option<&str>) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_mode(0o644);
    // Past the library's own refusal of such names.
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    if let Some(link) = link {
        header.set_link_name_literal(link).expect("short enough");
    }
    header.set_cksum();
    tar.append(&header, std::io::empty()).expect("appended");
}

#[test]
fn a_hostile_tar_stays_inside_and_a_cut_one_is_noticed() {
    use tar::EntryType;
    let ground = Ground::new();
    let path = ground.0.path().join("bad.tar");
    let cases: [(EntryType, &[u8], Option<&str>, &str); 6] = [
        (EntryType::Regular, b"../escaped", None, "leads out"),
        (EntryType::Regular, b"/tmp/escaped", None, "leads out"),
        (EntryType::Regular, b"a/../../escaped", None, "leads out"),
        (
            EntryType::Symlink,
            b"link",
            Some("/etc"),
            "is a symbolic link",
        ),
        (
            EntryType::Link,
            b"link",
            Some("../../etc/passwd"),
            "leads out",
        ),
        (
            EntryType::Fifo,
            b"pipe",
            None,
            "neither a file nor a folder",
        ),
    ];
    for (kind, name, link, expected) in cases {
        let mut tar = tar::Builder::new(Vec::new());
        entry(&mut tar, kind, name, link);
        fs::write(&path, tar.into_inner().expect("closed")).expect("written");
        let error = ground.put(&path).expect_err(expected);
        assert!(error.message.contains(expected), "{error}");
        assert!(
            !ground.home().join("escaped").exists() && !ground.home().join("data/escaped").exists()
        );
        assert!(!ground.dest().exists());
    }
    let whole = fs::read(ground.tar(".")).expect("readable");
    for cut in [whole.len() - 1024, whole.len() / 2, 700, 0] {
        fs::write(&path, &whole[..cut]).expect("written");
        let error = pack(&path).expect_err("it is cut");
        assert!(error.message.contains("its end mark is missing"), "{error}");
    }
}

#[test]
fn a_hard_link_in_a_tar_becomes_a_file() {
    let ground = Ground::new();
    let path = ground.0.path().join("linked.tar");
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(3);
    header.set_mode(0o644);
    tar.append_data(&mut header, "a.txt", &b"abc"[..])
        .expect("appended");
    entry(&mut tar, tar::EntryType::Link, b"b.txt", Some("a.txt"));
    fs::write(&path, tar.into_inner().expect("closed")).expect("written");
    ground.put(&path).expect("well-formed");
    assert_eq!(
        fs::read(ground.dest().join("b.txt")).expect("there"),
        b"abc"
    );
    assert_eq!(
        fs::metadata(ground.dest().join("b.txt"))
            .expect("there")
            .nlink(),
        1
    );
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

//! Archives that are hostile, cut or odd.

use super::{Ground, pack};
use std::{fs, os::unix::fs::MetadataExt};

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

//! Data sets that travel as one stream.

use super::{Ground, content, pack};
use crate::stage::{Arrival, Parcel, StageError, is_there, receive_stream};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn sent(source: &Path) -> Vec<u8> {
    let mut stream = Vec::new();
    let parcel = Parcel::of(source).expect("it can travel");
    parcel.write(&mut stream).expect("readable");
    stream
}

fn arrival(ground: &Ground, source: &Path) -> Arrival {
    let parcel = Parcel::of(source).expect("it can travel");
    Arrival {
        archive: parcel.is_archive(),
        fingerprint: pack(source).expect("it can travel").fingerprint,
        bytes: parcel.bytes,
        home: ground.home(),
        dest: PathBuf::from("data/set"),
        disk_limit: None,
        description: parcel.description().map(str::to_owned),
    }
}

fn arrive(ground: &Ground, source: &Path, stream: &[u8]) -> Result<(), StageError> {
    receive_stream(&arrival(ground, source), stream)
}

#[test]
fn what_is_sent_is_what_a_copy_would_be() {
    let long = "a".repeat(120);
    for yaml in [
        "train: images/train\nval: images/val\nnames: [a, b, c]\n",
        "path: .\ntrain: images/train\nval: images/val\nnames: [a, b, c]\n",
    ] {
        let ground = Ground::new();
        ground.describe(yaml);
        fs::write(ground.set().join("images/train").join(&long), "long").expect("written");
        fs::write(ground.set().join(".hidden"), "not part of it").expect("written");
        ground.put(&ground.set()).expect("room for it");
        let copy = content(&ground.dest());
        fs::remove_dir_all(ground.dest()).expect("removed");
        let stream = sent(&ground.set());
        arrive(&ground, &ground.set(), &stream).expect("it is whole");
        assert_eq!(content(&ground.dest()), copy);
        ground.assert_tidy();
        let fingerprint = pack(&ground.set()).expect("it can travel").fingerprint;
        assert!(is_there(
            &ground.home(),
            Path::new("data/set"),
            &fingerprint
        ));
        assert!(!is_there(&ground.home(), Path::new("data/set"), "another"));
    }
}

#[test]
fn an_archive_travels_as_it_is() {
    let ground = Ground::new();
    let tar = ground.tar("my-set");
    assert_eq!(sent(&tar), fs::read(&tar).expect("readable"));
    arrive(&ground, &tar, &sent(&tar)).expect("it is whole");
    assert_eq!(content(&ground.dest()), content(&ground.set()));
    ground.assert_tidy();
}

#[test]
fn a_line_that_is_cut_leaves_what_was_there() {
    let ground = Ground::new();
    ground.describe("path: .\ntrain: images/train\nval: images/val\nnames: [a, b, c]\n");
    let sources = [ground.set(), ground.tar(".")];
    for source in sources {
        ground.put(&ground.set()).expect("room for it");
        let before = content(&ground.dest());
        let stream = sent(&source);
        // In the description, in a file's name, in its content, between two files, at the end mark.
        for length in [0, 5, 30, stream.len() / 2, stream.len() - 1024 - 512] {
            let cut = arrive(&ground, &source, &stream[..length]);
            assert!(
                cut.is_err(),
                "{length} of {} bytes were taken",
                stream.len()
            );
            assert_eq!(content(&ground.dest()), before);
            ground.assert_tidy();
        }
    }
}

#[test]
fn another_data_set_or_one_too_large_is_refused() {
    let ground = Ground::new();
    let stream = sent(&ground.set());
    let mut other = arrival(&ground, &ground.set());
    other.fingerprint = "another".to_owned();
    let refused = receive_stream(&other, stream.as_slice()).expect_err("it is another one");
    assert!(
        refused.temporary && refused.message.contains("not the data set"),
        "{refused}"
    );
    let mut small = arrival(&ground, &ground.set());
    small.disk_limit = Some(10);
    let refused = receive_stream(&small, stream.as_slice()).expect_err("there is no room");
    assert!(refused.message.contains("the box has a disk"), "{refused}");
    assert!(!ground.dest().exists());
}

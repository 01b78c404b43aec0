//! The sink against a strict server: in peace, with its line cut, refused, slowed down, killed in the middle.

use std::path::PathBuf;

use gpurun_stores::{S3Fault, S3Server, Wire};

use super::*;
use crate::settings::Environment;
use crate::sink::{Digest, Object, Sink, SinkError, is_store};

struct Place {
    server: S3Server,
    folder: tempfile::TempDir,
}

fn environment(url: &str) -> Environment {
    Environment::fixed([
        ("AWS_ACCESS_KEY_ID", S3Server::KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", S3Server::SECRET),
        ("AWS_ENDPOINT_URL", url),
        ("HOME", "/nowhere"),
    ])
}

fn sink_at(url: &str) -> S3 {
    let access = Access::find(&environment(url)).expect("a key");
    let to = Address::parse("s3://weights/runs").expect("an address");
    S3::of_run(&to, &access, "cells", "3f").expect("a sink")
}

impl Place {
    fn new() -> Self {
        Self {
            server: S3Server::start().expect("a server"),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn sink(&self) -> S3 {
        sink_at(self.server.url())
    }

    /// A file of so many bytes, told apart by its seed, and what it holds.
    fn file(&self, bytes: usize, seed: u64) -> (PathBuf, Digest) {
        let mut random = fastrand::Rng::with_seed(seed);
        let content: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        let path = self.folder.path().join(format!("{seed}.pt"));
        std::fs::write(&path, &content).expect("room");
        let digest = Digest::of_bytes(&content);
        (path, digest)
    }

    fn put(&self, sink: &S3, name: &str, file: &(PathBuf, Digest)) -> Result<(), SinkError> {
        sink.put(&Object {
            name,
            source: &file.0,
            digest: &file.1,
        })
    }
}

const LARGE: usize = (3 * super::upload::PART + 12_345) as usize;

#[test]
fn what_was_put_is_verified_listed_and_got_back() {
    let place = Place::new();
    let sink = place.sink();
    assert_eq!(sink.location(), "s3://weights/runs/cells-3f");
    assert!(is_store(&sink.location()));
    assert_eq!(sink.read("manifest.json").expect("read"), None);
    assert_eq!(sink.list().expect("listed"), []);
    for (name, bytes) in [("best.pt", 1000), ("last.pt", LARGE), ("empty.txt", 0)] {
        let file = place.file(bytes, 7);
        place.put(&sink, name, &file).expect(name);
        sink.verify(name, &file.1).expect(name);
        let copy = place.folder.path().join("copy");
        assert_eq!(sink.get(name, &copy).expect(name), file.1);
        assert_eq!(
            std::fs::read(copy).unwrap(),
            std::fs::read(&file.0).unwrap()
        );
    }
    sink.put_bytes("val/config.yaml", b"a: 1\n").expect("put");
    let found = sink.read("val/config.yaml").expect("read");
    assert_eq!(found.as_deref(), Some(b"a: 1\n".as_slice()));
    let names: Vec<String> = sink.list().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(
        names,
        ["best.pt", "empty.txt", "last.pt", "val/config.yaml"]
    );
    assert_eq!(place.server.open_uploads(), 0);
    // Another run's folder is another folder.
    let access = Access::find(&environment(place.server.url())).expect("a key");
    let to = Address::parse("s3://weights/runs").expect("an address");
    let other = S3::of_run(&to, &access, "cells", "3f2").expect("a sink");
    assert_eq!(other.list().expect("listed"), []);
}

#[test]
fn what_changed_meanwhile_replaces_nothing() {
    let place = Place::new();
    let sink = place.sink();
    for bytes in [1000, LARGE] {
        let old = place.file(bytes, 1);
        place.put(&sink, "best.pt", &old).expect("put");
        let (path, _) = place.file(bytes, 2);
        let promised = place.file(bytes, 3).1;
        let error = place.put(&sink, "best.pt", &(path, promised));
        assert!(matches!(error, Err(SinkError::SourceChanged { .. })));
        sink.verify("best.pt", &old.1).expect("the old one");
        assert_eq!(place.server.open_uploads(), 0);
    }
}

#[test]
fn what_is_damaged_there_is_found_out() {
    let place = Place::new();
    let sink = place.sink();
    let file = place.file(1000, 1);
    place.put(&sink, "best.pt", &file).expect("put");
    let stored = place.server.file("runs/cells-3f/best.pt");
    let mut content = std::fs::read(&stored).unwrap();
    content[500] ^= 1;
    std::fs::write(&stored, content).unwrap();
    let found = sink.verify("best.pt", &file.1);
    assert!(matches!(found, Err(SinkError::Damaged { .. })), "{found:?}");
    let missing = sink.verify("nothing.pt", &file.1);
    assert!(
        matches!(missing, Err(SinkError::Missing { .. })),
        "{missing:?}"
    );
}

#[test]
fn a_line_that_breaks_in_the_middle_costs_only_what_was_under_way() {
    let place = Place::new();
    let wire = Wire::to(place.server.address()).expect("a port");
    let file = place.file(LARGE, 1);
    // One part arrives, no more.
    wire.cut_after(super::upload::PART * 2);
    let cut = place.put(&sink_at(&wire.url()), "best.pt", &file);
    let error = cut.expect_err("the line is cut");
    assert!(error.is_temporary(), "{error}");
    assert_eq!(place.sink().list().expect("listed"), [], "nothing is there");
    let arrived = place.server.count("upload_part");
    assert!(arrived >= 1, "{arrived}");

    wire.mend();
    let before = wire.passed();
    // Another process: it remembers nothing.
    let sink = sink_at(&wire.url());
    place.put(&sink, "best.pt", &file).expect("the rest");
    let sent = wire.passed() - before;
    assert!(sent < file.1.bytes, "{sent} of {} again", file.1.bytes);
    sink.verify("best.pt", &file.1).expect("whole");
    assert_eq!(place.server.open_uploads(), 0);
}

#[test]
fn the_parts_of_another_content_are_not_taken_for_ours() {
    let place = Place::new();
    let wire = Wire::to(place.server.address()).expect("a port");
    wire.cut_after(super::upload::PART * 2);
    let cut = place.put(&sink_at(&wire.url()), "best.pt", &place.file(LARGE, 1));
    assert!(cut.is_err() && place.server.open_uploads() == 1);
    let newer = place.file(LARGE, 2);
    let sink = place.sink();
    place.put(&sink, "best.pt", &newer).expect("put");
    sink.verify("best.pt", &newer.1).expect("the newer one");
}

#[test]
fn a_store_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let place = Place::new();
    let sink = place.sink();
    place.server.arm(S3Fault::SlowDown, 2);
    sink.put_bytes("a", b"a").expect("the third time");
    assert_eq!(place.server.count("put_object"), 3);
    place.server.arm(S3Fault::InternalError, u32::MAX);
    let error = sink.put_bytes("a", b"b").expect_err("for ever");
    assert!(error.is_temporary(), "{error}");
    place.server.arm(S3Fault::InternalError, 0);
    place.server.arm(S3Fault::AccessDenied, u32::MAX);
    let before = place.server.count("put_object");
    let error = sink.put_bytes("a", b"b").expect_err("refused");
    assert!(matches!(error, SinkError::Denied { .. }), "{error}");
    assert_eq!(place.server.count("put_object"), before + 1);
    let unread = sink.list().expect_err("unknown, not empty");
    assert!(matches!(unread, SinkError::Denied { .. }), "{unread}");
}

#[test]
fn a_wrong_key_and_a_store_that_isnt_there_are_told_apart_and_hold_no_secret() {
    let place = Place::new();
    let mut wrong = environment(place.server.url());
    wrong.set("AWS_SECRET_ACCESS_KEY", "another-secret");
    let to = Address::parse("s3://weights/runs").expect("an address");
    let sink = S3::at(to.clone(), &Access::find(&wrong).expect("a key")).expect("a sink");
    let error = sink.probe().expect_err("a wrong key");
    assert!(matches!(error, SinkError::Denied { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("another-secret"));
    let absent = Access::find(&environment("http://127.0.0.1:9")).expect("a key");
    let error = S3::at(to, &absent)
        .expect("a sink")
        .probe()
        .expect_err("nobody");
    assert!(
        error.is_temporary() && error.to_string().contains("refused"),
        "{error}"
    );
    assert!(!error.to_string().contains("ConnectorError"), "{error}");
    let access = Access::find(&environment(place.server.url())).expect("a key");
    let other = Address::parse("s3://another-bucket").expect("an address");
    let error = S3::at(other, &access).expect("a sink").probe();
    assert!(matches!(error, Err(SinkError::Denied { .. })), "{error:?}");
    place.sink().probe().expect("this one");
    assert_eq!(
        place.sink().list().expect("listed"),
        [],
        "it leaves nothing"
    );
}

use super::*;

struct Place {
    root: tempfile::TempDir,
    sink: Directory,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let sink = Directory::of_run(&root.path().join("to"), "yolo", "3f").unwrap();
        Place { root, sink }
    }

    fn source(&self, content: &[u8]) -> PathBuf {
        let path = self.root.path().join("source.pt");
        fs::write(&path, content).unwrap();
        path
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), SinkError> {
        let source = self.source(content);
        let digest = Digest::of_bytes(content);
        self.sink.put(&Object {
            name,
            source: &source,
            digest: &digest,
        })
    }
}

#[test]
fn what_was_put_is_listed_verified_and_got_back() {
    let place = Place::new();
    place.put("best.pt", b"weights").unwrap();
    place.sink.put_bytes("val/config.yaml", b"a: 1\n").unwrap();

    let names: Vec<String> = place
        .sink
        .list()
        .unwrap()
        .into_iter()
        .map(|stored| stored.name)
        .collect();
    assert_eq!(names, ["best.pt", "val/config.yaml"]);
    let digest = Digest::of_bytes(b"weights");
    place.sink.verify("best.pt", &digest).unwrap();
    let copy = place.root.path().join("copy.pt");
    assert_eq!(place.sink.get("best.pt", &copy).unwrap(), digest);
    assert_eq!(fs::read(copy).unwrap(), b"weights");
}

#[test]
fn a_source_that_changed_replaces_nothing() {
    let place = Place::new();
    place.put("best.pt", b"old").unwrap();
    let source = place.source(b"half of the n");
    let error = place.sink.put(&Object {
        name: "best.pt",
        source: &source,
        digest: &Digest::of_bytes(b"half of the new weights"),
    });
    assert!(matches!(error, Err(SinkError::SourceChanged { .. })));
    assert_eq!(place.sink.read("best.pt").unwrap().unwrap(), b"old");
    assert_eq!(fs::read_dir(&place.sink.folder).unwrap().count(), 1);
}

#[test]
fn damage_is_found_by_reading_back() {
    let place = Place::new();
    place.put("best.pt", b"weights").unwrap();
    fs::write(place.sink.folder.join("best.pt"), b"weightz").unwrap();
    let error = place.sink.verify("best.pt", &Digest::of_bytes(b"weights"));
    assert!(matches!(error, Err(SinkError::Damaged { .. })));
}

#[test]
fn a_missing_file_and_an_absent_destination_are_told_apart_from_empty() {
    let place = Place::new();
    assert_eq!(place.sink.list().unwrap(), []);
    assert_eq!(place.sink.read("best.pt").unwrap(), None);
    let error = place.sink.verify("best.pt", &Digest::of_bytes(b""));
    assert!(matches!(error, Err(SinkError::Missing { .. })));

    fs::write(place.root.path().join("to"), b"a file, no folder").unwrap();
    assert!(place.sink.list().is_err());
}

#[test]
fn a_killed_put_leaves_only_a_hidden_file_that_the_next_one_replaces() {
    let place = Place::new();
    fs::create_dir_all(&place.sink.folder).unwrap();
    let partial = place.sink.folder.join(".best.pt.partial");
    fs::write(&partial, b"half").unwrap();
    assert_eq!(place.sink.list().unwrap(), []);
    place.put("best.pt", b"whole").unwrap();
    assert!(!partial.exists());
}

#[test]
fn another_run_of_the_name_keeps_its_folder() {
    let place = Place::new();
    let manifest = Manifest {
        schema_version: 1,
        run_id: "a1".to_owned(),
        run_name: "yolo".to_owned(),
        updated_at: chrono::DateTime::UNIX_EPOCH,
        location: place.sink.location(),
        files: Vec::new(),
    };
    let bytes = serde_json::to_vec(&manifest).unwrap();
    place.sink.put_bytes(manifest::FILE_NAME, &bytes).unwrap();

    let to = place.root.path().join("to");
    let own = Directory::of_run(&to, "yolo", "a1").unwrap();
    assert_eq!(own.folder, to.join("yolo"));
    let other = Directory::of_run(&to, "yolo", "3f").unwrap();
    assert_eq!(other.folder, to.join("yolo-3f"));
}

#[test]
fn no_name_leaves_the_folder() {
    let place = Place::new();
    for name in [
        "",
        "../best.pt",
        "/etc/passwd",
        "a/../../b",
        ".hidden",
        "a/.b",
    ] {
        let error = place.sink.put_bytes(name, b"");
        assert!(matches!(error, Err(SinkError::Name { .. })), "{name}");
    }
    assert!(Directory::of_run(place.root.path(), "..", "3f").is_err());
}

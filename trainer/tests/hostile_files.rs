//! Weights files made to harm: an error, never a panic, and never more memory than is stated.
//!
//! Memory is what the program allocates itself; that of tensors is libtorch's, and held by a limit of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use gpurun_train::checkpoint::{Archive, Checkpoint, CheckpointError, Limits, Problem};
use gpurun_train::checkpoint::{load_state_dict, read_safetensors};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What `Limits` states.
const STATED: usize = 512 << 20;
/// What a damaged file of a few kilobytes may take, with what the tests take beside it.
const SMALL: usize = 16 << 20;

/// One measurement at a time.
static TURN: Mutex<()> = Mutex::new(());

/// What `work` gives, and the most memory it held.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = work();
    (result, MEMORY.peak_usage().saturating_sub(before))
}

/// A checkpoint whose pickle is these bytes, with one storage of zeros.
fn archive(path: &Path, pickle: &[u8], storage: usize) {
    let mut zip = ZipWriter::new(fs::File::create(path).unwrap());
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in [("data.pkl", pickle), ("data/0", &vec![0; storage])] {
        zip.start_file(format!("archive/{name}"), stored).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

fn open(pickle: &[u8]) -> (Result<(), CheckpointError>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.pt");
    archive(&path, pickle, 16);
    measured(|| Archive::open(&path, Limits::default()).map(drop))
}

/// `head`, then `body` as often as the largest pickle has room for it, then the end.
fn filled(head: &[u8], body: &[u8]) -> Vec<u8> {
    let room = Limits::default().pickle_bytes as usize - head.len() - 1;
    let mut pickle = head.to_vec();
    pickle.extend(body.iter().cycle().take(room / body.len() * body.len()));
    pickle.push(b'.');
    pickle
}

/// A text of `length` bytes.
fn text(length: u32) -> Vec<u8> {
    let mut pickle = b"X".to_vec();
    pickle.extend(length.to_le_bytes());
    pickle.extend(vec![b'k'; length as usize]);
    pickle
}

#[test]
fn bombs_end_within_the_stated_memory() {
    let storage_of = |key: u32| {
        let mut head = b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\n".to_vec();
        head.extend(text(key));
        head.extend(b"X\x03\x00\x00\x00cpuK\x04tq\x00");
        head
    };
    // One text of a megabyte, a thousand times in a list.
    let texts = [
        b"\x80\x02",
        &text(1 << 20)[..],
        b"q\x000](",
        &b"h\x00".repeat(1000),
        b"e.",
    ];
    for (name, pickle) in [
        ("values", filled(b"\x80\x02(", b"N")),
        ("lists", filled(b"\x80\x02(", b"]")),
        ("dicts", filled(b"\x80\x02(", b"}")),
        ("marks", filled(b"\x80\x02", b"(")),
        ("the same again", filled(b"\x80\x02N", b"2")),
        ("memos", filled(b"\x80\x02N", b"\x94")),
        ("recalls", filled(b"\x80\x02Nq\x00(", b"h\x00")),
        ("small texts", filled(b"\x80\x02(", b"\x8c\x01a")),
        ("one text in many places", texts.concat()),
        ("storages", filled(&storage_of(1 << 20), b"h\x00Q")),
        ("a list in itself", filled(b"\x80\x02]q\x00", b"h\x00a")),
        (
            "tuples of tuples",
            filled(b"\x80\x02Nq\x00", b"h\x00h\x00\x86q\x00"),
        ),
    ] {
        let (result, peak) = open(&pickle);
        assert!(peak < STATED, "{name}: {} MB", peak >> 20);
        let problem = result.err().map(|error| error.problem);
        assert!(
            matches!(
                problem,
                Some(Problem::TooLarge { .. } | Problem::Damaged(_))
            ),
            "{name}: {problem:?}"
        );
    }
}

/// A dict of so many tensors, each the whole of one storage of `elements` floats.
fn sharing(tensors: u32, elements: u16) -> Vec<u8> {
    let mut pickle = b"\x80\x02}(".to_vec();
    for number in 0..tensors {
        pickle.extend(b"X\x04\x00\x00\x00");
        pickle.extend(format!("{number:04}").bytes());
        pickle.extend(
            b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n",
        );
        pickle.extend(b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuM");
        pickle.extend(elements.to_le_bytes());
        pickle.extend(b"tQK\x00(M");
        pickle.extend(elements.to_le_bytes());
        pickle.extend(b"t(K\x01t\x89ccollections\nOrderedDict\n)RtR");
    }
    pickle.extend(b"u.");
    pickle
}

#[test]
fn tensors_that_share_a_storage_cannot_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.pt");
    let load = |tensors: u32| {
        archive(&path, &sharing(tensors, 60_000), 240_000);
        let (mut archive, root) = Archive::open(&path, Limits::default()).unwrap();
        load_state_dict(&mut archive, &root)
    };
    assert_eq!(load(4).unwrap().len(), 4, "tied weights");
    let error = load(1000).unwrap_err();
    assert!(matches!(error.problem, Problem::TooLarge { .. }), "{error}");
}

#[test]
fn a_header_that_promises_much_takes_little() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.safetensors");
    for length in [u64::MAX, 1 << 40, 100 << 20, 1000] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(
            br#"{"a":{"dtype":"F32","shape":[9999999999],"data_offsets":[0,39999999996]}}"#,
        );
        fs::write(&path, bytes).unwrap();
        let (result, peak) = measured(|| read_safetensors(&path));
        assert!(result.is_err() && peak < SMALL, "{length}: {peak}");
    }
}

/// Files of either kind, as LibreYOLO's users have them.
fn whole_files() -> Vec<(&'static str, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let zipped = dir.path().join("x.pt");
    archive(&zipped, &sharing(3, 4), 16);
    let header = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  "#;
    let mut safetensors = (header.len() as u64).to_le_bytes().to_vec();
    safetensors.extend(header);
    safetensors.extend([0; 8]);
    vec![
        ("pt", fs::read(zipped).unwrap()),
        ("safetensors", safetensors),
    ]
}

fn read_any(path: &Path) {
    // Some damage harms nothing; what matters is that this comes back.
    let _ = read_safetensors(path);
    let _ = Checkpoint::read(path);
    if let Ok((mut archive, root)) = Archive::open(path, Limits::default()) {
        let _ = load_state_dict(&mut archive, &root);
    }
}

#[test]
fn every_truncation_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    for (kind, bytes) in whole_files() {
        let path = dir.path().join(format!("cut.{kind}"));
        let mut refused = 0;
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let ((), peak) = measured(|| read_any(&path));
            assert!(peak < SMALL, "{kind} cut to {length}: {peak}");
            let is_whole = match kind {
                "pt" => Archive::open(&path, Limits::default()).is_ok(),
                _ => read_safetensors(&path).is_ok(),
            };
            refused += usize::from(!is_whole);
        }
        assert_eq!(
            refused,
            bytes.len(),
            "a cut {kind} is never taken for a whole one"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_comes_back_and_takes_little(
        which in 0..2_usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        from_end in any::<bool>(),
    ) {
        let (kind, mut bytes) = whole_files().swap_remove(which);
        // Headers lie at one end: the directory of a zip at the last, that of safetensors at the first.
        let span = if from_end { bytes.len().min(120) } else { bytes.len() };
        for (index, byte) in flips {
            let at = bytes.len() - 1 - index.index(span);
            bytes[at] = byte;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("x.{kind}"));
        fs::write(&path, bytes).unwrap();
        let ((), peak) = measured(|| read_any(&path));
        prop_assert!(peak < SMALL, "{}", peak);
    }

    /// Opcodes that are known, in any order: more of them get through than of noise.
    #[test]
    fn shuffled_opcodes_come_back(opcodes in prop::collection::vec(0..OPCODES.len(), 0..60)) {
        let mut pickle = b"\x80\x02".to_vec();
        opcodes.iter().for_each(|opcode| pickle.extend(OPCODES[*opcode]));
        pickle.push(b'.');
        let (_, peak) = open(&pickle);
        prop_assert!(peak < SMALL, "{}", peak);
    }
}

const OPCODES: &[&[u8]] = &[
    b"(", b"0", b"1", b"2", b"N", b"\x88", b"\x89", b"K\x07", b"M\x00\x10", b"J\xff\xff\xff\xff",
    b"\x8a\x02\xff\x7f", b"G@\x00\x00\x00\x00\x00\x00\x00", b"\x8c\x01a", b"X\x01\x00\x00\x000",
    b"C\x01x", b")", b"\x85", b"\x86", b"\x87", b"t", b"]", b"l", b"a", b"e", b"}", b"d", b"s", b"u",
    b"ctorch._utils\n_rebuild_tensor_v2\n", b"ccollections\nOrderedDict\n", b"ctorch\nFloatStorage\n",
    b"ctorch\nSize\n", b"R", b"\x81", b"b", b"Q", b"q\x00", b"h\x00", b"q\x01", b"h\x01", b"\x94",
    b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ",
];

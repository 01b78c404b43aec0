//! Files written, read, damaged and forged.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use tch::{Kind, Tensor};

use super::archive::{Archive, write};
use super::schema::{Best, Checkpoint, Metadata, Position, TrainingState};
use super::tensor::{StateDict, load_state_dict};
use super::unpickle::unpickle;
use super::value::{Dict, Key, TensorRef, Value};
use super::{Limits, Problem};
use crate::config::{Setting, TrainConfig, record};
use crate::optim::{GroupState, Memory, Method, OptimizerState};
use crate::train::Scaler;

fn dict<T>(entries: Vec<(&str, Value<T>)>) -> Value<T> {
    Value::Dict(
        entries
            .into_iter()
            .map(|(key, value)| (Key::from(key), value))
            .collect(),
    )
}

fn state_dict() -> StateDict {
    vec![
        (
            "conv.weight".to_owned(),
            Tensor::arange(24, (Kind::Float, tch::Device::Cpu)).view([2, 3, 2, 2]),
        ),
        ("bn.num_batches_tracked".to_owned(), Tensor::from(7_i64)),
        (
            "half".to_owned(),
            Tensor::from_slice(&[0.5_f32, -1.0]).to_kind(Kind::BFloat16),
        ),
        (
            "empty".to_owned(),
            Tensor::zeros([0, 3], (Kind::Float, tch::Device::Cpu)),
        ),
        (
            "transposed".to_owned(),
            Tensor::arange(6, (Kind::Float, tch::Device::Cpu))
                .view([2, 3])
                .tr(),
        ),
    ]
}

fn group(weight_decay: f64, parameters: Vec<usize>) -> GroupState {
    GroupState {
        learning_rate: 0.01,
        momentum: 0.9,
        weight_decay,
        nesterov: true,
        parameters,
    }
}

fn checkpoint() -> Checkpoint {
    let average: StateDict = state_dict();
    Checkpoint {
        metadata: Metadata {
            model_family: "yolo9".to_owned(),
            size: "t".to_owned(),
            task: "detect".to_owned(),
            names: vec!["red cell".to_owned(), "žuta".to_owned()],
            imgsz: 320,
            letterbox_pad: "topleft".to_owned(),
        },
        model: average,
        training: Some(TrainingState {
            finished_epochs: 5,
            position: Some(Position {
                step: 12,
                batch: 13,
                loss_sums: vec![1.0, 0.5, 0.25, 0.25],
            }),
            row: Some("{\"epoch\":5}".to_owned()),
            loss: 3.25,
            best: Best {
                map50_95: 0.4,
                map50: 0.6,
                epoch: 3,
            },
            config: record(&TrainConfig::default(), "t", 2)
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            train_model: state_dict()
                .into_iter()
                .map(|(name, t)| (name, t.copy()))
                .collect(),
            ema_updates: Some(130),
            optimizer: Some(OptimizerState {
                method: Method::Sgd,
                memory: [(
                    0,
                    Memory {
                        buffers: vec![Tensor::from_slice(&[1.5_f32, 2.5])],
                        step: None,
                    },
                )]
                .into(),
                groups: vec![group(0.0, vec![0]), group(5e-4, vec![1])],
            }),
            scaler: Some(Scaler {
                scale: 32_768.0,
                steady_steps: 17,
            }),
        }),
    }
}

fn write_to(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("last.pt");
    checkpoint()
        .write(&fs::File::create(&path).unwrap())
        .unwrap();
    path
}

fn assert_same(left: &StateDict, right: &StateDict) {
    assert_eq!(left.len(), right.len());
    for ((left_name, left), (right_name, right)) in left.iter().zip(right) {
        assert_eq!(left_name, right_name);
        assert_eq!(
            (left.size(), left.kind()),
            (right.size(), right.kind()),
            "{left_name}"
        );
        assert!(left.equal(right), "{left_name}");
    }
}

#[test]
fn a_checkpoint_reads_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let read = Checkpoint::read(&write_to(dir.path())).unwrap();
    let original = checkpoint();
    assert_eq!(read.metadata, original.metadata);
    assert_same(&read.model, &original.model);
    let (read, original) = (read.training.unwrap(), original.training.unwrap());
    assert_same(&read.train_model, &original.train_model);
    assert_eq!(
        (read.finished_epochs, read.position),
        (5, original.position)
    );
    assert_eq!(read.row.as_deref(), Some("{\"epoch\":5}"));
    assert_eq!((read.loss, &read.best), (3.25, &original.best));
    assert_eq!(read.config, original.config);
    assert_eq!(read.config.len(), 92);
    assert_eq!(read.ema_updates, Some(130));
    assert_eq!(read.scaler, original.scaler);
    let (read, original) = (read.optimizer.unwrap(), original.optimizer.unwrap());
    assert_eq!(read.groups, original.groups);
    assert_eq!(read.memory.len(), 1);
    assert!(read.memory[&0].buffers[0].equal(&original.memory[&0].buffers[0]));
}

#[test]
fn shared_storages_are_written_once() {
    let weight = Tensor::zeros([1000, 100], (Kind::Float, tch::Device::Cpu));
    let one = dict(vec![("a", Value::Tensor(weight.shallow_clone()))]);
    let two = dict(vec![
        ("a", Value::Tensor(weight.shallow_clone())),
        ("b", Value::Tensor(weight)),
    ]);
    let size = |value| {
        write(Cursor::new(vec![]), value)
            .unwrap()
            .into_inner()
            .len()
    };
    assert!(
        size(&two) < size(&one) + 1000,
        "{} {}",
        size(&one),
        size(&two)
    );
}

#[test]
fn storages_are_aligned_and_stored() {
    let dir = tempfile::tempdir().unwrap();
    let mut zip = zip::ZipArchive::new(fs::File::open(write_to(dir.path())).unwrap()).unwrap();
    for index in 0..zip.len() {
        let entry = zip.by_index(index).unwrap();
        assert_eq!(entry.compression(), zip::CompressionMethod::Stored);
        assert_eq!(entry.data_start().unwrap() % 64, 0, "{:?}", entry.name());
    }
}

#[test]
fn unknown_globals_are_refused_by_name() {
    let pickle = b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00true tR.";
    match unpickle(pickle, &Limits::default()) {
        Err(Problem::Global(name)) => assert_eq!(name, "os.system"),
        other => panic!("{other:?}"),
    }
    let stack_global = b"\x80\x04\x8c\x05posix\x8c\x06system\x93.";
    assert!(matches!(
        unpickle(stack_global, &Limits::default()),
        Err(Problem::Global(_))
    ));
    let torch_function = b"\x80\x02ctorch\nload\n.";
    assert!(matches!(
        unpickle(torch_function, &Limits::default()),
        Err(Problem::Global(_))
    ));
}

#[test]
fn deep_nesting_ends() {
    let mut pickle = vec![0x80, 2];
    pickle.extend(std::iter::repeat_n(b']', 100_000));
    pickle.extend(std::iter::repeat_n(b'a', 99_999));
    pickle.push(b'.');
    assert!(matches!(
        unpickle(&pickle, &Limits::default()),
        Err(Problem::TooLarge { .. })
    ));
}

#[test]
fn a_list_that_holds_itself_ends() {
    let pickle = b"\x80\x02]q\x00h\x00a.";
    assert!(matches!(
        unpickle(pickle, &Limits::default()),
        Err(Problem::TooLarge { .. })
    ));
}

/// Each level is a list of ten times the one before: 10^30 values in 400 bytes.
#[test]
fn doubling_ends() {
    let mut pickle = b"\x80\x02]q\x00".to_vec();
    for level in 0..30_u8 {
        pickle.extend(b"](");
        for _ in 0..10 {
            pickle.extend([b'h', level]);
        }
        pickle.extend([b'e', b'q', level + 1]);
    }
    pickle.push(b'.');
    assert!(matches!(
        unpickle(&pickle, &Limits::default()),
        Err(Problem::TooLarge { .. })
    ));
}

/// `_rebuild_tensor_v2` over a storage of 4 floats.
fn tensor_pickle(offset: u8, size: &[u8], stride: &[u8]) -> Vec<u8> {
    let mut pickle = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((".to_vec();
    pickle.extend(b"X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ");
    pickle.extend([b'K', offset]);
    for shape in [size, stride] {
        pickle.push(b'(');
        shape.iter().for_each(|value| pickle.extend([b'K', *value]));
        pickle.push(b't');
    }
    pickle.extend(b"\x89ccollections\nOrderedDict\n)RtR.");
    pickle
}

#[test]
fn tensors_stay_in_their_storage() {
    let read = |offset, size: &[u8], stride: &[u8]| {
        unpickle(&tensor_pickle(offset, size, stride), &Limits::default())
    };
    assert!(matches!(
        read(0, &[2, 2], &[2, 1]),
        Ok(Value::Tensor(TensorRef { .. }))
    ));
    assert!(read(3, &[1], &[1]).is_ok());
    assert!(read(4, &[0], &[1]).is_ok());
    for (offset, size, stride) in [
        (0, &[5][..], &[1][..]),
        (1, &[4], &[1]),
        (0, &[2, 2], &[200, 1]),
        (0, &[2, 2], &[1]),
        (0, &[255, 255], &[0, 0]),
        (5, &[0], &[1]),
    ] {
        assert!(
            matches!(read(offset, size, stride), Err(Problem::Damaged(_))),
            "{offset} {size:?} {stride:?}"
        );
    }
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.pt");
    for (bytes, words) in [
        (&b""[..], "empty"),
        (b"hello world", "no zip"),
        (b"\x80\x02}q\x00.", "before 1.6"),
        (b"PK\x03\x04 torn", "damaged"),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = Checkpoint::read(&path).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("x.pt"), "{error}");
    }
    assert!(Checkpoint::read(&dir.path().join("none.pt")).is_err());
}

#[test]
fn a_torn_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_to(dir.path());
    let whole = fs::read(&path).unwrap();
    for length in [whole.len() - 1, whole.len() / 2, 100, 5] {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(Checkpoint::read(&path).is_err(), "{length}");
    }
}

#[test]
fn state_dicts_hold_tensors_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.pt");
    let root = dict(vec![("model", dict(vec![("a", Value::Int(1))]))]);
    write(fs::File::create(&path).unwrap(), &root).unwrap();
    let (mut archive, root) = Archive::open(&path, Limits::default()).unwrap();
    let error = load_state_dict(&mut archive, root.get("model").unwrap()).unwrap_err();
    assert!(error.to_string().contains("holds a int"), "{error}");
}

#[test]
fn limits_hold() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_to(dir.path());
    let small = Limits {
        pickle_bytes: 100,
        ..Limits::default()
    };
    assert!(Archive::open(&path, small).is_err());
    let (mut archive, root) = Archive::open(
        &path,
        Limits {
            tensor_bytes: 50,
            ..Limits::default()
        },
    )
    .unwrap();
    assert!(load_state_dict(&mut archive, root.get("model").unwrap()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is flipped, cut or put in: an answer, never a panic.
    #[test]
    fn damage_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = write_to(dir.path());
        let mut bytes = fs::read(&path).unwrap();
        for (index, byte) in flips {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, &bytes).unwrap();
        let _ = Checkpoint::read(&path);
    }

    /// The CRC catches damage to the pickle in a file, so the unpickler meets it bare.
    #[test]
    fn damaged_pickles_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut pickle = pickled_checkpoint();
        for (index, byte) in flips {
            let index = index.index(pickle.len());
            pickle[index] = byte;
        }
        let _ = unpickle(&pickle, &Limits::default());
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = unpickle(&bytes, &Limits::default());
    }

    #[test]
    fn values_read_back(int in any::<i64>(), float in any::<f64>(), text in ".{0,30}") {
        prop_assume!(!float.is_nan());
        let root: Value<Tensor> = dict(vec![
            ("int", Value::Int(int)),
            ("float", Value::Float(float)),
            ("list", Value::List(vec![Value::None, Value::Bool(true), Value::Text(text.clone())])),
            ("tuple", Value::Tuple(vec![Value::Bool(false)])),
            ("empty", Value::Dict(Dict::new())),
        ]);
        let mut storages = super::tensor::StorageTable::default();
        let pickle = super::pickle::pickle(&root, &mut storages).unwrap();
        let read = unpickle(&pickle, &Limits::default()).unwrap();
        prop_assert_eq!(read, dict(vec![
            ("int", Value::Int(int)),
            ("float", Value::Float(float)),
            ("list", Value::List(vec![Value::None, Value::Bool(true), Value::Text(text)])),
            ("tuple", Value::Tuple(vec![Value::Bool(false)])),
            ("empty", Value::Dict(Dict::new())),
        ]));
    }
}

fn pickled_checkpoint() -> Vec<u8> {
    use std::io::Read;
    let dir = tempfile::tempdir().unwrap();
    let mut zip = zip::ZipArchive::new(fs::File::open(write_to(dir.path())).unwrap()).unwrap();
    let mut pickle = vec![];
    zip.by_name("archive/data.pkl")
        .unwrap()
        .read_to_end(&mut pickle)
        .unwrap();
    pickle
}

#[test]
fn a_setting_keeps_its_type() {
    let dir = tempfile::tempdir().unwrap();
    let read = Checkpoint::read(&write_to(dir.path()))
        .unwrap()
        .training
        .unwrap();
    let value = |key: &str| {
        read.config
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
    };
    assert_eq!(value("mosaic_scale"), Some(Setting::Floats(vec![0.5, 1.5])));
    assert_eq!(value("epochs"), Some(Setting::Int(300)));
    assert_eq!(value("data_dir"), Some(Setting::Null));
}

//! Exported networks in the real onnxruntime. Skipped, aloud, where `GPURUN_PYTHON` (or `python3`) has none.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::fs;
use std::path::Path;
use std::process::Command;

use gpurun_train::checkpoint::{Checkpoint, Metadata};
use gpurun_train::model::{Architecture, Family, Network, NetworkConfig, Yolo9Size, YoloxSize};
use gpurun_train::onnx::{ExportConfig, export};
use tch::{Device, Kind, Tensor};

const SIDE: i64 = 96;
const BATCH: i64 = 2;

const SCRIPT: &str = "
import sys, json, numpy, onnx, onnxruntime
folder = sys.argv[1]
onnx.checker.check_model(folder + '/network.onnx', full_check=True)
session = onnxruntime.InferenceSession(folder + '/network.onnx', providers=['CPUExecutionProvider'])
x = numpy.fromfile(folder + '/images', numpy.float32).reshape([-1, 3, 96, 96])
[y] = session.run(['output'], {'images': x})
y.astype(numpy.float32).tofile(folder + '/found')
model = onnx.load(folder + '/network.onnx')
properties = {p.key: p.value for p in model.metadata_props}
shape = [d.dim_value or d.dim_param for d in model.graph.input[0].type.tensor_type.shape.dim]
print(json.dumps({'shape': list(y.shape), 'input': shape, 'properties': properties}))
";

fn python() -> Option<String> {
    let python = std::env::var("GPURUN_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python)
        .args(["-c", "import onnx, onnxruntime"])
        .output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!("skipped: {python} has no onnxruntime (GPURUN_PYTHON names another)");
    None
}

/// A network whose normalisations have seen something.
fn network(architecture: Architecture, classes: i64) -> Network {
    let config = NetworkConfig::scratch(architecture, classes, true);
    let network = Network::new(config, Device::Cpu);
    tch::no_grad(|| {
        for _ in 0..3 {
            let noise = Tensor::rand([2, 3, SIDE, SIDE], (Kind::Float, Device::Cpu));
            let _ = network.forward_train(&noise);
        }
    });
    network
}

fn save(network: &Network, path: &Path) {
    let classes = usize::try_from(network.config().classes()).unwrap();
    let checkpoint = Checkpoint {
        metadata: Metadata {
            model_family: network.family().name().to_owned(),
            size: network.config().architecture().size().to_owned(),
            task: "detect".to_owned(),
            names: (0..classes)
                .map(|class| format!("kind \"{class}\""))
                .collect(),
            imgsz: u32::try_from(SIDE).unwrap(),
            letterbox_pad: "topleft".to_owned(),
        },
        model: network.state_dict(),
        training: None,
    };
    checkpoint.write(&fs::File::create(path).unwrap()).unwrap();
}

fn write(path: &Path, tensor: &Tensor) {
    let values = Vec::<f32>::try_from(tensor.contiguous().flatten(0, -1)).unwrap();
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    fs::write(path, bytes).unwrap();
}

fn read(path: &Path) -> Tensor {
    let bytes = fs::read(path).unwrap();
    let values: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    Tensor::from_slice(&values)
}

/// What our network gives, of centres, sides, objectness and classes.
fn corners_and_scores(found: &Tensor) -> Tensor {
    let classes = found.size()[2] - 5;
    let parts = found
        .transpose(1, 2)
        .split_with_sizes([2, 2, 1, classes], 1);
    let half = &parts[1] / 2.0;
    let scores = &parts[2] * &parts[3];
    Tensor::cat(&[&parts[0] - &half, &parts[0] + &half, scores], 1)
}

/// All sizes with their batch left open; fixed, where it makes the same graph, one.
#[test]
fn onnxruntime_finds_what_we_find() {
    let Some(python) = python() else { return };
    for (size, classes, dynamic) in [
        (Architecture::Yolo9(Yolo9Size::T), 3, false),
        (Architecture::Yolo9(Yolo9Size::T), 3, true),
        (Architecture::Yolo9(Yolo9Size::S), 2, true),
        (Architecture::Yolo9(Yolo9Size::M), 1, true),
        (Architecture::Yolo9(Yolo9Size::C), 80, true),
        (Architecture::Yolox(YoloxSize::N), 3, true),
        (Architecture::Yolox(YoloxSize::S), 80, false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let network = network(size, classes);
        let weights = dir.path().join("network.pt");
        save(&network, &weights);
        let report = export(&ExportConfig {
            model: weights,
            imgsz: None,
            batch: 2,
            dynamic,
            output: None,
        })
        .unwrap();
        assert_eq!(report.input_shape, [2, 3, SIDE, SIDE]);

        let images = Tensor::rand([BATCH, 3, SIDE, SIDE], (Kind::Float, Device::Cpu));
        let expected = network.forward_eval(&images);
        write(&dir.path().join("images"), &images);
        let output = Command::new(&python)
            .args(["-c", SCRIPT])
            .arg(dir.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{size}: {errors}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let anchors = 12 * 12 + 6 * 6 + 3 * 3;
        let shape = match size.family() {
            Family::Yolo9 => [2, 4 + classes, anchors],
            Family::Yolox => [2, anchors, 5 + classes],
        };
        assert_eq!(told["shape"], serde_json::json!(shape));
        assert_eq!(told["properties"]["model_family"], size.family().name());
        assert_eq!(
            told["input"][0],
            if dynamic {
                "batch".into()
            } else {
                serde_json::json!(2)
            }
        );
        let names: serde_json::Value =
            serde_json::from_str(told["properties"]["names"].as_str().unwrap()).unwrap();
        assert_eq!(names["0"], "kind \"0\"");
        assert_eq!(told["properties"]["imgsz"], "96");

        let found = read(&dir.path().join("found")).view(shape);
        let found = match size.family() {
            Family::Yolo9 => found,
            Family::Yolox => corners_and_scores(&found),
        };
        let error = |from: i64, length: i64| {
            let (found, expected) = (
                found.narrow(1, from, length),
                expected.narrow(1, from, length),
            );
            (found - expected).abs().max().double_value(&[])
        };
        // Of the class probabilities, and of the boxes as a share of the image.
        assert!(error(4, classes) < 1e-4, "{size}: {:e}", error(4, classes));
        assert!(
            error(0, 4) / (SIDE as f64) < 1e-4,
            "{size}: {:e}",
            error(0, 4)
        );
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = |name: &str| ExportConfig {
        model: dir.path().join(name),
        imgsz: None,
        batch: 1,
        dynamic: false,
        output: None,
    };
    assert_eq!(export(&config("none.pt")).unwrap_err().exit_code(), 4);
    fs::write(dir.path().join("bad.pt"), b"PK not really").unwrap();
    assert_eq!(export(&config("bad.pt")).unwrap_err().exit_code(), 4);
    assert!(!dir.path().join("bad.onnx").exists());
}

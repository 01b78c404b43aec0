//! From a checkpoint to an ONNX file.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use serde::Serialize;
use serde_json::json;
use tch::Device;

use super::graph::Graph;
use super::proto::{
    Dimension, Extent, Model, OperatorSet, Property, Shape, TensorType, Type, ValueInfo,
};
use crate::checkpoint::{Checkpoint, Metadata, read_safetensors};
use crate::config::Code;
use crate::libtorch;
use crate::model::{Family, Network, NetworkConfig};
use crate::run_dir::replace_file;
use crate::train::TrainError;

/// Of the format, and of the operations: LibreYOLO's.
const IR_VERSION: i64 = 7;
const OPSET: i64 = 13;
const FLOAT: i32 = 1;

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportConfig {
    pub model: PathBuf,
    /// None: the size it was trained at.
    pub imgsz: Option<u32>,
    pub batch: u32,
    /// The number of images is decided when the network is run.
    pub dynamic: bool,
    /// None: beside the checkpoint.
    pub output: Option<PathBuf>,
}

/// What was written, in the form of LibreYOLO's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExportReport {
    pub schema_version: u32,
    pub source_model: String,
    pub model_family: &'static str,
    pub format: &'static str,
    pub output_path: String,
    /// Two decimals.
    pub file_size_mb: f64,
    pub input_shape: [i64; 4],
    pub dynamic: bool,
    pub half: bool,
    pub int8: bool,
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [batch, _, height, width] = self.input_shape;
        writeln!(
            f,
            "{}: ONNX, {batch} x 3 x {height} x {width}, {} MB",
            self.output_path, self.file_size_mb
        )
    }
}

/// Writes the averaged weights of a checkpoint as an ONNX network, in LibreYOLO's form for the family. Images `[B, 3, H,
/// W]` of its pixels go in. Of YOLO9 come out `[B, 4 + classes, anchors]`, boxes x1, y1, x2, y2 in pixels and class
/// probabilities; of YOLOX `[B, anchors, 5 + classes]`, centre and sides in pixels, objectness and class probabilities.
/// Normalisations are folded into the convolutions, and the auxiliary branch is left out.
///
/// # Errors
/// When the checkpoint can't be used, or the file can't be written.
pub fn export(config: &ExportConfig) -> Result<ExportReport, TrainError> {
    libtorch::load().map_err(unusable)?;
    let (state, metadata) = read(&config.model)?;
    let shape = NetworkConfig::of_state_dict(&state).map_err(unusable)?;
    let network = Network::new(shape.for_inference(), Device::Cpu);
    let report = network.load_state_dict(&state).map_err(unusable)?;
    if !report.is_complete() {
        return Err(unusable("tensors of the network are missing"));
    }
    let side = config
        .imgsz
        .or_else(|| metadata.as_ref().map(|metadata| metadata.imgsz))
        .unwrap_or(640)
        .next_multiple_of(32);
    let names = metadata.as_ref().map_or_else(
        || {
            (0..shape.classes())
                .map(|class| format!("class_{class}"))
                .collect()
        },
        |metadata| metadata.names.clone(),
    );
    let padding = metadata.map_or_else(|| "topleft".to_owned(), |metadata| metadata.letterbox_pad);

    let mut graph = Graph::default();
    let images = graph.input("images");
    let predictions = network.export(&mut graph, &images, i64::from(side));
    let side = i64::from(side);
    let batch = if config.dynamic {
        Extent::Symbol("batch".to_owned())
    } else {
        Extent::Value(config.batch.into())
    };
    let anchors = [8, 16, 32]
        .map(|stride| (side / stride).pow(2))
        .iter()
        .sum();
    let output = match shape.family() {
        Family::Yolo9 => [4 + shape.classes(), anchors],
        Family::Yolox => [anchors, 5 + shape.classes()],
    };
    let model = Model {
        ir_version: IR_VERSION,
        producer_name: "gpurun-train".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(graph.finish(
            &predictions,
            value("images", batch.clone(), &[3, side, side]),
            value("output", batch, &output),
        )),
        opset_import: vec![OperatorSet {
            domain: String::new(),
            version: OPSET,
        }],
        metadata_props: properties(&shape, &names, side, &padding, config.dynamic),
    };
    let path = config
        .output
        .clone()
        .unwrap_or_else(|| config.model.with_extension("onnx"));
    let bytes = model.encode_to_vec();
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder).map_err(|error| unwritable(&path, &error))?;
    }
    replace_file(&path, &bytes).map_err(|error| unwritable(&path, &error))?;
    Ok(ExportReport {
        schema_version: 1,
        source_model: config.model.display().to_string(),
        model_family: shape.family().name(),
        format: "onnx",
        output_path: path.display().to_string(),
        file_size_mb: (bytes.len() as f64 / 1e4).round() / 100.0,
        input_shape: [config.batch.into(), 3, side, side],
        dynamic: config.dynamic,
        half: false,
        int8: false,
    })
}

type State = Vec<(String, tch::Tensor)>;

fn read(path: &Path) -> Result<(State, Option<Metadata>), TrainError> {
    if !path.exists() {
        let message = format!("no such weights: {}", path.display());
        return Err(TrainError::new(
            Code::ModelNotFound,
            "FileNotFoundError",
            message,
        ));
    }
    if path
        .extension()
        .is_some_and(|extension| extension == "safetensors")
    {
        return Ok((read_safetensors(path)?, None));
    }
    let checkpoint = Checkpoint::read(path)?;
    Ok((checkpoint.model, Some(checkpoint.metadata)))
}

/// What LibreYOLO reads from a file to run it.
fn properties(
    shape: &NetworkConfig,
    names: &[String],
    side: i64,
    padding: &str,
    dynamic: bool,
) -> Vec<Property> {
    let names: serde_json::Map<String, serde_json::Value> = names
        .iter()
        .enumerate()
        .map(|(class, name)| (class.to_string(), json!(name)))
        .collect();
    let names = serde_json::Value::Object(names).to_string();
    let (size, classes, side) = (
        shape.architecture().size().to_owned(),
        shape.classes().to_string(),
        side.to_string(),
    );
    let dynamic = if dynamic { "True" } else { "False" };
    let pairs = [
        ("schema_version", "1.0"),
        ("libreyolo_version", "1.6.0"),
        ("model_family", shape.family().name()),
        ("size", &size),
        ("model_size", &size),
        ("task", "detect"),
        ("supported_tasks", "[\"detect\"]"),
        ("default_task", "detect"),
        ("nc", &classes),
        ("nb_classes", &classes),
        ("names", &names),
        ("imgsz", &side),
        ("imgsz_h", &side),
        ("imgsz_w", &side),
        ("dynamic", dynamic),
        ("precision", "fp32"),
        ("half", "False"),
        ("segmentation", "false"),
        ("obb", "false"),
        ("letterbox_pad", padding),
    ];
    pairs
        .into_iter()
        .map(|(key, value)| Property {
            key: key.to_owned(),
            value: value.to_owned(),
        })
        .collect()
}

fn value(name: &str, batch: Extent, rest: &[i64]) -> ValueInfo {
    let rest = rest.iter().map(|length| Extent::Value(*length));
    let dim = std::iter::once(batch).chain(rest).map(|extent| Dimension {
        extent: Some(extent),
    });
    ValueInfo {
        name: name.to_owned(),
        r#type: Some(Type {
            tensor_type: Some(TensorType {
                elem_type: FLOAT,
                shape: Some(Shape { dim: dim.collect() }),
            }),
        }),
    }
}

fn unusable(error: impl fmt::Display) -> TrainError {
    TrainError::new(Code::ModelLoadFailed, "RuntimeError", error.to_string())
}

fn unwritable(path: &Path, error: &std::io::Error) -> TrainError {
    TrainError::new(
        Code::IoError,
        "OSError",
        format!("can't write {}: {error}", path.display()),
    )
}

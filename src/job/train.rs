//! The training part of a job: which engine, with what, on which devices.

use super::{
    keys::{KEYS, Key},
    layer::Layer,
    networks,
};
use crate::document::DocumentError;
use gpurun_lifecycle::Engine;
use gpurun_pricing::GpuRequest;

/// What runs on the box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Train {
    /// A model trained on a data set by an engine.
    Model(ModelTraining),
    /// Any command, by its arguments.
    Command(Vec<String>),
}

/// A training by `gpurun-train` or `libreyolo`. What is `None` is left to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelTraining {
    pub(crate) model: String,
    pub(crate) epochs: Option<i64>,
    pub(crate) batch: Option<i64>,
    pub(crate) image_size: Option<String>,
    /// `cpu`, or GPU numbers such as `0,1`.
    pub(crate) device: String,
    pub(crate) save_period: Option<i64>,
    /// Further options of the engine, in the order given.
    pub(crate) args: Vec<(String, String)>,
}

const ENGINES: [(&str, Engine); 3] = [
    ("gpurun-train", Engine::GpurunTrain),
    ("libreyolo", Engine::Libreyolo),
    ("command", Engine::Command),
];

const DEFAULT_MODEL: &str = "yolo9-t";

/// Options that gpurun itself passes to the engine; a second word would contradict the first.
const OURS: [&str; 5] = ["data", "project", "name", "exist_ok", "resume"];

/// Keys that say nothing to a command.
const OF_AN_ENGINE: [Key; 8] = [
    Key::Model,
    Key::Epochs,
    Key::Batch,
    Key::ImageSize,
    Key::Device,
    Key::SavePeriod,
    Key::Extras,
    Key::Args,
];

/// The engine to install and what it shall train; `None` is a bare box. `trailing` is what followed
/// `--`.
pub(crate) fn train(
    layer: &Layer,
    trailing: &[String],
    gpu: &GpuRequest,
) -> Result<(Engine, Option<Train>), DocumentError> {
    let named = layer.word(Key::Engine, &ENGINES)?;
    let options_follow = trailing.first().is_some_and(|first| first.contains('='));
    let command_follows = !trailing.is_empty() && !options_follow;
    let engine = match named {
        Some(engine) => engine,
        None if layer.has(Key::Command) => Engine::Command,
        None if command_follows && !layer.has(Key::Model) => Engine::Command,
        None => Engine::GpurunTrain,
    };
    if engine == Engine::Command {
        return command(layer, trailing).map(|train| (engine, Some(train)));
    }
    if layer.has(Key::Command) {
        return Err(layer.error(
            Key::Command,
            "a command and an engine exclude each other",
            "leave out either train.command or train.engine",
        ));
    }
    let says_how = OF_AN_ENGINE
        .into_iter()
        .any(|key| key != Key::Extras && layer.has(key));
    if !says_how && !layer.has(Key::Source) && trailing.is_empty() {
        return Ok((engine, None));
    }
    if !layer.has(Key::Source) {
        return Err(DocumentError::new(
            "data.source: a training needs a data set",
            "name a directory with a data.yaml, or a .tar of one: --data PATH",
        ));
    }
    let model = model(layer, trailing, gpu, engine)?;
    Ok((engine, Some(Train::Model(model))))
}

fn command(layer: &Layer, trailing: &[String]) -> Result<Train, DocumentError> {
    if let Some(key) = OF_AN_ENGINE.into_iter().find(|key| layer.has(*key)) {
        return Err(layer.error(
            key,
            "says nothing to a command",
            "write it into the command itself, or name an engine that trains: gpurun-train, libreyolo",
        ));
    }
    let from_key = match (layer.list(Key::Command), layer.text(Key::Command)) {
        (Some(arguments), _) => arguments.to_vec(),
        (None, Some(line)) if line.trim().is_empty() => Vec::new(),
        (None, Some(line)) => ["/bin/sh", "-c", line].map(str::to_owned).to_vec(),
        (None, None) => return Ok(Train::Command(trailing_command(trailing)?)),
    };
    if !trailing.is_empty() {
        return Err(layer.error(
            Key::Command,
            "the command is given twice, here and after '--'",
            "leave out one of the two",
        ));
    }
    if from_key.first().is_none_or(String::is_empty) {
        return Err(layer.error(
            Key::Command,
            "the command is empty",
            "name a program: command = [\"python3\", \"train.py\"]",
        ));
    }
    Ok(Train::Command(from_key))
}

fn trailing_command(trailing: &[String]) -> Result<Vec<String>, DocumentError> {
    if trailing.first().is_none_or(String::is_empty) {
        return Err(DocumentError::new(
            "train.command: engine = \"command\" needs a command",
            "--command 'python3 train.py', or the arguments after '--'",
        ));
    }
    Ok(trailing.to_vec())
}

fn model(
    layer: &Layer,
    trailing: &[String],
    gpu: &GpuRequest,
    engine: Engine,
) -> Result<ModelTraining, DocumentError> {
    let model = layer.text(Key::Model).unwrap_or(DEFAULT_MODEL);
    if engine == Engine::GpurunTrain && !networks::is_trainable(model) {
        return Err(layer.error(
            Key::Model,
            format!("gpurun-train has no network `{model}`"),
            format!(
                "it has {} and files ending in .pt or .safetensors; engine = \"libreyolo\" has more",
                networks::names()
            ),
        ));
    }
    let device = device(layer, gpu, engine)?;
    let batch = batch(layer, device.split(',').count())?;
    Ok(ModelTraining {
        model: model.to_owned(),
        epochs: layer.integer(Key::Epochs, 1)?,
        batch,
        image_size: image_size(layer)?,
        device,
        save_period: layer.integer(Key::SavePeriod, 0)?,
        args: options(layer, trailing)?,
    })
}

/// The batch over all GPUs together, which they must be able to share.
fn batch(layer: &Layer, devices: usize) -> Result<Option<i64>, DocumentError> {
    let Some(batch) = layer.integer(Key::Batch, -1)? else {
        return Ok(None);
    };
    if batch == 0 {
        return Err(layer.error(
            Key::Batch,
            "0 images per step train nothing",
            "1 or more, or -1 to measure what fits",
        ));
    }
    let devices = i64::try_from(devices).unwrap_or(i64::MAX);
    if batch > 0 && batch % devices != 0 {
        let below = (batch - batch % devices).max(devices);
        return Err(layer.error(
            Key::Batch,
            format!("{batch} images can't be shared by {devices} GPUs"),
            format!(
                "batch is the sum over all GPUs: {below} or {}",
                below + devices
            ),
        ));
    }
    Ok(Some(batch))
}

/// Beyond it one image fills any GPU's memory.
const LARGEST_SIDE: u32 = 8192;

/// `640` or `480x640`, each side at least 32 pixels.
fn image_size(layer: &Layer) -> Result<Option<String>, DocumentError> {
    let Some(text) = layer.text(Key::ImageSize) else {
        return Ok(None);
    };
    let sides: Vec<Option<u32>> = text.split('x').map(|side| side.parse().ok()).collect();
    let good = sides.len() <= 2
        && sides
            .iter()
            .all(|side| side.is_some_and(|side| (32..=LARGEST_SIDE).contains(&side)));
    if !good {
        return Err(layer.error(
            Key::ImageSize,
            format!("'{text}' is not an image size"),
            format!("a number of pixels from 32 to {LARGEST_SIDE}, such as 640, or HEIGHTxWIDTH such as 480x640"),
        ));
    }
    Ok(Some(text.to_owned()))
}

/// The devices to train on, spelt out; all of the box when the job doesn't say.
fn device(layer: &Layer, gpu: &GpuRequest, engine: Engine) -> Result<String, DocumentError> {
    let count = gpu.count();
    let device = match layer.text(Key::Device).unwrap_or("auto") {
        "auto" => all_devices(gpu),
        "cpu" if count > 0 => {
            return Err(layer.error(
                Key::Device,
                format!("{count} GPUs would be paid for and do nothing"),
                "leave device out to use them, or rent gpu = \"cpu\"",
            ));
        }
        "cpu" => "cpu".to_owned(),
        numbers => gpu_numbers(layer, numbers, count)?,
    };
    if engine == Engine::Libreyolo && device.contains(',') {
        let key = if layer.has(Key::Device) {
            Key::Device
        } else {
            Key::Gpu
        };
        return Err(layer.error(
            key,
            "the command line of libreyolo 1.6.0 can't train on several GPUs",
            "rent one GPU, use engine = \"gpurun-train\", or give a command that runs torchrun",
        ));
    }
    Ok(device)
}

/// `cpu`, or every GPU of the box by number.
pub(crate) fn all_devices(gpu: &GpuRequest) -> String {
    let numbers: Vec<String> = (0..gpu.count()).map(|number| number.to_string()).collect();
    if numbers.is_empty() {
        return "cpu".to_owned();
    }
    numbers.join(",")
}

fn gpu_numbers(layer: &Layer, numbers: &str, count: u32) -> Result<String, DocumentError> {
    let mut seen = Vec::new();
    for part in numbers.split(',') {
        let Ok(number) = part.trim().parse::<u32>() else {
            return Err(layer.error(
                Key::Device,
                format!("'{numbers}' is not a device"),
                "cpu, auto, or GPU numbers from 0 such as 0,1",
            ));
        };
        if number >= count {
            let help = match count {
                0 => "gpu = \"cpu\" rents none".to_owned(),
                _ => format!("GPUs are numbered 0 to {}", count - 1),
            };
            return Err(layer.error(Key::Device, format!("there is no GPU {number}"), help));
        }
        if seen.contains(&number) {
            return Err(layer.error(
                Key::Device,
                format!("GPU {number} is named twice"),
                "each GPU once",
            ));
        }
        seen.push(number);
    }
    Ok(seen
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(","))
}

/// `train.args`, then what followed `--`; a later word for the same option wins.
fn options(layer: &Layer, trailing: &[String]) -> Result<Vec<(String, String)>, DocumentError> {
    let mut options: Vec<(String, String)> = Vec::new();
    let given = layer.pairs(Key::Args).unwrap_or_default();
    for (name, value) in given {
        check_option(name).map_err(|(message, help)| layer.error(Key::Args, message, help))?;
        put(&mut options, name, value);
    }
    for argument in trailing {
        let Some((name, value)) = argument.trim_start_matches('-').split_once('=') else {
            return Err(DocumentError::new(
                format!("'{argument}' after '--' is not an option of the engine"),
                "options are written NAME=VALUE; for a command of your own leave out --engine and --model",
            ));
        };
        check_option(name).map_err(|(message, help)| DocumentError::new(message, help))?;
        put(&mut options, name, value);
    }
    Ok(options)
}

fn put(options: &mut Vec<(String, String)>, name: &str, value: &str) {
    let name = name.replace('-', "_");
    options.retain(|(earlier, _)| *earlier != name);
    options.push((name, value.to_owned()));
}

fn check_option(name: &str) -> Result<(), (String, String)> {
    let plain = name.replace('-', "_");
    let well_formed = plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !well_formed {
        return Err((
            format!("'{name}' is not the name of an option"),
            "letters, digits, '_' and '-'".to_owned(),
        ));
    }
    if OURS.contains(&plain.as_str()) {
        return Err((
            format!("gpurun itself sets {plain}"),
            "leave it out; see `name` and [data]".to_owned(),
        ));
    }
    let own_key = KEYS
        .iter()
        .find(|info| info.section == "train" && info.name == plain);
    match own_key {
        Some(info) => Err((
            format!("{plain} has a key of its own"),
            format!("write it under [train], or --{}", info.flag),
        )),
        None => Ok(()),
    }
}

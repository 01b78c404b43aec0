//! Every key of the command line, in one table: help, default, parser.

use std::path::PathBuf;

use super::device;
use super::error::Code;
use super::key_info::{KeyInfo, classes, count, floats, ids, key, path, resume, text, uint};
use super::settings::{Setting, bool, float, int, pair};
use super::train::{AmpType, Resume, Scheduler};

/// All keys, in the order of the help.
pub const KEYS: &[KeyInfo] = &[
    key(
        "data",
        "the dataset's YAML (required)",
        |c| path(&c.data),
        |c, v| {
            c.data = PathBuf::from(v);
            Ok(())
        },
    ),
    key(
        "model",
        "yolo9-t to train from scratch, or a .pt or .safetensors file",
        |c| text(&c.model),
        |c, v| {
            c.model = v.to_owned();
            Ok(())
        },
    ),
    key(
        "pretrained",
        "load the weights when model is a file",
        |c| Setting::Bool(c.pretrained),
        |c, v| {
            c.pretrained = bool(v)?;
            Ok(())
        },
    ),
    key(
        "epochs",
        "passes over the training images",
        |c| uint(c.epochs),
        |c, v| {
            c.epochs = count(v, 1..=1_000_000)?;
            Ok(())
        },
    ),
    key(
        "batch",
        "images a step, of all devices together; -1 takes what fits the GPU",
        |c| {
            if c.auto_batch {
                Setting::Int(-1)
            } else {
                uint(c.batch)
            }
        },
        |c, v| {
            c.auto_batch = v.trim() == "-1";
            if !c.auto_batch {
                c.batch = count(v, 1..=65_536)?;
            }
            Ok(())
        },
    ),
    key(
        "imgsz",
        "side of the square canvas, rounded up to a multiple of 32",
        |c| uint(c.imgsz),
        |c, v| {
            let side = int(v, 1..=8192).map_err(|(_, reason)| (Code::InvalidImageSize, reason))?;
            c.imgsz = u32::try_from(side)
                .expect("in the range above")
                .next_multiple_of(32);
            Ok(())
        },
    ),
    key(
        "device",
        "auto, cpu, the number of a GPU, or several as in 0,1,2,3",
        |c| text(&c.device),
        |c, v| {
            device::check(v).map_err(|why| (Code::WrongType, why))?;
            c.device = v.to_owned();
            Ok(())
        },
    ),
    key(
        "workers",
        "threads that read images",
        |c| uint(c.workers),
        |c, v| {
            c.workers = count(v, 0..=1024)?;
            Ok(())
        },
    ),
    key(
        "cache",
        "ram keeps all decoded images in memory, as far as half of the free memory goes",
        |c| {
            if c.cache {
                text("ram")
            } else {
                Setting::Bool(false)
            }
        },
        |c, v| {
            c.cache = match v.to_ascii_lowercase().as_str() {
                "ram" => true,
                "disk" => {
                    let reason = "=disk is LibreYOLO's: decoding costs less here than reading raw pixels; take ram";
                    return Err((Code::Unsupported, reason.to_owned()));
                }
                other => bool(other)?,
            };
            Ok(())
        },
    ),
    key(
        "single_cls",
        "all classes as one, called object",
        |c| Setting::Bool(c.selection.single),
        |c, v| {
            c.selection.single = bool(v)?;
            Ok(())
        },
    ),
    key(
        "classes",
        "ids of the classes to learn, as in 0,3,5; other classes' boxes are left out",
        |c| ids(&c.selection.classes),
        |c, v| {
            c.selection.classes = classes(v)?;
            Ok(())
        },
    ),
    key(
        "seed",
        "of weights, order and augmentation",
        |c| Setting::Int(c.seed as i64),
        |c, v| {
            c.seed = int(v, 0..=i64::MAX)?.unsigned_abs();
            Ok(())
        },
    ),
    key(
        "resume",
        "true, or the last.pt to go on from",
        |c| resume(&c.resume),
        |c, v| {
            c.resume = match bool(v) {
                Ok(true) => Resume::Last,
                Ok(false) => Resume::No,
                Err(_) if v.is_empty() => Resume::No,
                Err(_) => Resume::From(PathBuf::from(v)),
            };
            Ok(())
        },
    ),
    key(
        "nbs",
        "images an optimizer step, gathered from several batches; none takes a step a batch",
        |c| c.nbs.map_or(Setting::Null, uint),
        |c, v| {
            c.nbs = match v.trim().to_ascii_lowercase().as_str() {
                "" | "none" => None,
                number => Some(count(number, 1..=1_000_000)?),
            };
            Ok(())
        },
    ),
    key(
        "optimizer",
        "sgd, adam or adamw",
        |c| text(&c.optimizer.to_string()),
        |c, v| {
            c.optimizer = v.to_ascii_lowercase().parse().map_err(|()| {
                let reason = format!("must be sgd, adam or adamw, got `{v}`");
                (Code::Unsupported, reason)
            })?;
            Ok(())
        },
    ),
    key(
        "lr0",
        "learning rate after the warm-up",
        |c| Setting::Float(c.lr0),
        |c, v| {
            c.lr0 = float(v, 1e-9..=100.0)?;
            Ok(())
        },
    ),
    key(
        "momentum",
        "of SGD, after the warm-up",
        |c| Setting::Float(c.momentum),
        |c, v| {
            c.momentum = float(v, 0.0..=0.999_999)?;
            Ok(())
        },
    ),
    key(
        "weight_decay",
        "of convolution weights",
        |c| Setting::Float(c.weight_decay),
        |c, v| {
            c.weight_decay = float(v, 0.0..=1.0)?;
            Ok(())
        },
    ),
    key(
        "nesterov",
        "Nesterov momentum",
        |c| Setting::Bool(c.nesterov),
        |c, v| {
            c.nesterov = bool(v)?;
            Ok(())
        },
    ),
    key(
        "scheduler",
        "linear or cos; of YOLOX yoloxwarmcos",
        |c| text(c.scheduler.name()),
        |c, v| {
            c.scheduler = match v {
                "linear" => Scheduler::Linear,
                "cos" | "warmcos" => Scheduler::Cosine,
                "yoloxwarmcos" => Scheduler::YoloxCosine,
                _ => {
                    return Err((
                        Code::Unsupported,
                        format!("must be linear, cos or yoloxwarmcos, got `{v}`"),
                    ));
                }
            };
            Ok(())
        },
    ),
    key(
        "warmup_epochs",
        "epochs of rising learning rate",
        |c| uint(c.warmup_epochs),
        |c, v| {
            c.warmup_epochs = count(v, 0..=1_000_000)?;
            Ok(())
        },
    ),
    key(
        "warmup_lr_start",
        "learning rate of the first step",
        |c| Setting::Float(c.warmup_lr_start),
        |c, v| {
            c.warmup_lr_start = float(v, 0.0..=100.0)?;
            Ok(())
        },
    ),
    key(
        "min_lr_ratio",
        "last learning rate, as a share of lr0",
        |c| Setting::Float(c.min_lr_ratio),
        |c, v| {
            c.min_lr_ratio = float(v, 0.0..=1.0)?;
            Ok(())
        },
    ),
    key(
        "ema",
        "validate and keep a moving average of the weights",
        |c| Setting::Bool(c.ema),
        |c, v| {
            c.ema = bool(v)?;
            Ok(())
        },
    ),
    key(
        "ema_decay",
        "of that average",
        |c| Setting::Float(c.ema_decay),
        |c, v| {
            c.ema_decay = float(v, 0.0..=0.999_999_9)?;
            Ok(())
        },
    ),
    key(
        "amp",
        "mixed precision on a GPU; a CPU has none",
        |c| Setting::Bool(c.amp),
        |c, v| {
            c.amp = bool(v)?;
            Ok(())
        },
    ),
    key(
        "amp_dtype",
        "float16 or bfloat16",
        |c| text(c.amp_dtype.name()),
        |c, v| {
            c.amp_dtype = match v.to_ascii_lowercase().as_str() {
                "float16" | "fp16" | "half" => AmpType::Float16,
                "bfloat16" | "bf16" => AmpType::BFloat16,
                _ => {
                    let reason = format!("must be float16 or bfloat16, got `{v}`");
                    return Err((Code::WrongType, reason));
                }
            };
            Ok(())
        },
    ),
    key(
        "freeze",
        "layers that stay as they are: how many groups from the input, or names",
        |c| c.freeze.setting(),
        |c, v| {
            c.freeze = v.parse().map_err(|reason| (Code::WrongType, reason))?;
            Ok(())
        },
    ),
    key(
        "aux_weight",
        "weight of YOLO9's auxiliary head's loss, 0 without",
        |c| Setting::Float(c.aux_weight),
        |c, v| {
            c.aux_weight = float(v, 0.0..=10.0)?;
            Ok(())
        },
    ),
    key(
        "mosaic",
        "probability of four-image mosaics",
        |c| Setting::Float(c.mosaic),
        |c, v| {
            c.mosaic = float(v, 0.0..=1.0)?;
            Ok(())
        },
    ),
    KeyInfo {
        name: "mixup",
        alias: Some("mixup_prob"),
        help: "probability of a mosaic blended with another image, of YOLOX",
        get: |c| Setting::Float(c.mixup),
        set: |c, v| {
            c.mixup = float(v, 0.0..=1.0)?;
            Ok(())
        },
    },
    key(
        "mixup_scale",
        "range of the blended image's zoom",
        |c| floats(c.mixup_scale),
        |c, v| {
            c.mixup_scale = pair(v, 0.01..=100.0)?;
            Ok(())
        },
    ),
    key(
        "degrees",
        "largest rotation of a mosaic",
        |c| Setting::Float(c.degrees),
        |c, v| {
            c.degrees = float(v, 0.0..=180.0)?;
            Ok(())
        },
    ),
    key(
        "shear",
        "largest shear of a mosaic, in degrees",
        |c| Setting::Float(c.shear),
        |c, v| {
            c.shear = float(v, 0.0..=89.0)?;
            Ok(())
        },
    ),
    key(
        "hsv_prob",
        "probability of colour jitter",
        |c| Setting::Float(c.hsv_prob),
        |c, v| {
            c.hsv_prob = float(v, 0.0..=1.0)?;
            Ok(())
        },
    ),
    KeyInfo {
        name: "flip_prob",
        alias: Some("fliplr"),
        help: "probability of a left-right flip",
        get: |c| Setting::Float(c.flip_prob),
        set: |c, v| {
            c.flip_prob = float(v, 0.0..=1.0)?;
            Ok(())
        },
    },
    key(
        "translate",
        "mosaic shift, as a share of the side",
        |c| Setting::Float(c.translate),
        |c, v| {
            c.translate = float(v, 0.0..=1.0)?;
            Ok(())
        },
    ),
    key(
        "mosaic_scale",
        "range of the mosaic's zoom",
        |c| floats(c.mosaic_scale),
        |c, v| {
            c.mosaic_scale = pair(v, 0.01..=100.0)?;
            Ok(())
        },
    ),
    key(
        "no_aug_epochs",
        "last epochs without mosaic",
        |c| uint(c.no_aug_epochs),
        |c, v| {
            c.no_aug_epochs = count(v, 0..=1_000_000)?;
            Ok(())
        },
    ),
    key(
        "val",
        "validate while training",
        |c| Setting::Bool(c.val),
        |c, v| {
            c.val = bool(v)?;
            Ok(())
        },
    ),
    key(
        "eval_interval",
        "epochs from one validation to the next",
        |c| uint(c.eval_interval),
        |c, v| {
            c.eval_interval = count(v, 1..=1_000_000)?;
            Ok(())
        },
    ),
    key(
        "max_det",
        "detections kept an image",
        |c| uint(c.max_det),
        |c, v| {
            c.max_det = count(v, 1..=30_000)?;
            Ok(())
        },
    ),
    key(
        "patience",
        "epochs without a better metric before the run ends, 0 for never",
        |c| uint(c.patience),
        |c, v| {
            c.patience = count(v, 0..=1_000_000)?;
            Ok(())
        },
    ),
    key(
        "project",
        "folder of run directories",
        |c| path(&c.project),
        |c, v| {
            c.project = PathBuf::from(v);
            Ok(())
        },
    ),
    key(
        "name",
        "the run directory in it; a number is added when it exists",
        |c| text(&c.name),
        |c, v| {
            if v.is_empty() {
                return Err((Code::OutOfRange, "must not be empty".to_owned()));
            }
            c.name = v.to_owned();
            Ok(())
        },
    ),
    key(
        "exist_ok",
        "write into an existing run directory",
        |c| Setting::Bool(c.exist_ok),
        |c, v| {
            c.exist_ok = bool(v)?;
            Ok(())
        },
    ),
    key(
        "save_period",
        "epochs from one kept epoch_N.pt to the next, 0 for none",
        |c| uint(c.save_period),
        |c, v| {
            c.save_period = u32::try_from(int(v, -1..=1_000_000)?).unwrap_or(0);
            Ok(())
        },
    ),
];

//! The command line: which verb, with which settings.

use gpurun_train::config::{
    Assignment, Code, ConfigError, KEYS, TrainConfig, ValConfig, parse_assignments,
};
use std::path::PathBuf;

use gpurun_train::model::Family;
use gpurun_train::onnx::ExportConfig;
use gpurun_train::train::Window;

/// What to do.
pub(crate) enum Command {
    Help(String),
    Version,
    Train {
        config: Box<TrainConfig>,
        explicit: Vec<Assignment>,
    },
    Val(ValConfig),
    Smoke {
        device: String,
    },
    Export(ExportConfig),
    Profile {
        config: Box<TrainConfig>,
        explicit: Vec<Assignment>,
        window: Window,
    },
}

/// A command and how its result is printed.
pub(crate) struct Invocation {
    pub(crate) command: Command,
    pub(crate) json: bool,
}

const USAGE: &str = "\
Usage: gpurun-train <command> [key=value ...] [--json]

Commands:
  train   train YOLO9 or YOLOX on a dataset in YOLO layout
  val     COCO figures of a checkpoint
  export  write a checkpoint's network as an ONNX file
  profile measure a few training steps: what bounds them, images a second, memory
  smoke   prove that the device works, by a matrix product

Keys are written key=value, --key value or --key=value, alike. `gpurun-train train --help` lists them.
--json prints one JSON document on stdout; the log goes to stderr.
";

/// Reads the arguments, without the program's name.
///
/// # Errors
/// When they make no sense; nothing has been started then.
pub(crate) fn parse(arguments: &[String]) -> Result<Invocation, ConfigError> {
    let json = wants_json(arguments);
    let words: Vec<String> = arguments
        .iter()
        .filter(|word| !is_json(word))
        .cloned()
        .collect();
    let Some((verb, rest)) = words.split_first() else {
        return Err(ConfigError::new(Code::RequiredKey, "no command given")
            .suggest("See gpurun-train --help"));
    };
    let help = rest
        .iter()
        .any(|word| matches!(word.as_str(), "--help" | "-h"));
    let command = match verb.as_str() {
        "--help" | "-h" | "help" => Command::Help(USAGE.to_owned()),
        "--version" | "-V" | "version" => Command::Version,
        "train" if help => Command::Help(train_help()),
        "profile" if help => Command::Help(profile_help()),
        "export" if help => Command::Help(EXPORT_HELP.to_owned()),
        "val" | "smoke" if help => Command::Help(USAGE.to_owned()),
        "train" => {
            let explicit = parse_assignments(rest, is_flag)?;
            Command::Train {
                config: Box::new(TrainConfig::from_assignments(&explicit)?),
                explicit,
            }
        }
        "val" => Command::Val(ValConfig::from_assignments(&parse_assignments(
            rest,
            |_| false,
        )?)?),
        "profile" => {
            let (explicit, window) = profile_settings(rest)?;
            Command::Profile {
                config: Box::new(TrainConfig::from_assignments(&explicit)?),
                explicit,
                window,
            }
        }
        "export" => Command::Export(export_settings(rest)?),
        "smoke" => Command::Smoke {
            device: smoke_device(rest)?,
        },
        other => {
            let error = ConfigError::new(Code::UnknownKey, format!("unknown command `{other}`"));
            return Err(error.suggest("There are train, val, export, profile and smoke"));
        }
    };
    Ok(Invocation { command, json })
}

/// Whether `--json` is among the arguments, which decides the form of errors too.
pub(crate) fn wants_json(arguments: &[String]) -> bool {
    arguments.iter().any(|word| is_json(word))
}

fn is_json(word: &str) -> bool {
    matches!(word, "--json" | "json=true")
}

fn smoke_device(words: &[String]) -> Result<String, ConfigError> {
    let mut device = "auto".to_owned();
    for assignment in parse_assignments(words, |_| false)? {
        match assignment.key.as_str() {
            "device" => device = assignment.value,
            other => {
                return Err(ConfigError::new(
                    Code::UnknownKey,
                    format!("smoke has no key `{other}`"),
                )
                .suggest("It has `device`"));
            }
        }
    }
    Ok(device)
}

/// Those of a training, and how many steps.
fn profile_settings(words: &[String]) -> Result<(Vec<Assignment>, Window), ConfigError> {
    let mut window = Window::default();
    let mut rest = vec![];
    for assignment in parse_assignments(words, is_flag)? {
        let count = match assignment.key.as_str() {
            "steps" => &mut window.steps,
            "warmup" => &mut window.warmup,
            _ => {
                rest.push(assignment);
                continue;
            }
        };
        let least = if assignment.key == "steps" { 2 } else { 0 };
        let value = assignment
            .value
            .parse()
            .ok()
            .filter(|value| (least..=10_000).contains(value));
        *count = value.ok_or_else(|| {
            let key = &assignment.key;
            ConfigError::new(Code::OutOfRange, format!("{key} must be {least} to 10000"))
        })?;
    }
    Ok((rest, window))
}

const EXPORT_HELP: &str = "\
Usage: gpurun-train export model=best.pt [imgsz=N] [batch=1] [dynamic=false] [output=FILE.onnx] [--json]

Writes the network with its averaged weights, without the auxiliary branch and before suppression of duplicates:
images [batch, 3, imgsz, imgsz] in (YOLO9: RGB from 0 to 1; YOLOX: BGR from 0 to 255), [batch, 4 + classes, anchors]
or, of YOLOX, [batch, anchors, 5 + classes] out. imgsz is that of the training, dynamic=true leaves the batch open, and the file lies beside the checkpoint unless output= says where.
";

fn export_settings(words: &[String]) -> Result<ExportConfig, ConfigError> {
    let mut config = ExportConfig {
        model: PathBuf::new(),
        imgsz: None,
        batch: 1,
        dynamic: false,
        output: None,
    };
    for Assignment { key, value } in parse_assignments(words, |key| key == "dynamic")? {
        let wrong = |must: &str| {
            ConfigError::new(
                Code::WrongType,
                format!("{key} must be {must}, got `{value}`"),
            )
        };
        let count = |most: u32| {
            let number = value
                .parse()
                .ok()
                .filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| wrong(&format!("1 to {most}")))
        };
        match key.as_str() {
            "model" => config.model = PathBuf::from(&value),
            "imgsz" => config.imgsz = Some(count(8192)?),
            "batch" => config.batch = count(4096)?,
            "dynamic" => config.dynamic = value.parse().map_err(|_| wrong("true or false"))?,
            "output" => config.output = Some(PathBuf::from(&value)),
            "format" if value == "onnx" => {}
            "format" => {
                let message = format!("format={value} can't be written here, only onnx");
                return Err(ConfigError::new(Code::Unsupported, message).suggest(
                    "LibreYOLO's export reads these checkpoints, and writes other formats",
                ));
            }
            _ => {
                let message = format!("unknown key `{key}`");
                return Err(ConfigError::new(Code::UnknownKey, message)
                    .suggest("There are model, imgsz, batch, dynamic, output and format"));
            }
        }
    }
    if config.model.as_os_str().is_empty() {
        return Err(ConfigError::new(Code::RequiredKey, "`model` is required")
            .suggest("Give the weights: model=runs/train/exp/weights/best.pt"));
    }
    Ok(config)
}

fn profile_help() -> String {
    "Usage: gpurun-train profile data=DATA [steps=20] [warmup=5] [key=value ...] [--json]\n\n\
     Trains some steps and forgets them. The keys of `gpurun-train train` are taken; batch, imgsz, workers and \
     device decide most.\n"
        .to_owned()
}

fn is_flag(key: &str) -> bool {
    KEYS.iter().any(|info| info.name == key && info.is_flag())
}

fn train_help() -> String {
    let defaults = TrainConfig::default();
    let yolox = TrainConfig::of_family(Family::Yolox, &[]).unwrap_or_default();
    let mut help =
        "Usage: gpurun-train train data=DATA.yaml [key=value ...] [--json]\n\n".to_owned();
    for info in KEYS {
        let default = (info.get)(&defaults).to_string();
        let of_yolox = (info.get)(&yolox).to_string();
        let default = match (default.as_str(), info.name) {
            ("", _) => default,
            (_, "model") => format!(" [{default}]"),
            _ if default == of_yolox => format!(" [{default}]"),
            _ => format!(" [{default}; YOLOX: {of_yolox}]"),
        };
        help.push_str(&format!("  {:<16} {}{default}\n", info.name, info.help));
    }
    help.push_str("\nExit codes: 0 done, 1 failure, 2 settings, 3 dataset, 4 model, 130 SIGINT, 143 SIGTERM.\n");
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> Result<Invocation, ConfigError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&words)
    }

    #[test]
    fn verbs_are_read() {
        let invocation = command(&["train", "data=d.yaml", "--epochs", "3", "--json"]).unwrap();
        let Command::Train { config, explicit } = invocation.command else {
            panic!("no train")
        };
        assert_eq!(
            (config.epochs, explicit.len(), invocation.json),
            (3, 2, true)
        );
        assert!(matches!(
            command(&["smoke", "--device", "cpu"]).unwrap().command,
            Command::Smoke { device } if device == "cpu"
        ));
        assert!(matches!(
            command(&["--version"]).unwrap().command,
            Command::Version
        ));
    }

    #[test]
    fn help_names_every_key() {
        let Command::Help(help) = command(&["train", "--help"]).unwrap().command else {
            panic!("no help")
        };
        assert!(KEYS.iter().all(|info| help.contains(info.name)));
    }

    #[test]
    fn nonsense_is_refused() {
        for words in [&[][..], &["fly"], &["smoke", "speed=1"], &["train"]] {
            assert_eq!(
                command(words).err().map(|e| e.code.exit_code()),
                Some(2),
                "{words:?}"
            );
        }
    }
}

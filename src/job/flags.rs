//! The same keys as flags, made from the same table.

use super::{
    find::DEFAULT_FILE,
    keys::{KEYS, Key, KeyInfo, Shape},
    layer::{Layer, Origin, Value},
};
use clap::{Arg, ArgAction, ArgMatches, Command, builder::ValueHint};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Any: what is installed is the same for all.
const SOME_GPU: &str = "4090x1";

/// The job on the command line: a file, a flag for every key, and what follows `--`.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobArgs {
    /// The job file; `./gpurun.toml` when there is one and nothing else says what to do.
    pub(crate) file: Option<PathBuf>,
    /// The keys given as flags.
    pub(crate) layer: Layer,
    /// What follows `--`: the command, or more options for the engine.
    pub(crate) trailing: Vec<String>,
}

impl JobArgs {
    /// For a look at a data set alone: it may stand where the job file does, and without a job it is trained on a
    /// rented GPU.
    #[must_use]
    pub(crate) fn of_data_set(mut self, current: &Path) -> Self {
        let is_data_set = |path: &PathBuf| {
            let ending = path.extension().and_then(OsStr::to_str);
            current.join(path).is_dir() || matches!(ending, Some("yaml" | "yml" | "tar"))
        };
        if let Some(data) = self.file.take_if(|path| is_data_set(path)) {
            let data = Value::Text(data.to_string_lossy().into_owned());
            self.layer.insert(Key::Source, data, Origin::Flag);
        }
        let has_job = self.file.is_some() || current.join(DEFAULT_FILE).is_file();
        if !has_job && self.layer.text(Key::Gpu).is_none() {
            let gpu = Value::Text(SOME_GPU.to_owned());
            self.layer.insert(Key::Gpu, gpu, Origin::Flag);
        }
        self
    }
}

impl clap::Args for JobArgs {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("job")
            .value_name("JOB")
            .value_parser(clap::value_parser!(PathBuf))
            .value_hint(ValueHint::FilePath)
            .help("Job file in TOML [default: ./gpurun.toml if it is there]");
        let trailing = Arg::new("trailing")
            .value_name("ARGUMENTS")
            .last(true)
            .num_args(1..)
            .help("The command to run, or NAME=VALUE options for the engine");
        command.arg(file).args(KEYS.iter().map(flag)).arg(trailing)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for JobArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut job = Self {
            file: matches.get_one::<PathBuf>("job").cloned(),
            trailing: strings(matches, "trailing"),
            layer: Layer::default(),
        };
        for info in &KEYS {
            if let Some(value) = value(matches, info)? {
                job.layer.insert(info.key, value, Origin::Flag);
            }
        }
        Ok(job)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn flag(info: &'static KeyInfo) -> Arg {
    let (action, hint) = match info.shape {
        Shape::List | Shape::Pairs => (ArgAction::Append, ValueHint::Other),
        Shape::Command => (ArgAction::Set, ValueHint::CommandString),
        Shape::Text | Shape::Integer | Shape::Quantity => (ArgAction::Set, ValueHint::Unknown),
    };
    let heading = match info.section {
        "" => "Job",
        "box" => "Box",
        "data" => "Data",
        "train" => "Training",
        "checkpoints" => "Checkpoints",
        _ => "When to stop paying",
    };
    Arg::new(info.flag)
        .long(info.flag)
        .value_name(info.value)
        .action(action)
        .value_hint(hint)
        // `--batch -1`.
        .allow_negative_numbers(true)
        .help(info.help)
        .help_heading(heading)
}

fn strings(matches: &ArgMatches, id: &str) -> Vec<String> {
    matches
        .get_many::<String>(id)
        .map(|values| values.cloned().collect())
        .unwrap_or_default()
}

fn value(matches: &ArgMatches, info: &KeyInfo) -> Result<Option<Value>, clap::Error> {
    let given = match info.shape {
        Shape::List | Shape::Pairs => strings(matches, info.flag),
        _ => matches
            .get_one::<String>(info.flag)
            .cloned()
            .into_iter()
            .collect(),
    };
    let Some(first) = given.first() else {
        return Ok(None);
    };
    Ok(Some(match info.shape {
        Shape::List => Value::List(given),
        Shape::Pairs => Value::Pairs(
            given
                .iter()
                .map(|pair| name_and_value(info, pair))
                .collect::<Result<_, _>>()?,
        ),
        _ => Value::Text(first.clone()),
    }))
}

fn name_and_value(info: &KeyInfo, text: &str) -> Result<(String, String), clap::Error> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(clap::Error::raw(
            clap::error::ErrorKind::ValueValidation,
            format!("--{} wants NAME=VALUE, not '{text}'\n", info.flag),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::keys::Key;
    use clap::{Args, FromArgMatches};

    fn parse(arguments: &[&str]) -> Result<JobArgs, clap::Error> {
        let command = JobArgs::augment_args(Command::new("launch"));
        let matches = command.try_get_matches_from([&["launch"], arguments].concat())?;
        JobArgs::from_arg_matches(&matches)
    }

    #[test]
    fn every_key_is_a_flag() {
        let command = JobArgs::augment_args(Command::new("launch"));
        command.clone().debug_assert();
        for info in &KEYS {
            let sample = match info.shape {
                Shape::Pairs => "lr0=0.01",
                _ => "12",
            };
            let job = parse(&[&format!("--{}", info.flag), sample]).expect(info.flag);
            assert!(job.layer.has(info.key), "--{}", info.flag);
        }
    }

    #[test]
    fn lists_repeat_and_negative_numbers_are_values() {
        let job = parse(&[
            "job.toml",
            "--batch",
            "-1",
            "--extra",
            "lora",
            "--extra",
            "onnx",
            "--arg",
            "lr0=0.02",
            "--",
            "workers=2",
        ])
        .expect("well-formed");
        assert_eq!(job.file, Some(PathBuf::from("job.toml")));
        assert_eq!(job.layer.text(Key::Batch), Some("-1"));
        assert_eq!(
            job.layer.list(Key::Extras),
            Some(&["lora".to_owned(), "onnx".to_owned()][..])
        );
        assert_eq!(
            job.layer.pairs(Key::Args),
            Some(&[("lr0".to_owned(), "0.02".to_owned())][..])
        );
        assert_eq!(job.trailing, ["workers=2"]);
    }

    #[test]
    fn an_arg_without_a_value_is_refused() {
        let error = parse(&["--arg", "lr0"]).expect_err("no value");
        assert!(error.to_string().contains("--arg wants NAME=VALUE"));
    }
}

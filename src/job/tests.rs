//! Whole jobs: text and flags in, a spec, a resolved plan or an error with its place out.

use super::{
    file,
    flags::JobArgs,
    keys::{KEYS, Key},
    layer::Layer,
    train::Train,
    *,
};
use crate::document::{Document, DocumentError};
use clap::{Args, FromArgMatches};
use gpurun_lifecycle::{Engine, TeardownPolicy};
use gpurun_pricing::{Gigabytes, GpuRequest, HourlyRate, Hours, Money};
use rust_decimal_macros::dec;
use std::path::{Path, PathBuf};

mod examples;
mod places;
mod reference;
mod refusals;
mod resolved;

const HERE: &str = "/work-place";

fn at_home() -> WorkPlace {
    WorkPlace::new(None, "3f")
}

fn arguments(flags: &[&str]) -> JobArgs {
    let command = JobArgs::augment_args(clap::Command::new("launch"));
    let matches = command
        .try_get_matches_from([&["launch"], flags].concat())
        .expect("flags that clap accepts");
    JobArgs::from_arg_matches(&matches).expect("well-formed values")
}

fn build(text: &str, flags: &[&str]) -> Result<JobSpec, DocumentError> {
    let flags = arguments(flags);
    let file = match text {
        "" => Layer::default(),
        text => file::read(&Document::new("jobs/job.toml", text))?,
    };
    let layer = file.overlaid(flags.layer);
    JobSpec::build(
        &layer,
        &flags.trailing,
        &Defaults::default(),
        Path::new(HERE),
    )
}

fn spec(text: &str, flags: &[&str]) -> JobSpec {
    build(text, flags).expect("a good job")
}

/// The whole report as a person sees it without colours.
fn report(error: DocumentError) -> String {
    let mut text = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .render_report(&mut text, &error)
        .expect("strings can be written to");
    text
}

fn refused(text: &str, flags: &[&str], expected: &[&str]) {
    let error = build(text, flags).expect_err(&format!("{text} {flags:?} is accepted"));
    let shown = report(error);
    for part in expected {
        assert!(shown.contains(part), "no '{part}' in:\n{shown}");
    }
}

const FULL: &str = r#"
name = "yolo"

[box]
provider = "vast"
gpu = "4090x8"
disk = "250GB"
image = "pytorch/pytorch"
max_price = 3.50
boot_deadline = "8m"
volume = "vol-1:/workspace"

[data]
source = "sets/blood.tar"

[train]
engine = "gpurun-train"
model = "yolo9-s"
epochs = 100
batch = 128
imgsz = 640
save_period = 5
extras = ["onnx"]
args = { lr0 = 0.02, mosaic = false, note = "a b" }

[checkpoints]
to = "../weights"
files = ["best.pt"]
milestones = ["first-best", "end", "every 20m"]

[stop]
max_hours = 16
max_cost = "$60"
policy = "ski-rental"
grace = "1h"
away = "10h"
"#;

#[test]
fn every_key_of_a_file_arrives() {
    let job = spec(FULL, &[]);
    assert_eq!(job.name, "yolo");
    assert_eq!(job.provider.as_deref(), Some("vast"));
    assert_eq!(
        job.gpu,
        "4090x8".parse::<GpuRequest>().expect("a known GPU")
    );
    assert_eq!(job.disk, Some(Gigabytes::new(dec!(250))));
    assert_eq!(job.image.as_deref(), Some("pytorch/pytorch"));
    assert_eq!(job.max_price, Some(HourlyRate::new(dec!(3.50))));
    assert_eq!(job.boot_seconds, Some(8 * 60));
    let volume = job
        .volume
        .as_ref()
        .map(|volume| (volume.id.as_str(), volume.path.as_str()));
    assert_eq!(volume, Some(("vol-1", "/workspace")));
    // Paths of the file start at its directory, wherever gpurun is called.
    assert_eq!(
        job.data,
        Some(PathBuf::from("/work-place/jobs/sets/blood.tar"))
    );
    assert_eq!(job.checkpoints.to, "/work-place/weights");
    assert_eq!(job.engine, Engine::GpurunTrain);
    assert_eq!(job.extras, ["onnx"]);
    let Some(Train::Model(model)) = &job.train else {
        panic!("a model is trained");
    };
    assert_eq!(model.model, "yolo9-s");
    assert_eq!(model.epochs, Some(100));
    assert_eq!(model.batch, Some(128));
    assert_eq!(model.image_size.as_deref(), Some("640"));
    assert_eq!(model.device, "0,1,2,3,4,5,6,7");
    assert_eq!(model.save_period, Some(5));
    let args: Vec<String> = model
        .args
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(args, ["lr0=0.02", "mosaic=false", "note=a b"]);
    let pushed = &job.checkpoints;
    assert_eq!(pushed.files, ["best.pt"]);
    assert_eq!(
        (
            pushed.first_best,
            pushed.each_best,
            pushed.epochs,
            pushed.every_minutes,
            pushed.at_end
        ),
        (true, false, false, Some(20), true)
    );
    assert_eq!(job.stop.max_hours, Some(Hours::new(dec!(16))));
    assert_eq!(job.stop.max_cost, Some(Money::new(dec!(60))));
    assert_eq!(job.stop.policy, TeardownPolicy::SkiRental);
    assert_eq!(job.stop.grace_seconds, 3_600);
    assert_eq!(job.away_seconds, Some(36_000));
}

#[test]
fn the_full_example_uses_every_key_but_command_and_device() {
    let layer = file::read(&Document::new("job.toml", FULL)).expect("a good file");
    for info in &KEYS {
        let left_out = [Key::Command, Key::Device].contains(&info.key);
        assert_eq!(layer.has(info.key), !left_out, "{}", info.path());
    }
}

#[test]
fn flags_win_over_the_file_and_their_paths_start_here() {
    let job = spec(
        FULL,
        &[
            "--name",
            "two",
            "--gpu",
            "cpu",
            "--data",
            "mine",
            "--to",
            "/w",
            "--max-cost",
            "5",
            "--batch",
            "-1",
        ],
    );
    assert_eq!(job.name, "two");
    assert_eq!(job.gpu, GpuRequest::Cpu);
    assert_eq!(job.data, Some(PathBuf::from("/work-place/mine")));
    assert_eq!(job.checkpoints.to, "/w");
    assert_eq!(job.stop.max_cost, Some(Money::new(dec!(5))));
    let Some(Train::Model(model)) = job.train else {
        panic!("a model is trained");
    };
    assert_eq!((model.batch, model.device.as_str()), (Some(-1), "cpu"));
}

#[test]
fn flags_alone_are_a_job() {
    let job = spec("", &["--gpu", "cpu", "--data", "blood.tar"]);
    assert_eq!(job.name, "blood");
    assert_eq!(job.engine, Engine::GpurunTrain);
    assert_eq!(job.checkpoints.to, "/work-place/runs");
    assert!(job.checkpoints.each_best && job.checkpoints.epochs);
    let job = spec("", &["--gpu", "cpu", "--", "python3", "train.py", "--fast"]);
    assert_eq!(job.engine, Engine::Command);
    assert_eq!(
        job.train,
        Some(Train::Command(
            ["python3", "train.py", "--fast"].map(String::from).to_vec()
        ))
    );
    let job = spec("", &["--gpu", "cpu", "--command", "exit 3"]);
    assert_eq!(
        job.train,
        Some(Train::Command(
            ["/bin/sh", "-c", "exit 3"].map(String::from).to_vec()
        ))
    );
}

#[test]
fn nothing_to_train_is_a_bare_box() {
    let job = spec("", &["--gpu", "4090x8", "--extra", "lora"]);
    assert_eq!((job.name.as_str(), &job.train), ("box", &None));
    assert_eq!(job.engine, Engine::GpurunTrain);
    let resolved = resolve(&job, None, &at_home());
    assert_eq!(resolved.launch, None);
    assert_eq!(resolved.prove.device, "0,1,2,3,4,5,6,7");
    assert_eq!(resolved.install.extras, ["lora"]);
    let job = spec("", &["--gpu", "4090", "--engine", "libreyolo"]);
    assert_eq!((job.engine, job.train), (Engine::Libreyolo, None));
}

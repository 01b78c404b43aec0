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

const HERE: &str = "/work-place";

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
    // Paths of the file start at its directory, wherever gpurun is called.
    assert_eq!(
        job.data,
        Some(PathBuf::from("/work-place/jobs/sets/blood.tar"))
    );
    assert_eq!(job.checkpoints.to, "/work-place/jobs/../weights");
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
    let resolved = resolve(&job, None);
    assert_eq!(resolved.launch, None);
    assert_eq!(resolved.prove.device, "0,1,2,3,4,5,6,7");
    assert_eq!(resolved.install.extras, ["lora"]);
    let job = spec("", &["--gpu", "4090", "--engine", "libreyolo"]);
    assert_eq!((job.engine, job.train), (Engine::Libreyolo, None));
}

#[test]
fn an_unknown_key_shows_line_column_snippet_and_the_nearest() {
    refused(
        "[train]\nepochz = 3\n",
        &[],
        &[
            "jobs/job.toml:2:1: unknown key 'epochz' in [train]",
            "did you mean 'epochs'?",
            "epochz = 3",
            "───",
        ],
    );
    refused(
        "[trian]\nepochs = 3\n",
        &[],
        &[
            "job.toml:1:2",
            "unknown key 'trian'",
            "did you mean 'train'?",
        ],
    );
    refused(
        "epochs = 3\n",
        &[],
        &["unknown key 'epochs'", "belongs under [train]"],
    );
    refused("[box]\nname = 'x'\n", &[], &["at the top of the file"]);
    refused("[box]\nbatchh = 1\n", &[], &["did you mean 'train.batch'?"]);
    refused("[data]\nzzz = 1\n", &[], &["known here: source"]);
}

#[test]
fn a_wrong_type_or_broken_text_points_at_its_place() {
    refused(
        "[train]\nepochs = 'ten'\n",
        &[],
        &[
            "job.toml:2:10: train.epochs wants a whole number",
            "this is a string",
        ],
    );
    refused(
        "[train]\nargs = { a = [1] }\n",
        &[],
        &["train.args wants a table of name = value"],
    );
    refused("train = 3\n", &[], &["train is a table", "write [train]"]);
    refused(
        "[box]\ngpu = 4090x8\n",
        &[],
        &["job.toml:2:", "strings want quotes"],
    );
    refused("[box]\ngpu = 'cpu'\n[box]\n", &[], &["job.toml:3:"]);
}

#[test]
fn values_out_of_range_are_refused_before_money() {
    let with = |lines: &str| format!("[box]\ngpu = 'cpu'\n[data]\nsource = 'd'\n{lines}\n");
    for (lines, expected) in [
        ("[train]\nepochs = 0", "train.epochs: 0 is too small"),
        ("[train]\nbatch = 0", "train.batch: 0 images per step"),
        ("[train]\nbatch = -2", "train.batch: -2 is too small"),
        (
            "[train]\nimgsz = 0",
            "train.imgsz: '0' is not an image size",
        ),
        ("[train]\nimgsz = '640x'", "is not an image size"),
        ("[train]\ndevice = 0", "train.device: there is no GPU 0"),
        ("[train]\ndevice = 'tpu'", "'tpu' is not a device"),
        ("[train]\nengine = 'libreyol'", "did you mean 'libreyolo'?"),
        ("[train.args]\nepochs = 3", "epochs has a key of its own"),
        ("[train.args]\nproject = 'x'", "gpurun itself sets project"),
        ("[train.args]\n'a b' = 1", "is not the name of an option"),
        (
            "[train]\ncommand = 'x'\nengine = 'libreyolo'",
            "a command and an engine exclude each other",
        ),
        (
            "[train]\ncommand = 'x'\nmodel = 'y'",
            "says nothing to a command",
        ),
        ("[train]\ncommand = ' '", "the command is empty"),
        ("[train]\nengine = 'command'", "needs a command"),
        (
            "[stop]\nmax_hours = 0",
            "stop.max_hours: '0' is no time at all",
        ),
        (
            "[stop]\nmax_hours = -3",
            "stop.max_hours: '-3' can't be read",
        ),
        ("[stop]\nmax_cost = 0", "stop.max_cost: '0' can't be read"),
        ("[stop]\ngrace = 30", "stop.grace: '30' can't be read"),
        ("[stop]\npolicy = 'destory'", "did you mean 'destroy'?"),
        (
            "[checkpoints]\nfiles = ['weights/*.pt']",
            "is not a file name pattern",
        ),
        ("[checkpoints]\nfiles = []", "no file would be kept"),
        (
            "[checkpoints]\nmilestones = ['each_best']",
            "did you mean 'each-best'?",
        ),
        (
            "[checkpoints]\nto = 's3://bucket/x'",
            "s3:// is reserved, not available yet",
        ),
    ] {
        refused(&with(lines), &[], &[expected, "help:"]);
    }
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--batch", "100"],
        &["--batch: 100 images", "96 or 104"],
    );
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--device", "cpu"],
        &["8 GPUs would be paid for"],
    );
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--device", "0,8"],
        &["there is no GPU 8", "0 to 7"],
    );
    refused(
        "",
        &["--gpu", "4090x8", "--data", "d", "--device", "1,1"],
        &["GPU 1 is named twice"],
    );
    refused(
        "",
        &["--gpu", "4090x2", "--data", "d", "--engine", "libreyolo"],
        &["can't train on several GPUs"],
    );
    refused("", &["--gpu", "4091x8", "--data", "d"], &["--gpu:", "4090"]);
    refused(
        "",
        &["--gpu", "cpu", "--data", "hf://org/set"],
        &["hf:// is reserved"],
    );
    refused(
        "",
        &["--gpu", "cpu", "--model", "yolo9-t"],
        &["a training needs a data set"],
    );
    refused(
        "",
        &["--data", "d"],
        &["the job doesn't say what to train on", "--gpu cpu"],
    );
    refused(
        "",
        &["--gpu", "cpu", "--provider", "vastt"],
        &["did you mean 'vast'?"],
    );
    refused(
        "",
        &["--gpu", "cpu", "--data", "d", "--", "lr0=1", "fast"],
        &["'fast' after '--'"],
    );
    for name in ["", "a b", "../x", "-x", "a/b", &"x".repeat(64)] {
        let flag = format!("--name={name}");
        refused("", &["--gpu", "cpu", &flag], &["can't name a run"]);
    }
}

fn staged(source: &str) -> StagedData {
    StagedData {
        source: PathBuf::from(source),
        bytes: 7,
        fingerprint: "f00d".into(),
        config: "data.yaml".into(),
    }
}

#[test]
fn an_engine_gets_one_command_line_and_one_to_go_on_with() {
    let flags = [
        "--gpu", "cpu", "--data", "bccd", "--epochs", "15", "--batch", "8", "--imgsz", "320",
    ];
    let job = spec(
        "name = 'cells'",
        &[&flags[..], &["--", "lr0=0.02", "--pretrained=false"]].concat(),
    );
    let resolved = resolve(&job, Some(&staged("/sets/bccd")));
    let stage = resolved.stage.expect("data is staged");
    assert_eq!(
        (stage.source.as_str(), stage.dest.as_str()),
        ("/sets/bccd", "data/bccd")
    );
    let launch = resolved.launch.expect("a training");
    assert_eq!(launch.run_dir, "runs/cells");
    assert_eq!(
        launch.argv.join(" "),
        "gpurun-train train model=yolo9-t data=data/bccd/data.yaml project=runs name=cells exist_ok=true \
         device=cpu epochs=15 batch=8 imgsz=320 lr0=0.02 pretrained=false"
    );
    assert_eq!(
        launch.resume_argv.expect("it can go on").join(" "),
        "gpurun-train train model=runs/cells/weights/last.pt data=data/bccd/data.yaml project=runs name=cells \
         exist_ok=true device=cpu epochs=15 batch=8 imgsz=320 lr0=0.02 resume=true"
    );
    assert_eq!(
        (resolved.prove.device.as_str(), resolved.install.version),
        ("cpu", None)
    );
}

#[test]
fn libreyolo_is_installed_in_the_version_that_was_tested() {
    let job = spec(
        "",
        &[
            "--gpu",
            "4090",
            "--data",
            "d.tar",
            "--engine",
            "libreyolo",
            "--model",
            "LibreYOLO9s.pt",
        ],
    );
    let resolved = resolve(&job, Some(&staged("/x/d.tar")));
    assert_eq!(resolved.install.version.as_deref(), Some("1.6.0"));
    let argv = resolved.launch.expect("a training").argv.join(" ");
    assert!(
        argv.starts_with("libreyolo train model=LibreYOLO9s.pt data=data/d/data.yaml"),
        "{argv}"
    );
    assert!(argv.contains(" device=0"), "{argv}");
}

#[test]
fn a_command_learns_its_places_from_the_environment() {
    let job = spec(
        "name = 'mine'",
        &["--gpu", "cpu", "--data", "/s/set", "--command", "./go"],
    );
    let launch = resolve(&job, Some(&staged("/s/set")))
        .launch
        .expect("a command");
    assert_eq!(launch.resume_argv, None);
    assert_eq!(launch.env["GPURUN_DATA"], "data/set");
    assert_eq!(launch.env["GPURUN_RUN_DIR"], "runs/mine");
}

fn load_in(folder: &Path, flags: &[&str]) -> Result<Job, DocumentError> {
    load(arguments(flags), &Defaults::default(), folder)
}

#[test]
fn the_file_named_wins_then_gpurun_toml_then_flags() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let bare = load_in(here, &["--gpu", "cpu"]).expect("a bare box");
    assert_eq!(bare.spec.train, None);
    std::fs::write(
        here.join("gpurun.toml"),
        "name = 'usual'\n[box]\ngpu = 'cpu'\n",
    )
    .expect("written");
    std::fs::write(
        here.join("other.toml"),
        "name = 'other'\n[box]\ngpu = 'cpu'\n",
    )
    .expect("written");
    assert_eq!(
        load_in(here, &[]).expect("the usual file").spec.name,
        "usual"
    );
    assert_eq!(
        load_in(here, &["other.toml"])
            .expect("the named file")
            .spec
            .name,
        "other"
    );
    let shown = report(load_in(here, &["missing.toml"]).expect_err("no such file"));
    assert!(shown.contains("missing.toml: can't be read"), "{shown}");
    let shown = report(load_in(here, &["."]).expect_err("a directory"));
    assert!(shown.contains("a data set goes with --data"), "{shown}");
}

#[test]
fn paths_are_checked_before_anything_is_rented() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let boxes = here.join("state/local/boxes");
    std::fs::create_dir_all(boxes.join("b1/home")).expect("a box");
    std::fs::create_dir_all(here.join("set")).expect("a data set");
    std::fs::write(here.join("set.zip"), "PK").expect("written");
    std::fs::write(here.join("notes.txt"), "words").expect("written");
    let check = |flags: &[&str]| {
        load_in(here, &[&["--gpu", "cpu"], flags].concat())
            .expect("well-formed")
            .check(&boxes)
            .map_err(report)
    };
    check(&["--data", "set"]).expect("all is well");
    let refusals: [(&[&str], &str); 8] = [
        (&["--data", "nowhere"], "No such file or directory"),
        (&["--data", "set.zip"], "is compressed"),
        (&["--data", "notes.txt"], "is no data set"),
        (
            &["--data", "set", "--to", "state/local/boxes/b1/home/w"],
            "lies inside a box",
        ),
        (
            &["--data", "set", "--to", "x/../state/local/boxes/b1"],
            "lies inside a box",
        ),
        (
            &["--data", "set", "--to", "notes.txt"],
            "is not a directory",
        ),
        (
            &["--data", "set", "--to", "notes.txt/below"],
            "is not a directory",
        ),
        (
            &["--data", "set", "--to", "set/weights"],
            "lies inside the data set",
        ),
    ];
    for (flags, expected) in refusals {
        let shown = check(flags).expect_err(expected).replace("\n  │ ", "");
        assert!(shown.contains(expected), "no '{expected}' in {shown}");
    }
    std::fs::create_dir_all(here.join("runs/set/weights")).expect("an earlier run");
    std::fs::write(here.join("runs/set/weights/best.pt"), "weights").expect("written");
    let shown = check(&["--data", "set"]).expect_err("weights are there");
    assert!(shown.contains("already holds the weights"), "{shown}");
    check(&["--data", "set", "--name", "second"]).expect("another name has a folder of its own");
}

#[test]
fn a_directory_nobody_may_write_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Also for root, /proc refuses new entries; a locked folder does for everybody else.
    let job = load_in(
        folder.path(),
        &["--gpu", "cpu", "--to", "/proc/gpurun-weights"],
    )
    .expect("well-formed");
    let shown = report(
        job.check(Path::new("/nowhere"))
            .expect_err("nothing can be made there"),
    );
    assert!(shown.contains("can't be written"), "{shown}");
}

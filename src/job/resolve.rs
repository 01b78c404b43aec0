//! From a job to what the plan carries: install, prove, stage and launch with nothing left open.

use super::{
    spec::{JobSpec, plain_name},
    train::{ModelTraining, Train},
    work_place::WorkPlace,
};
use gpurun_lifecycle::{
    CheckpointSpec, Engine, InstallSpec, LaunchSpec, ProveSpec, StageSpec, StopSpec,
};
use std::{collections::BTreeMap, path::PathBuf};

/// The data set as the check before staging found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StagedData {
    /// The directory or the `.tar`.
    pub(crate) source: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) fingerprint: String,
    /// The configuration's name inside the data set, `data.yaml` as a rule.
    pub(crate) config: String,
}

/// The parts of a `RunSpec` that come from the job alone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) install: InstallSpec,
    pub(crate) prove: ProveSpec,
    pub(crate) stage: Option<StageSpec>,
    pub(crate) launch: Option<LaunchSpec>,
    pub(crate) checkpoints: CheckpointSpec,
    pub(crate) stop: StopSpec,
}

/// The version of libreyolo this gpurun was tested with.
const LIBREYOLO: &str = "1.6.0";

/// Resolves a job. `data` describes the job's data set and is `None` when it has none.
///
pub(crate) fn resolve(job: &JobSpec, data: Option<&StagedData>, place: &WorkPlace) -> Resolved {
    let run_dir = format!("{}/{}", place.project, job.name);
    let stage = data.map(|data| stage(data, place));
    let config = data
        .zip(stage.as_ref())
        .map(|(data, stage)| format!("{}/{}", stage.dest, data.config));
    let launch = job.train.as_ref().map(|train| match train {
        Train::Command(argv) => LaunchSpec {
            argv: argv.clone(),
            env: command_environment(job, stage.as_ref(), &run_dir, place),
            working_dir: place.working_dir.clone(),
            run_dir: run_dir.clone(),
            resume_argv: None,
        },
        Train::Model(model) => {
            let config = config.as_deref().unwrap_or_default();
            LaunchSpec {
                argv: training_argv(job, model, config, place, None),
                env: place.env.clone(),
                working_dir: place.working_dir.clone(),
                run_dir: run_dir.clone(),
                resume_argv: Some(training_argv(
                    job,
                    model,
                    config,
                    place,
                    Some(&format!("{run_dir}/weights/last.pt")),
                )),
            }
        }
    });
    Resolved {
        install: InstallSpec {
            engine: job.engine,
            extras: job.extras.clone(),
            version: (job.engine == Engine::Libreyolo).then(|| LIBREYOLO.to_owned()),
        },
        prove: ProveSpec {
            engine: job.engine,
            device: devices(job),
        },
        stage,
        launch,
        checkpoints: job.checkpoints.clone(),
        stop: job.stop.clone(),
    }
}

fn stage(data: &StagedData, place: &WorkPlace) -> StageSpec {
    StageSpec {
        source: data.source.to_string_lossy().into_owned(),
        bytes: data.bytes,
        fingerprint: data.fingerprint.clone(),
        dest: format!("{}/{}", place.data, plain_name(&data.source, "data-set")),
    }
}

/// What is proved: the devices the training will use, or all that the box has.
fn devices(job: &JobSpec) -> String {
    match &job.train {
        Some(Train::Model(model)) => model.device.clone(),
        _ => super::train::all_devices(&job.gpu),
    }
}

fn command_environment(
    job: &JobSpec,
    stage: Option<&StageSpec>,
    run_dir: &str,
    place: &WorkPlace,
) -> BTreeMap<String, String> {
    let mut environment = place.env.clone();
    environment.insert("GPURUN_NAME".to_owned(), job.name.clone());
    environment.insert("GPURUN_RUN_DIR".to_owned(), run_dir.to_owned());
    if let Some(stage) = stage {
        environment.insert("GPURUN_DATA".to_owned(), stage.dest.clone());
    }
    environment
}

/// `NAME train key=value …`, the command line both engines share. `checkpoint` goes on from there.
fn training_argv(
    job: &JobSpec,
    model: &ModelTraining,
    config: &str,
    place: &WorkPlace,
    checkpoint: Option<&str>,
) -> Vec<String> {
    let program = match job.engine {
        Engine::Libreyolo => "libreyolo",
        Engine::GpurunTrain | Engine::Command => "gpurun-train",
    };
    let mut options: Vec<(&str, String)> = vec![
        ("model", checkpoint.unwrap_or(&model.model).to_owned()),
        ("data", config.to_owned()),
        ("project", place.project.clone()),
        ("name", job.name.clone()),
        // The run directory must be the one that is watched, also when a first try left files in it.
        ("exist_ok", "true".to_owned()),
        ("device", model.device.clone()),
    ];
    let numbers = [
        ("epochs", model.epochs),
        ("batch", model.batch),
        ("save_period", model.save_period),
    ];
    options.extend(
        numbers
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.to_string()))),
    );
    options.extend(model.image_size.clone().map(|size| ("imgsz", size)));
    // libreyolo refuses a resume that also says whether to start from published weights.
    let allowed = |name: &str| checkpoint.is_none() || name != "pretrained";
    let further = model.args.iter().filter(|(name, _)| allowed(name));
    options.extend(further.map(|(name, value)| (name.as_str(), value.clone())));
    options.extend(checkpoint.map(|_| ("resume", "true".to_owned())));
    [program, "train"]
        .into_iter()
        .map(str::to_owned)
        .chain(
            options
                .into_iter()
                .map(|(name, value)| format!("{name}={value}")),
        )
        .collect()
}

//! A run in memory: network, optimizer, data, files.

use std::time::Instant;

use gpurun_protocol::summary::EpochEvent;

use super::error::TrainError;
use super::learner::{Learner, padding};
use super::setup::Setup;
use super::state::State;
use super::validate::{Validator, ValidatorConfig};
use crate::checkpoint::{Best, Metadata, Position};
use crate::config::{Setting, TrainConfig, record};
use crate::dist::note_run_dir;
use crate::run_dir::{History, RunDir, RunFacts, StatusFile, log};

pub(super) struct Session {
    pub(super) config: TrainConfig,
    pub(super) record: Vec<(String, Setting)>,
    pub(super) metadata: Metadata,
    pub(super) learner: Learner,
    pub(super) validator: Option<Validator>,
    pub(super) run_dir: RunDir,
    pub(super) history: History,
    pub(super) status: StatusFile,
    pub(super) events: Vec<EpochEvent>,
    pub(super) best: Best,
    /// The epoch in flight or the next, counted from 0.
    pub(super) epoch: u32,
    /// Where in it an earlier process stopped.
    pub(super) position: Option<Position>,
    pub(super) last_loss: f64,
    pub(super) started: Instant,
}

impl Session {
    /// Builds everything, the run directory last.
    ///
    /// # Errors
    /// When the weights don't fit, the device has no memory, or the directory can't be made.
    pub(super) fn begin(setup: Setup) -> Result<Session, TrainError> {
        let started = Instant::now();
        let Setup {
            mut config,
            data,
            train,
            val,
            source,
            device,
            continued,
            group,
        } = setup;
        let classes = data.names.len();
        let mut state = State::build(&config, source, classes, device)?;
        let architecture = state.model.config().architecture();
        let metadata = Metadata {
            model_family: architecture.family().name().to_owned(),
            size: architecture.size().to_owned(),
            task: "detect".to_owned(),
            names: data.names.clone(),
            imgsz: config.imgsz,
            letterbox_pad: state.letterbox_pad.clone(),
        };
        let (best, epoch, position, row) = (
            std::mem::take(&mut state.best),
            state.epoch,
            state.position.take(),
            state.row.take(),
        );
        let learner = Learner::new(&mut config, classes, train, state, group)?;
        let steps = u64::try_from(learner.loader.batches()).unwrap_or(1).max(1);
        let padding = padding(&metadata.letterbox_pad);
        let validation = ValidatorConfig::of_training(&config, padding, device);
        let validator = val.map(|val| Validator::new(val, &data, &validation));

        let run_dir = match &continued {
            Some(path) => RunDir::open(path)?,
            None => RunDir::create(&config.project, &config.name, config.exist_ok)?,
        };
        note_run_dir(run_dir.path());
        log::open_train_log(&run_dir, continued.is_some())?;
        let record = record(&config, &metadata.size, classes);
        run_dir.write_config(&record)?;
        let history = History::begin(&run_dir, epoch + 1, row.as_deref())?;
        let facts = RunFacts {
            model_family: metadata.model_family.clone(),
            model_size: metadata.size.clone(),
            total_epochs: config.epochs,
            start_epoch: epoch + 1,
            steps_per_epoch: steps,
        };
        Ok(Session {
            record: record
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            status: StatusFile::begin(&run_dir, &facts, history.rows().last()),
            history,
            config,
            metadata,
            learner,
            validator,
            run_dir,
            events: vec![],
            best,
            epoch,
            position,
            last_loss: f64::NAN,
            started,
        })
    }
}

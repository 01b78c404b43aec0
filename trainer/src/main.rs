//! `gpurun-train`: trains YOLO9 on the machine it runs on.

mod cli;
mod output;

use std::os::unix::process::CommandExt;
use std::process::{Command as Process, ExitCode};

use gpurun_protocol::status::RunError;
use gpurun_train::config::{Code, Resume, TrainConfig, device_list};
use gpurun_train::dist::{die_with_parent, launch, note_error, world_of_environment};
use gpurun_train::libtorch;
use gpurun_train::onnx::export;
use gpurun_train::run_dir::{end_for_it, log};
use gpurun_train::signal::Signals;
use gpurun_train::smoke::{SmokeError, smoke};
use gpurun_train::train::{Setup, TrainError, check_batch, profile, train, val};

use crate::cli::{Command, Invocation};

fn main() -> ExitCode {
    die_with_parent();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = cli::wants_json(&arguments);
    match cli::parse(&arguments)
        .map_err(TrainError::from)
        .and_then(run)
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !note_error(&error.message) {
                output::error(json, &error);
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(invocation: Invocation) -> Result<(), TrainError> {
    let Invocation { command, json } = invocation;
    match command {
        Command::Help(help) => output::text(&help),
        Command::Version => {
            output::text(&format!(
                "gpurun-train {} (libtorch {})",
                env!("CARGO_PKG_VERSION"),
                libtorch::VERSION
            ));
        }
        Command::Train { config, explicit } => {
            let signals = begin()?;
            let member = world_of_environment()?;
            if member.is_none()
                && let Some(devices) = device_list(&config.device)
            {
                return train_on_all(&config, devices.len(), &signals);
            }
            // Only the first of several processes has an outcome.
            if let Some(outcome) = train(Setup::prepare(*config, &explicit, member)?, &signals)? {
                output::result(json, &outcome, &outcome.to_string());
            }
        }
        Command::Val(config) => {
            let report = val(&config, &begin()?)?;
            output::result(json, &report, &report.to_string());
        }
        Command::Export(config) => {
            let report = export(&config)?;
            output::result(json, &report, &report.to_string());
        }
        Command::Profile {
            config,
            explicit,
            window,
        } => {
            begin()?;
            let report = profile(Setup::prepare(*config, &explicit, None)?, window)?;
            output::result(json, &report, &report.to_string());
        }
        Command::Smoke { device } => {
            let report = smoke(&device).map_err(smoke_error)?;
            output::result(json, &report, &report.to_string());
        }
    }
    Ok(())
}

/// One process per device. The first one's output and exit code are this program's.
fn train_on_all(config: &TrainConfig, devices: usize, signals: &Signals) -> Result<(), TrainError> {
    let world = u32::try_from(devices).unwrap_or(u32::MAX);
    if config.resume == Resume::No && !config.auto_batch {
        check_batch(config.batch, world)?;
    }
    let workers = launch(world, signals)?;
    let Some(failure) = workers.failed else {
        return Ok(());
    };
    if let (0, Some(code)) = (failure.rank, failure.code) {
        // The first one has said why itself.
        std::process::exit(code);
    }
    let error = TrainError::new(Code::IoError, "RuntimeError", failure.to_string())
        .suggest("resume=true goes on from the last checkpoint");
    if let Some(run_dir) = &workers.run_dir {
        let message = error.message.clone();
        let kind = error.kind.to_owned();
        end_for_it(run_dir, RunError { message, kind });
    }
    Err(error)
}

/// Log and signal handlers, in a process whose idle threads sleep.
fn begin() -> Result<Signals, TrainError> {
    let_idle_threads_sleep();
    log::install();
    log::shorten_panics();
    Ok(Signals::install()?)
}

/// libtorch's OpenMP threads spin while they wait, which on a shared machine costs others and itself
/// a multiple of its time. The OpenMP library reads its settings when it is loaded, before `main`, so
/// the process begins once more with them set; its id stays.
fn let_idle_threads_sleep() {
    const SETTING: &str = "OMP_WAIT_POLICY";
    if std::env::var_os(SETTING).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    // Returns only when it fails; the training then goes on as it is.
    let _ = Process::new(program)
        .args(std::env::args_os().skip(1))
        .env(SETTING, "PASSIVE")
        .exec();
}

fn smoke_error(error: SmokeError) -> TrainError {
    let code = match error {
        SmokeError::UnknownDevice(_) => Code::WrongType,
        _ => Code::DeviceNotAvailable,
    };
    TrainError::new(code, "RuntimeError", error.to_string())
}

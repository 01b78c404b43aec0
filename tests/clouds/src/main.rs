//! `gpurun-clouds VENDOR [--port P] [--key KEY] [--boot SECONDS] [--boxes none|plain|isolated] [--virtual]`: a simulated marketplace to play with.
#![expect(clippy::print_stdout, reason = "the program's only output")]

use std::process::ExitCode;
use std::time::Duration;

use gpurun_clouds::boxes::BoxKind;
use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::verda::Verda;
use gpurun_clouds::{ClockKind, Cloud, SimConfig};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "usage: gpurun-clouds vast|lambda|runpod|verda|verda [--port P] [--key KEY] [--boot SECONDS] [--boxes none|plain|isolated] [--virtual]";

fn main() -> ExitCode {
    match start(std::env::args().skip(1)) {
        Ok(cloud) => {
            println!("{} key={}", cloud.url(), cloud.key());
            println!(
                "{}/_sim/state shows boxes and bill; ends with Ctrl-C",
                cloud.url()
            );
            wait_for_interrupt()
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The boxes end with the simulator, not after it.
fn wait_for_interrupt() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime.and_then(|runtime| runtime.block_on(interrupted())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("can't wait for Ctrl-C: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn interrupted() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed,
        _ = terminate.recv() => Ok(()),
    }
}

fn start(mut arguments: impl Iterator<Item = String>) -> Result<Cloud, Box<dyn std::error::Error>> {
    let vendor = arguments.next().ok_or(USAGE)?;
    let mut config = SimConfig {
        clock: ClockKind::Real,
        boot: Duration::from_secs(5),
        ..SimConfig::default()
    };
    while let Some(option) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("{option} needs a value\n{USAGE}"))
        };
        match option.as_str() {
            "--port" => config.port = value()?.parse()?,
            "--key" => config.key = value()?,
            "--boot" => config.boot = Duration::try_from_secs_f64(value()?.parse()?)?,
            "--boxes" => {
                config.boxes = match value()?.as_str() {
                    "none" => BoxKind::None,
                    "plain" => BoxKind::Plain,
                    "isolated" => BoxKind::Isolated,
                    other => return Err(format!("there are no boxes `{other}`\n{USAGE}").into()),
                }
            }
            "--virtual" => config.clock = ClockKind::Virtual(None),
            unknown => return Err(format!("unknown option `{unknown}`\n{USAGE}").into()),
        }
    }
    match vendor.as_str() {
        "lambda" => Ok(Lambda::start(config)?),
        "runpod" => Ok(RunPod::start(config)?),
        "vast" => Ok(Vast::start(config)?),
        "verda" => Ok(Verda::start(config)?),
        unknown => Err(format!("unknown vendor `{unknown}`\n{USAGE}").into()),
    }
}

//! `gpurun-clouds VENDOR [--port P] [--key KEY] [--boot SECONDS] [--virtual]`: a simulated marketplace to play with.
#![expect(clippy::print_stdout, reason = "the program's only output")]

use std::process::ExitCode;
use std::time::Duration;

use gpurun_clouds::vast::Vast;
use gpurun_clouds::{ClockKind, Cloud, SimConfig};

const USAGE: &str = "usage: gpurun-clouds vast [--port P] [--key KEY] [--boot SECONDS] [--virtual]";

fn main() -> ExitCode {
    match start(std::env::args().skip(1)) {
        Ok(cloud) => {
            println!("{} key={}", cloud.url(), cloud.key());
            println!(
                "{}/_sim/state shows boxes and bill; ends with Ctrl-C",
                cloud.url()
            );
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
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
            "--virtual" => config.clock = ClockKind::Virtual(None),
            unknown => return Err(format!("unknown option `{unknown}`\n{USAGE}").into()),
        }
    }
    match vendor.as_str() {
        "vast" => Ok(Vast::start(config)?),
        unknown => Err(format!("unknown vendor `{unknown}`\n{USAGE}").into()),
    }
}

//! Checks a data set and prints the findings as JSON: `check DIR|data.yaml`.

#![expect(clippy::print_stdout, reason = "printing is all it is for")]

use std::path::Path;
use std::process::ExitCode;

use gpurun_dataset::check::{CheckOptions, check};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let data = std::env::args_os().nth(1).ok_or("which data set?")?;
    let report = check(Path::new(&data), &CheckOptions::default())?;
    println!("{}", serde_json::to_string(&report.findings)?);
    Ok(if report.is_usable() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

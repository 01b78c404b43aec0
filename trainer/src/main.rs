//! `gpurun-train`: trains YOLO9 on the machine it runs on.

use std::process::ExitCode;

use gpurun_train::libtorch;

fn main() -> ExitCode {
    match libtorch::load() {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

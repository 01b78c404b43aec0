//! `gpurun cost`: what a box costs in each state, and whether to stop it or destroy it.

mod document;
mod flags;
mod inputs;
mod of_run;

use crate::{error::Result, exit_code::ExitCode, ui, ui::Ui};
use chrono::{DateTime, Local};

use flags::Flags;
pub(crate) use inputs::{Inputs, Rates};

/// Say what a box costs, and whether to stop it or destroy it
///
/// A box that is stopped still pays for its disk; one that is destroyed has to be built again. This
/// shows both, the gap at which they cost the same, and what to do, each figure with the sum it
/// comes from. Without flags it answers for the box that was measured: 8x RTX 4090 with 250 GB.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_long_help = "\
Examples:
  gpurun cost --disk 250                        the measured box, return unknown
  gpurun cost --disk 250 --away 10h             back in ten hours: stop or destroy?
  gpurun cost --disk 250 --back-at 2026-12-05T08:00
  gpurun cost --disk 250 --restart-probability 0.7 --resume-minutes 5
  gpurun cost --gpu h100-sxmx8 --disk 500       prices from the built-in price book
  gpurun cost --running 2.10 --disk 80 --json   your own rate, for a script
  gpurun cost 3f                                what run 3f has cost, and burns now"
)]
pub(crate) struct Args {
    /// A run, by id or name: what it has cost so far and burns now
    #[arg(value_name = "RUN", conflicts_with_all = Flags::NAMES)]
    run: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let now = Local::now();
        if let Some(run) = &self.run {
            return of_run::run(run, ui, now.to_utc());
        }
        let inputs = self.inputs(&now)?;
        let forecast = gpurun_pricing::forecast(&inputs.question());
        if ui.json {
            ui.json(&document::Document::new(&inputs, &forecast));
            return Ok(ExitCode::Success);
        }
        ui.data(&ui::cost::forecast(&inputs, &forecast));
        if let Some(help) = ui::cost::help(&inputs) {
            ui.talk(&help);
        }
        Ok(ExitCode::Success)
    }

    /// What the flags ask, at `now`.
    pub(crate) fn inputs(self, now: &DateTime<Local>) -> Result<Inputs> {
        Inputs::resolve(self.flags, now)
    }
}

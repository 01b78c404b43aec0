//! `gpurun cost`: what a box costs in each state, and whether to stop it or destroy it.

mod document;
mod inputs;

use crate::{error::Result, exit_code::ExitCode, ui, ui::Ui};
use chrono::Local;
use gpurun_pricing::{
    GigabyteMonthRate, GigabyteRate, Gigabytes, GpuRequest, HourlyRate, Hours, HoursPerMonth,
    Money, Probability,
};

pub(crate) use inputs::{Inputs, Rates};

/// What a box costs, and whether to stop it or destroy it
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
  gpurun cost --running 2.10 --disk 80 --json   your own rate, for a script"
)]
pub(crate) struct Args {
    /// Allocated disk in GB: storage is billed by what is allocated, not by what is used
    #[arg(long, value_name = "GB", default_value = "250")]
    disk: Gigabytes,
    /// Which box, such as 4090x8, h100-sxmx8 or a100-80x1; its price comes from the built-in book
    #[arg(long, value_name = "GPU")]
    gpu: Option<GpuRequest>,
    /// Whose prices and terms to take from the built-in book
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The whole box while it runs, disk included, in $/h
    #[arg(long, value_name = "RATE", help_heading = "Prices")]
    running: Option<HourlyRate>,
    /// The disk while the box is stopped, in $/GB-month
    #[arg(long, value_name = "PRICE", help_heading = "Prices")]
    storage_price: Option<GigabyteMonthRate>,
    /// What monthly prices are divided by: 730 is a twelfth of a year, 720 is 30 days [default: 730,
    /// or the named provider's]
    #[arg(long, value_name = "HOURS", help_heading = "Prices")]
    hours_per_month: Option<HoursPerMonth>,
    /// Traffic to the box, in $/GB
    #[arg(long, value_name = "PRICE", help_heading = "Prices")]
    inbound_price: Option<GigabyteRate>,
    /// From renting a new box to training: boot, image, installation
    #[arg(long, value_name = "MINUTES", default_value = "15", value_parser = inputs::minutes, help_heading = "Coming back")]
    setup_minutes: Hours,
    /// What a new box has to download, in GB
    #[arg(
        long,
        value_name = "GB",
        default_value = "43",
        help_heading = "Coming back"
    )]
    inbound: Gigabytes,
    /// From starting the stopped box to training
    #[arg(long, value_name = "MINUTES", default_value = "0", value_parser = inputs::minutes, help_heading = "Coming back")]
    resume_minutes: Hours,
    /// How likely a restart finds its GPUs still free: nobody reserves them
    #[arg(
        long,
        value_name = "0..1",
        default_value = "1",
        help_heading = "Coming back"
    )]
    restart_probability: Probability,
    /// What a failed restart costs before one knows that it failed, in $
    #[arg(
        long,
        value_name = "MONEY",
        default_value = "0",
        help_heading = "Coming back"
    )]
    retry_cost: Money,
    /// How long you will be away: 10h, 90min, 1d12h
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "back_at",
        help_heading = "Your return"
    )]
    away: Option<Hours>,
    /// When you will be back: 2026-12-05T08:00 in your time zone, or with its offset (…+02:00, …Z)
    #[arg(long, value_name = "TIME", help_heading = "Your return")]
    back_at: Option<inputs::BackAt>,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let now = Local::now();
        let inputs = Inputs::resolve(self, &now)?;
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
}

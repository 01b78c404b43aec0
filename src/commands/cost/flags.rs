//! Every input of the answer, as a flag.

use super::inputs;
use gpurun_pricing::{
    GigabyteMonthRate, GigabyteRate, Gigabytes, GpuRequest, HourlyRate, Hours, HoursPerMonth,
    Money, Probability,
};

#[derive(Debug, clap::Args)]
pub(super) struct Flags {
    /// Allocated disk in GB: storage is billed by what is allocated, not by what is used
    #[arg(long, value_name = "GB", default_value = "250")]
    pub(super) disk: Gigabytes,
    /// Which box, such as 4090x8, h100-sxmx8 or a100-80x1; its price comes from the built-in book
    #[arg(long, value_name = "GPU")]
    pub(super) gpu: Option<GpuRequest>,
    /// Whose prices and terms to take from the built-in book
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// The whole box while it runs, disk included, in $/h
    #[arg(long, value_name = "RATE", help_heading = "Prices")]
    pub(super) running: Option<HourlyRate>,
    /// The disk while the box is stopped, in $/GB-month
    #[arg(long, value_name = "PRICE", help_heading = "Prices")]
    pub(super) storage_price: Option<GigabyteMonthRate>,
    /// What monthly prices are divided by: 730 is a twelfth of a year, 720 is 30 days [default: 730,
    /// or the named provider's]
    #[arg(long, value_name = "HOURS", help_heading = "Prices")]
    pub(super) hours_per_month: Option<HoursPerMonth>,
    /// Traffic to the box, in $/GB
    #[arg(long, value_name = "PRICE", help_heading = "Prices")]
    pub(super) inbound_price: Option<GigabyteRate>,
    /// From renting a new box to training: boot, image, installation
    #[arg(long, value_name = "MINUTES", default_value = "15", value_parser = inputs::minutes, help_heading = "Coming back")]
    pub(super) setup_minutes: Hours,
    /// What a new box has to download, in GB
    #[arg(
        long,
        value_name = "GB",
        default_value = "43",
        help_heading = "Coming back"
    )]
    pub(super) inbound: Gigabytes,
    /// From starting the stopped box to training
    #[arg(long, value_name = "MINUTES", default_value = "0", value_parser = inputs::minutes, help_heading = "Coming back")]
    pub(super) resume_minutes: Hours,
    /// How likely a restart finds its GPUs still free: nobody reserves them
    #[arg(
        long,
        value_name = "0..1",
        default_value = "1",
        help_heading = "Coming back"
    )]
    pub(super) restart_probability: Probability,
    /// What a failed restart costs before one knows that it failed, in $
    #[arg(
        long,
        value_name = "MONEY",
        default_value = "0",
        help_heading = "Coming back"
    )]
    pub(super) retry_cost: Money,
    /// How long you will be away: 10h, 90min, 1d12h
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "back_at",
        help_heading = "Your return"
    )]
    pub(super) away: Option<Hours>,
    /// When you will be back: 2026-12-05T08:00 in your time zone, or with its offset (…+02:00, …Z)
    #[arg(long, value_name = "TIME", help_heading = "Your return")]
    pub(super) back_at: Option<inputs::BackAt>,
}

impl Flags {
    /// All of them: a run's bill takes none.
    pub(super) const NAMES: [&str; 14] = [
        "disk",
        "gpu",
        "provider",
        "running",
        "storage_price",
        "hours_per_month",
        "inbound_price",
        "setup_minutes",
        "inbound",
        "resume_minutes",
        "restart_probability",
        "retry_cost",
        "away",
        "back_at",
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flag_is_forgotten() {
        let command = <Flags as clap::Args>::augment_args(clap::Command::new("cost"));
        let names: Vec<&str> = command
            .get_arguments()
            .map(|flag| flag.get_id().as_str())
            .collect();
        assert_eq!(names, Flags::NAMES);
    }
}

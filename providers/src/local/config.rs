//! What the user's config file may say about the local provider.

use std::path::PathBuf;
use std::time::Duration;

use chrono::NaiveDate;
use gpurun_pricing::{GigabyteMonthRate, HourlyRate, HoursPerMonth};
use rust_decimal::Decimal;

/// Where the boxes of this machine are and what they are said to cost.
///
/// Nobody sends a bill for them. The prices are there so that spending, caps and the stop-or-destroy
/// arithmetic mean something here as well: set them to what your own machine costs you.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// The folder that holds `boxes/`; by convention `<state directory>/local`.
    pub root: PathBuf,
    /// $/h of a box without a GPU.
    pub running: HourlyRate,
    /// $/h that each GPU adds.
    pub per_gpu: HourlyRate,
    /// $/GB-month, running or stopped.
    pub disk: GigabyteMonthRate,
    pub hours_per_month: HoursPerMonth,
    /// The date the prices were last changed, and where: a price without them is not shown.
    pub as_of: NaiveDate,
    pub source: String,
    /// How long processes get between SIGTERM and SIGKILL when a box ends.
    pub stop_grace: Duration,
    /// The program that knows this machine's GPUs.
    pub nvidia_smi: PathBuf,
}

impl LocalConfig {
    /// The built-in prices, for boxes below `root`.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            running: HourlyRate::new(Decimal::new(4, 2)),
            per_gpu: HourlyRate::new(Decimal::new(40, 2)),
            disk: GigabyteMonthRate::new(Decimal::new(10, 2)),
            hours_per_month: HoursPerMonth::TWELFTH_OF_A_YEAR,
            as_of: NaiveDate::from_ymd_opt(2026, 12, 1).expect("a day of the calendar"),
            source: "built-in price of a local box".to_owned(),
            stop_grace: Duration::from_secs(10),
            nvidia_smi: PathBuf::from("nvidia-smi"),
        }
    }
}

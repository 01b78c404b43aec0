//! The run directory, in LibreYOLO's forms.
//!
//! | file | written | by |
//! |---|---|---|
//! | `train_config.yaml` | before the first epoch | [`RunDir::write_config`] |
//! | `weights/{last,best,epoch_N}.pt` | at each epoch's end, first of all | [`save_checkpoint`] |
//! | `metrics.jsonl`, `results.csv` | then | [`History`] |
//! | `status.json` | last, and every two seconds within an epoch | [`StatusFile`] |
//! | `summary.json` | at the normal end | `train` |
//! | `train.log` | all along | [`log`] |
//!
//! Everything but the log and `metrics.jsonl` is replaced whole, so that no reader meets half a file.

mod atomic;
mod directory;
mod history;
pub mod log;
mod status;
mod weights;

pub use atomic::replace_file;
pub use directory::RunDir;
pub use history::History;
pub use status::{Progress, RunFacts, StatusFile, end_for_it};
pub use weights::{SavedAs, save_checkpoint};

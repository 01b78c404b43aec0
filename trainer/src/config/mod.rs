//! The settings of a run: LibreYOLO's names and defaults for YOLO9, those this trainer honours.

mod defaults;
mod device;
mod error;
mod fixed;
mod freeze;
mod key_info;
mod keys;
mod record;
mod settings;
mod train;
mod val;
mod yaml;

pub use device::device_list;
pub use error::{Code, ConfigError};
pub use freeze::{Freeze, Selector};
pub use key_info::KeyInfo;
pub use keys::KEYS;
pub use record::record;
pub use settings::{Assignment, Setting, parse_assignments};
pub use train::{AmpType, Resume, Scheduler, TrainConfig};
pub use val::ValConfig;
pub use yaml::to_yaml;

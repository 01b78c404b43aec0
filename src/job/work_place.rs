//! Where on the box a run works: in its home, or on its volume, which outlives the box.

use gpurun_lifecycle::VolumeSpec;
use std::collections::BTreeMap;

/// The folders of one run on its box; relative ones are below the box's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkPlace {
    /// Where the training starts: what it downloads by a relative path lands here.
    pub(super) working_dir: String,
    /// What run directories lie in.
    pub(super) project: String,
    /// What data sets lie in.
    pub(super) data: String,
    /// Tells programs where their caches go.
    pub(super) env: BTreeMap<String, String>,
}

impl WorkPlace {
    /// Of the run with this id. Runs that share a volume share its data sets and caches, and nothing else.
    pub(crate) fn new(volume: Option<&VolumeSpec>, run_id: &str) -> Self {
        let Some(volume) = volume else {
            return Self {
                working_dir: String::new(),
                project: "runs".to_owned(),
                data: "data".to_owned(),
                env: BTreeMap::new(),
            };
        };
        let base = format!("{}/gpurun", volume.path.trim_end_matches('/'));
        let caches = [
            ("HF_HOME", "huggingface"),
            ("LIBREYOLO_DATASETS_DIR", "datasets"),
            ("TORCH_HOME", "torch"),
        ];
        let env = caches.map(|(name, folder)| (name.to_owned(), format!("{base}/{folder}")));
        Self {
            project: format!("{base}/runs/{run_id}"),
            data: format!("{base}/data"),
            env: BTreeMap::from(env),
            working_dir: base,
        }
    }
}

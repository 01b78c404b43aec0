//! Where the agent's files lie: in `gpurun/` of the box's home.

use std::path::{Path, PathBuf};

/// The paths of one box, all absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// What relative paths of the spec start from.
    pub(crate) home: PathBuf,
    folder: PathBuf,
}

impl Layout {
    /// The layout around an `agent.json`: its folder is the agent's, the folder above is the home.
    pub(crate) fn around(spec: &Path) -> std::io::Result<Layout> {
        let spec = std::path::absolute(spec)?;
        let folder = spec.parent().unwrap_or(Path::new("/")).to_path_buf();
        let home = folder.parent().unwrap_or(&folder).to_path_buf();
        Ok(Layout { home, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path of the spec: relative ones start at the home.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        self.home.join(path)
    }

    pub(crate) fn spec(&self) -> PathBuf {
        self.folder.join("agent.json")
    }

    pub(crate) fn heartbeat(&self) -> PathBuf {
        self.folder.join("heartbeat.json")
    }

    /// The training process of the newest attempt.
    pub(crate) fn training(&self) -> PathBuf {
        self.folder.join("training.json")
    }

    pub(crate) fn exit(&self) -> PathBuf {
        self.folder.join("exit.json")
    }

    /// Room kept free for the exit report on a disk that is full by then.
    pub(crate) fn reserve(&self) -> PathBuf {
        self.folder.join("reserve")
    }

    /// The key of the checkpoints' destination, readable by its owner alone.
    pub(crate) fn sink_keys(&self) -> PathBuf {
        self.folder.join("sink-keys.json")
    }

    /// The box's copy of the destination's manifest.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.join(gpurun_protocol::manifest::FILE_NAME)
    }

    /// A request to end the training.
    pub(crate) fn end_request(&self) -> PathBuf {
        self.folder.join("end.json")
    }

    pub(crate) fn stdout(&self) -> PathBuf {
        self.folder.join("stdout.log")
    }

    pub(crate) fn stderr(&self) -> PathBuf {
        self.folder.join("stderr.log")
    }

    /// What the agent has to say of itself.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("agent.log")
    }

    /// Locked by the living agent, which writes into it who it is.
    pub(crate) fn agent_lock(&self) -> PathBuf {
        self.folder.join("agent.lock")
    }

    /// Locked during a push pass.
    pub(crate) fn push_lock(&self) -> PathBuf {
        self.folder.join("push.lock")
    }
}

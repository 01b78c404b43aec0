//! What a provider can do. The conformance suite reads it to know which tests exist, the planner to know which verbs do.

use gpurun_pricing::StopSupport;

/// The abilities of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    pub stop: StopSupport,
    pub labels: Labels,
    pub disk: DiskLimit,
    pub image: Image,
    pub volumes: VolumeSupport,
    /// Whether it also lets boxes that may be taken away, for less.
    pub interruptible: bool,
    /// Whether a box holds a key that can end itself and nothing else.
    pub self_destruct: bool,
}

/// Disks that live longer than the boxes they are mounted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeSupport {
    None,
    /// Reachable from every box of a region.
    Network,
    /// On one machine, for boxes on that machine alone.
    HostLocal,
}

/// What happens when a label that is in use is given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// The second `rent` is refused: the provider itself prevents a second box.
    Unique,
    /// A second box is made: only looking before asking prevents it.
    Repeatable,
}

/// Who holds a box to the disk size it was rented with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskLimit {
    /// The file system is that large.
    Enforced,
    /// Nobody: staging and the agent measure, and refuse or warn.
    Measured,
}

/// Whether a box starts from an image that the caller names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    Required,
    Optional,
    Unsupported,
}

impl Capabilities {
    /// Whether a stopped box can go on where it was.
    pub fn can_stop(&self) -> bool {
        self.stop.exists()
    }
}

//! The answer of `gpurun agent proof`: what a box really has, measured on it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What was found, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    pub schema_version: u32,
    pub at: DateTime<Utc>,
    pub cpu: CpuProof,
    pub memory: MemoryProof,
    pub disk: DiskProof,
    /// Size of `/dev/shm`, through which data loader processes hand over their batches.
    #[serde(default)]
    pub shared_memory_bytes: Option<u64>,
    #[serde(default)]
    pub gpus: Vec<GpuProof>,
    /// GPU driver version, as `nvidia-smi` says.
    #[serde(default)]
    pub driver: Option<String>,
    /// C library, such as `glibc 2.36`.
    #[serde(default)]
    pub c_library: Option<String>,
    /// What makes the box unfit or slow, in words.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Cores a program may really use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuProof {
    #[serde(default)]
    pub model: Option<String>,
    /// What the machine shows.
    pub visible_cores: u32,
    /// What the scheduler allows: the affinity mask.
    pub allowed_cores: u32,
    /// What the control group's quota grants, in cores.
    #[serde(default)]
    pub quota_cores: Option<f64>,
    /// How many threads to start: the least of them, at least 1.
    pub usable_cores: u32,
    /// Whether a matrix product on one core came out right.
    pub kernel_right: bool,
    /// Multiply-adds per second of that product, in millions.
    pub kernel_mega_flops: f64,
}

/// Memory a program may really use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryProof {
    pub total_bytes: u64,
    pub available_bytes: u64,
    /// What the control group allows.
    #[serde(default)]
    pub limit_bytes: Option<u64>,
}

/// The disk under the box's home.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskProof {
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// Bytes a test file took, forced to the disk.
    pub written_bytes: u64,
    /// With the flush to the disk, in bytes per second.
    pub write_bytes_per_second: f64,
}

/// One GPU as `nvidia-smi` sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuProof {
    pub index: u32,
    pub name: String,
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Whether a first kernel ran on it, through the driver's library alone, and was right.
    #[serde(default)]
    pub kernel: Kernel,
}

/// What came of a card's first kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "why")]
pub enum Kernel {
    /// Not tried: no library of the driver's, or another count of cards.
    #[default]
    Untried,
    Right,
    Failed(String),
}

/// One thing to know about a box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    pub message: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Warning,
    /// The box can't be used.
    Fatal,
}

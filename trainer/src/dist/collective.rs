//! What the processes do together.

use tch::Tensor;

use super::error::DistError;

/// Processes that compute in step. Every one of them makes the same calls in the same order.
pub trait Collective: std::fmt::Debug + Send + Sync {
    /// This process's number, from 0.
    fn rank(&self) -> u32;

    /// How many processes there are.
    fn world(&self) -> u32;

    /// Replaces the tensor, in place and on every process, by the sum of all processes' tensors.
    ///
    /// # Errors
    /// When a process is gone, or doesn't come in time.
    fn all_reduce_sum(&self, tensor: &Tensor) -> Result<(), DistError>;

    /// Replaces the tensor, in place, by that of process `root`.
    ///
    /// # Errors
    /// As [`Collective::all_reduce_sum`].
    fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<(), DistError>;

    /// Waits until every process is here.
    ///
    /// # Errors
    /// As [`Collective::all_reduce_sum`].
    fn barrier(&self) -> Result<(), DistError>;
}

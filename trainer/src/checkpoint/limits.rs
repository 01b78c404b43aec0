//! How much a checkpoint may ask of its reader.

/// Caps on what a file may hold; [`Limits::default`] is far above any model this crate trains.
///
/// Reading one takes at most 512 MB beside its tensors, whatever is in it, and its tensors at most
/// [`TENSOR_BYTES_PER_FILE_BYTE`] times the file's own size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the pickle.
    pub pickle_bytes: u64,
    /// Values the pickle may create, and values of the tree it unfolds to.
    pub values: usize,
    /// Bytes of all text in that tree.
    pub text_bytes: usize,
    /// Levels of nesting.
    pub depth: usize,
    /// Bytes of all its tensors.
    pub tensor_bytes: u64,
}

/// Tensors may share a storage, as tied weights do: then they take more memory than the file has bytes, but no more than
/// this often.
pub(super) const TENSOR_BYTES_PER_FILE_BYTE: u64 = 4;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            pickle_bytes: 32 << 20,
            values: 1_000_000,
            text_bytes: 64 << 20,
            depth: 64,
            tensor_bytes: 16 << 30,
        }
    }
}

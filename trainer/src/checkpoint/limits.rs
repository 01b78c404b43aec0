//! How much a checkpoint may ask of its reader.

/// Caps on what a file may hold; [`Limits::default`] is far above any model this crate trains.
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
    /// Bytes of one state dict's tensors.
    pub tensor_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            pickle_bytes: 64 << 20,
            values: 4_000_000,
            text_bytes: 256 << 20,
            depth: 64,
            tensor_bytes: 16 << 30,
        }
    }
}

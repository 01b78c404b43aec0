//! The proof that a device works, by a real kernel.

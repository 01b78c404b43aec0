//! Batches for training and validation.

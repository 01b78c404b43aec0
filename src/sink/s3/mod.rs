//! S3, or any store that speaks it.

mod access;
mod address;
mod errors;
mod store;
mod upload;
mod worker;

pub(crate) use access::{Access, WHERE_THE_KEY_GOES};
pub(crate) use address::{Address, SCHEME};
pub(crate) use store::S3;

#[cfg(test)]
mod tests;

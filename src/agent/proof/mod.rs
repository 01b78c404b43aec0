//! `gpurun agent proof`: what the box really has, measured before anything is installed on it.

mod collect;
mod driver;
mod findings;
mod kernel;

pub(crate) use collect::proof;

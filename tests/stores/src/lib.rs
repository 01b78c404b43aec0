//! Object stores for tests: real protocols on loopback, strict where real ones are, broken on demand.

mod s3;
mod wire;

pub use s3::{S3Fault, S3Server, StoreError};
pub use wire::Wire;

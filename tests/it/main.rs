//! Integration tests, one binary.

mod architecture;
mod docs;

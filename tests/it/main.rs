//! Integration tests, one binary.

mod architecture;
mod cost;
mod docs;

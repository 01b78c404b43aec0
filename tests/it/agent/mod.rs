//! The agent with real processes: a shell script stands for the trainer, and the test tells it what to do.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails its test")]

mod ends;
mod heartbeats;
mod life;
mod pushes;
mod support;

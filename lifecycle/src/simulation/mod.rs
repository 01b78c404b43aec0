//! A small world, pure and deterministic: boxes, a training, a destination, a clock, and everything that goes wrong.
//! It knows the truth, which the ledger only hears of.

mod acts;
mod drive;
mod looks;
mod scenario;
mod world;

mod tests;

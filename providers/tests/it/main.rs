//! Every provider: through the one conformance suite, and where things go wrong.

mod conformance;
mod harness;
mod lambda;
mod local;
mod runpod;
mod secrets;
mod vast;
mod verda;

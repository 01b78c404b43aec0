//! A small detection set of our own making: circles, rectangles and triangles on textured backgrounds.
//!
//! The objects are large, rarely overlap and are told apart by colour as well as by form, so that a small
//! model learns them from scratch within minutes. The same seed draws the same bytes.

mod draw;
mod generate;

pub use generate::{CLASS_NAMES, ShapesConfig, generate};

//! The training core of gpurun: YOLO9 on libtorch, file-compatible with LibreYOLO.
//!
//! | module | what it does |
//! |---|---|
//! | [`libtorch`] | start check of the library this was built for, CUDA when there is any |
//! | [`model`] | the network, its parameters under PyTorch's names |
//! | [`loss`] | assignment of targets to anchors and the three losses |
//! | [`optim`] | SGD, learning-rate schedules, the moving average of the weights |
//! | [`data`], [`eval`] | batches in, detections and COCO figures out |
//! | [`checkpoint`], [`run_dir`] | the files of a run |
//! | [`onnx`] | a trained network for other programs |
//! | [`dist`] | one training on several processes |
//! | [`config`], [`train`], [`smoke`] | a run, and the proof that a device works |

pub mod checkpoint;
pub mod config;
pub mod data;
pub mod dist;
pub mod eval;
pub mod libtorch;
pub mod loss;
pub mod model;
pub mod onnx;
pub mod optim;
pub mod run_dir;
pub mod signal;
pub mod smoke;
pub mod train;

mod shim;
#[cfg(test)]
mod testing;

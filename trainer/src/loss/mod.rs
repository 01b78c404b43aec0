//! Assignment of targets to anchors, and the losses.

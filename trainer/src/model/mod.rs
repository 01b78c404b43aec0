//! The YOLO9 network.

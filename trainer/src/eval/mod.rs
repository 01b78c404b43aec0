//! Non-maximum suppression and COCO figures.

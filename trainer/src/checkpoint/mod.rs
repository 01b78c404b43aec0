//! Checkpoint files: PyTorch archives, read and written without Python.

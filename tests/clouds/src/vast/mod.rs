//! Vast.ai.

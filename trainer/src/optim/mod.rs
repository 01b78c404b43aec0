//! Optimizer, schedules and the moving average of the weights.

//! Learning rate and momentum per step.

use std::f64::consts::PI;

/// How the learning rate falls after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decay {
    /// In a straight line.
    Linear,
    /// Along half a cosine wave.
    Cosine,
    /// Along half a cosine wave, after a warm-up that rises with the square of time, and constant in the last epochs.
    CosineToPlateau {
        /// How many.
        epochs: u64,
    },
}

/// A schedule's shape; a step is one update of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduleConfig {
    /// Shape of the fall.
    pub decay: Decay,
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Learning rate at step 0, at most the highest.
    pub warmup_start: f64,
    /// Last learning rate as a share of the highest.
    pub min_ratio: f64,
    /// Momentum after the warm-up.
    pub momentum: f64,
    /// Momentum at step 0. Only the linear schedule warms it up, as LibreYOLO does.
    pub warmup_momentum: f64,
    /// Steps of an epoch.
    pub steps_per_epoch: u64,
    /// Epochs of the warm-up.
    pub warmup_epochs: u64,
    /// Epochs in all.
    pub epochs: u64,
}

/// Gives the learning rate and the momentum of each step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule(ScheduleConfig);

impl Schedule {
    /// A schedule of this shape.
    #[must_use]
    pub fn new(config: ScheduleConfig) -> Self {
        Self(config)
    }

    #[cfg(test)]
    pub(super) fn config(&self) -> &ScheduleConfig {
        &self.0
    }

    /// Learning rate of the step with this index, from 0.
    #[must_use]
    pub fn learning_rate(&self, step: u64) -> f64 {
        let config = &self.0;
        let start = config.warmup_start.min(config.learning_rate);
        let end = config.learning_rate * config.min_ratio;
        if let Some(share) = self.warmup_share(step) {
            let share = match config.decay {
                Decay::Linear | Decay::Cosine => share,
                Decay::CosineToPlateau { .. } => share * share,
            };
            return start + (config.learning_rate - start) * share;
        }
        let fall = config.learning_rate - end;
        let progress = self.progress(step);
        match config.decay {
            Decay::Linear => config.learning_rate - fall * progress,
            Decay::Cosine | Decay::CosineToPlateau { .. } => {
                end + 0.5 * fall * (1.0 + (PI * progress).cos())
            }
        }
    }

    /// Momentum of the step with this index, from 0.
    #[must_use]
    pub fn momentum(&self, step: u64) -> f64 {
        let config = &self.0;
        match (config.decay, self.warmup_share(step)) {
            (Decay::Linear, Some(share)) => {
                config.warmup_momentum + (config.momentum - config.warmup_momentum) * share
            }
            _ => config.momentum,
        }
    }

    fn warmup_steps(&self) -> u64 {
        self.0.warmup_epochs * self.0.steps_per_epoch
    }

    /// How much of the warm-up is over, while it lasts.
    fn warmup_share(&self, step: u64) -> Option<f64> {
        let steps = self.warmup_steps();
        (step < steps).then(|| ratio(step, steps))
    }

    /// How much of the fall is over.
    fn progress(&self, step: u64) -> f64 {
        let plateau = match self.0.decay {
            Decay::Linear | Decay::Cosine => 0,
            Decay::CosineToPlateau { epochs } => epochs,
        };
        let end = self.0.epochs.saturating_sub(plateau) * self.0.steps_per_epoch;
        let warmup = self.warmup_steps();
        if plateau > 0 && step >= end && (step > warmup || warmup == 0) {
            return 1.0;
        }
        ratio(step - warmup, end.saturating_sub(warmup).max(1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "step counts are far below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn config() -> ScheduleConfig {
        ScheduleConfig {
            decay: Decay::Cosine,
            learning_rate: 0.01,
            warmup_start: 1e-4,
            min_ratio: 0.01,
            momentum: 0.937,
            warmup_momentum: 0.8,
            steps_per_epoch: 2,
            warmup_epochs: 3,
            epochs: 13,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-15, "{found}, not {expected}");
    }

    #[test]
    fn cosine_falls_along_half_a_wave_and_keeps_the_momentum() {
        let schedule = Schedule::new(config());
        near(schedule.learning_rate(0), 1e-4);
        near(schedule.learning_rate(3), 0.00505);
        near(schedule.learning_rate(6), 0.01);
        near(schedule.learning_rate(16), 0.00505);
        near(schedule.learning_rate(26), 1e-4);
        near(schedule.momentum(0), 0.937);
    }

    #[test]
    fn a_low_learning_rate_is_not_overshot_by_the_warmup() {
        let schedule = Schedule::new(ScheduleConfig {
            learning_rate: 1e-5,
            ..config()
        });
        near(schedule.learning_rate(0), 1e-5);
        near(schedule.learning_rate(5), 1e-5);
    }

    #[test]
    fn no_warmup_starts_at_the_top() {
        let schedule = Schedule::new(ScheduleConfig {
            warmup_epochs: 0,
            decay: Decay::Linear,
            ..config()
        });
        near(schedule.learning_rate(0), 0.01);
        near(schedule.momentum(0), 0.937);
    }

    #[test]
    fn a_run_shorter_than_its_warmup_only_rises() {
        let schedule = Schedule::new(ScheduleConfig {
            epochs: 2,
            ..config()
        });
        near(schedule.learning_rate(4), 1e-4 + 0.0099 * 4.0 / 6.0);
    }
}

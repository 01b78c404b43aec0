//! A launch and a training as they go by: a bar on a terminal, a line per epoch elsewhere.

use super::{Ui, format};
use chrono::TimeDelta;
use indicatif::{ProgressBar, ProgressStyle};

/// One look at a training.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Progress {
    /// Finished epochs.
    pub(crate) epoch: u32,
    pub(crate) total_epochs: u32,
    /// Steps done in the epoch in flight, and steps of one epoch.
    pub(crate) step: Option<(u64, u64)>,
    pub(crate) loss: Option<f64>,
    pub(crate) best: Option<(String, f64)>,
    pub(crate) eta_seconds: Option<u64>,
    /// What the run has cost so far, as money reads.
    pub(crate) so_far: String,
}

impl Progress {
    fn words(&self) -> String {
        let mut words = match self.total_epochs {
            0 => "starting".to_owned(),
            total => format!("epoch {}/{total}", self.epoch),
        };
        if let Some(loss) = self.loss {
            words.push_str(&format!(" · loss {loss:.2}"));
        }
        if let Some((name, value)) = &self.best {
            let name = name.trim_start_matches("metrics/");
            words.push_str(&format!(" · best {name} {value:.3}"));
        }
        if let Some(eta) = self.eta_seconds {
            let eta = TimeDelta::seconds(i64::try_from(eta).unwrap_or(i64::MAX / 1000));
            words.push_str(&format!(" · ETA {}", format::span(eta)));
        }
        words.push_str(&format!(" · {} so far", self.so_far));
        words
    }

    /// Position and length of a bar with a thousand parts an epoch.
    fn position(&self) -> (u64, u64) {
        let within = match self.step {
            Some((step, steps)) if steps > 0 && self.epoch < self.total_epochs => {
                1000 * step.min(steps) / steps
            }
            _ => 0,
        };
        (
            u64::from(self.epoch) * 1000 + within,
            u64::from(self.total_epochs) * 1000,
        )
    }
}

/// Shows one training from its first look to its last.
pub(crate) struct Follower {
    ui: Ui,
    bar: Option<ProgressBar>,
    last_epoch: Option<u32>,
}

impl Follower {
    pub(crate) fn new(ui: Ui) -> Self {
        Self {
            ui,
            bar: None,
            last_epoch: None,
        }
    }

    /// Shows a look.
    pub(crate) fn show(&mut self, progress: &Progress) {
        if self.ui.interactive {
            let (position, length) = progress.position();
            let bar = self.bar.get_or_insert_with(|| bar(length));
            bar.set_length(length);
            bar.set_position(position);
            bar.set_message(progress.words());
        } else if self.last_epoch != Some(progress.epoch) {
            self.ui.talk(&format!("  {}", progress.words()));
        }
        self.last_epoch = Some(progress.epoch);
    }

    /// Takes the bar away, so that what comes next stands on clean lines.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// A line that stays, above the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.ui.talk(line)),
            None => self.ui.talk(line),
        }
    }
}

fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("  {bar:24} {percent:>3} % · {msg}")
        .expect("the template is constant and valid");
    ProgressBar::new(length).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress {
            epoch: 37,
            total_epochs: 100,
            step: Some((5, 20)),
            loss: Some(4.066),
            best: Some(("metrics/mAP50-95".to_owned(), 0.4117)),
            eta_seconds: Some(25_920),
            so_far: "$15.83".to_owned(),
        }
    }

    #[test]
    fn one_line_says_where_it_is_and_what_it_costs() {
        assert_eq!(
            progress().words(),
            "epoch 37/100 · loss 4.07 · best mAP50-95 0.412 · ETA 7 h 12 min · $15.83 so far"
        );
    }

    #[test]
    fn the_bar_moves_within_an_epoch_and_never_past_the_end() {
        assert_eq!(progress().position(), (37_250, 100_000));
        let done = Progress {
            epoch: 100,
            ..progress()
        };
        assert_eq!(done.position(), (100_000, 100_000));
    }
}

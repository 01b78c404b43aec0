//! The steps of a launch or a teardown, one line each when it is through.

use super::{Ui, format};
use chrono::TimeDelta;
use gpurun_lifecycle::{Action, ActionResult, Plan};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Shows the actions of passes as they go by.
pub(crate) struct Steps {
    ui: Ui,
    started: Instant,
    spinner: Option<ProgressBar>,
    told: BTreeSet<String>,
}

impl Steps {
    pub(crate) fn new(ui: Ui) -> Self {
        Self {
            ui,
            started: Instant::now(),
            spinner: None,
            told: BTreeSet::new(),
        }
    }

    pub(crate) fn begins(&mut self, action: &Action) {
        self.started = Instant::now();
        if self.ui.interactive {
            let style = ProgressStyle::with_template(" {spinner} {msg} {elapsed}")
                .expect("the template is constant and valid");
            let spinner = ProgressBar::new_spinner().with_style(style);
            spinner.set_message(action.step().describe());
            spinner.enable_steady_tick(Duration::from_millis(120));
            self.spinner = Some(spinner);
        }
    }

    pub(crate) fn ends(&mut self, action: &Action, result: &ActionResult) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
        self.ui.talk(&line(action, result, self.started.elapsed()));
    }

    /// What a plan wants a person to know and that wasn't said before.
    pub(crate) fn news(&mut self, plan: &Plan) -> Vec<String> {
        plan.attention
            .iter()
            .map(|attention| format!("{}; {}", attention.message, attention.remedy))
            .filter(|text| self.told.insert(text.clone()))
            .collect()
    }
}

fn line(action: &Action, result: &ActionResult, took: Duration) -> String {
    let what = action.step().describe();
    let took = TimeDelta::from_std(took).unwrap_or(TimeDelta::MAX);
    match result {
        ActionResult::Done {
            instance: Some(id), ..
        } => {
            format!(" ✓ {what:<30} {:>9}   {id}", format::span(took))
        }
        ActionResult::Done { .. } => {
            format!(" ✓ {what:<30} {:>9}", format::span(took))
        }
        ActionResult::Failed { message, .. } | ActionResult::Unfit { message } => {
            format!(" ✗ {what}: {message}")
        }
        ActionResult::Unclear { message } => format!(" ? {what}: {message}"),
    }
}

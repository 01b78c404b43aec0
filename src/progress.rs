//! From a look to what a follower shows.

use crate::observe::Look;
use crate::ui::Progress;
use gpurun_lifecycle::RunRecord;

pub(crate) fn of(run: &RunRecord, look: &Look) -> Progress {
    let now = look.observation.now;
    let training = look.observation.training.value();
    let status = look
        .report
        .as_ref()
        .and_then(|report| report.status.as_ref());
    Progress {
        epoch: training.and_then(|training| training.epoch).unwrap_or(0),
        total_epochs: training
            .and_then(|training| training.total_epochs)
            .unwrap_or(0),
        step: status.and_then(|status| status.step.zip(status.steps_per_epoch)),
        loss: status.and_then(|status| status.train_loss),
        best: training
            .and_then(|training| training.best.as_ref())
            .map(|best| (best.name.clone(), best.value)),
        eta_seconds: training.and_then(|training| training.eta_seconds),
        so_far: run.spent(now).to_string(),
    }
}

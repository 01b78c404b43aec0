//! What the box itself says.

use crate::remote::{Command, WayIn};
use crate::shell::Shell;
use gpurun_lifecycle::{AgentState, Phase, RunRecord, StallRule, TrainingState, TrainingView};
use gpurun_protocol::report::BoxReport;
use std::time::Duration;

/// A report reads a few small files; a box that takes longer has a problem worth seeing.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// The box's report; `None` when nothing was ever launched there, so that there is nothing to ask.
pub(super) async fn report(
    shell: &Shell,
    run: &RunRecord,
    way_in: &WayIn,
) -> Result<Option<BoxReport>, String> {
    if run.launches == 0 && run.phase < Phase::Installed {
        return Ok(None);
    }
    let remote = shell
        .connections
        .connect(way_in)
        .await
        .map_err(|error| error.to_string())?;
    let command = Command::agent(&["report"]).timeout(REPORT_TIMEOUT);
    let output = remote
        .exec(&command)
        .await
        .map_err(|error| error.to_string())?;
    if !output.success() {
        return Err(format!(
            "`gpurun agent report` on the box: {}",
            output.why()
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map(Some)
        .map_err(|error| format!("the box's report can't be read: {error}"))
}

pub(super) fn judge(run: &RunRecord, report: &BoxReport) -> TrainingView {
    let rule = StallRule {
        seconds: run.spec.stop.stall_seconds,
        epochs: run.spec.stop.stall_epochs,
    };
    gpurun_lifecycle::judge(report, run.spec.install.engine, rule)
}

pub(crate) fn never_launched() -> TrainingView {
    TrainingView {
        state: TrainingState::NotLaunched,
        attempt: None,
        epoch: None,
        total_epochs: None,
        best: None,
        eta_seconds: None,
        mean_epoch_milliseconds: None,
        last_progress_at: None,
        started_at: None,
        ended_at: None,
        error: None,
        exit_code: None,
        signal: None,
        agent: AgentState::Missing,
    }
}

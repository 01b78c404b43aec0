//! What the box itself says.

use crate::outbox;
use crate::remote::{Command, WayIn};
use crate::shell::Shell;
use crate::sink;
use gpurun_lifecycle::{AgentState, Phase, RunRecord, StallRule, TrainingState, TrainingView};
use gpurun_protocol::report::BoxReport;
use gpurun_providers::Access;
use std::time::Duration;

/// A report reads a few small files; a box that takes longer has a problem worth seeing.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// A box's report, as it looks from this machine.
pub(super) struct Told {
    pub(super) report: BoxReport,
    /// Checkpoints that the box holds ready and that aren't here.
    pub(super) to_fetch: Vec<String>,
}

/// The box's report; `None` when nothing was ever launched there, so that there is nothing to ask.
pub(super) async fn report(
    shell: &Shell,
    run: &RunRecord,
    way_in: &WayIn,
) -> Result<Option<Told>, String> {
    if run.launches == 0 && run.phase < Phase::Installed {
        return Ok(None);
    }
    let mut report = as_told(shell, way_in).await?;
    let to_fetch = match way_in.access {
        Access::Local { .. } => Vec::new(),
        // A store's content was verified by the box, and is as far from it as from here.
        Access::Ssh(_) if sink::is_store(&run.spec.checkpoints.to) => Vec::new(),
        Access::Ssh(_) => outbox::seen_from_here(run, &mut report),
    };
    Ok(Some(Told { report, to_fetch }))
}

/// The same in the box's own words.
pub(super) async fn as_told(shell: &Shell, way_in: &WayIn) -> Result<BoxReport, String> {
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

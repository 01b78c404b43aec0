//! The data set before money: checked, counted, fingerprinted; refused when training on it can't be right.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job::{Job, StagedData};
use crate::settings::Settings;
use crate::stage::{self, Examination};
use crate::ui::Ui;
use gpurun_dataset::check::{CheckOptions, Finding, Severity};
use gpurun_lifecycle::Engine;
use gpurun_pricing::Gigabytes;
use rust_decimal_macros::dec;
use std::path::Path;

/// Examines the job's data set and says what is wrong with it; `None` when the job has none.
///
/// A command's data is only measured: nobody knows what form it should have.
pub(crate) fn prepare(
    job: &Job,
    settings: &Settings,
    allow_data_errors: bool,
    ui: &Ui,
) -> Result<Option<StagedData>> {
    let Some(source) = &job.spec.data else {
        return Ok(None);
    };
    if job.spec.engine == Engine::Command {
        return Ok(Some(stage::pack(source)?));
    }
    let options = CheckOptions {
        decode: true,
        threads: std::thread::available_parallelism().map_or(1, Into::into),
    };
    let scratch = settings.state.join("scratch");
    let examined = stage::examine(source, &scratch, options)?;
    for finding in &examined.report.findings {
        ui.talk(&line(finding));
    }
    refuse(&examined, source, allow_data_errors)?;
    Ok(Some(examined.data?))
}

fn refuse(examined: &Examination, source: &Path, allow_data_errors: bool) -> Result<()> {
    let errors = examined.report.count(Severity::Error);
    if !examined.has_errors() || allow_data_errors {
        return Ok(());
    }
    let noun = if errors == 1 { "error" } else { "errors" };
    let first = examined
        .report
        .findings
        .iter()
        .find(|finding| finding.severity == Severity::Error)
        .map_or_else(String::new, line);
    Err(Failure::new(
        ExitCode::Data,
        format!(
            "{errors} data {noun} in {}; nothing was rented\n{first}",
            source.display()
        ),
        "mend them, or launch in spite of them with --allow-data-errors: the trainer skips what it can't use",
    ))
}

/// "error labels.syntax: 2 lines …: /data/labels/a.txt:3 (remedy)"
fn line(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let places: Vec<String> = finding
        .places
        .iter()
        .take(3)
        .map(ToString::to_string)
        .collect();
    let more = finding.count.saturating_sub(places.len());
    let places = match (places.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" [{}]", places.join(", ")),
        (false, more) => format!(" [{} and {more} more]", places.join(", ")),
    };
    let remedy = if finding.remedy.is_empty() {
        String::new()
    } else {
        format!("; {}", finding.remedy)
    };
    format!(
        " {severity:<8} {}: {}{places}{remedy}",
        finding.id, finding.message
    )
}

/// Rented disks are at least this large: some providers let no smaller one, and a cent buys it.
const SMALLEST_RENTED: Gigabytes = Gigabytes::new(dec!(10));

/// The box's disk: as the job says, else on this machine the configuration, else what the job needs and 30 percent more.
pub(crate) fn disk(
    job: &Job,
    settings: &Settings,
    data: Option<&StagedData>,
    local: bool,
) -> Gigabytes {
    let need = stage::disk_need(&job.spec, data);
    let usual = if local {
        settings.local_disk.unwrap_or(need.advised)
    } else {
        // Each checkpoint lies there twice until it was fetched from the outbox.
        let outbox = Gigabytes::new(Gigabytes::from_bytes(need.checkpoints).amount().ceil());
        (need.advised + outbox).max(SMALLEST_RENTED)
    };
    job.spec.disk.unwrap_or(usual)
}

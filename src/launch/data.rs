//! The data set before money: checked, counted, fingerprinted; refused when training on it can't be right.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job::{Job, StagedData};
use crate::settings::Settings;
use crate::stage::{self, DiskOf, Examination};
use crate::ui::{self, Ui};
use gpurun_dataset::check::{CheckOptions, Severity};
use gpurun_lifecycle::Engine;
use gpurun_pricing::{DiskNeed, Gigabytes};
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
    let scratch = settings.state.join("scratch");
    let examined = stage::examine(source, &scratch, &CheckOptions::default())?;
    for finding in &examined.report.findings {
        ui.talk(&format!(" {}", ui::finding(finding)));
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
        .map_or_else(String::new, |finding| format!(" {}", ui::finding(finding)));
    Err(Failure::new(
        ExitCode::Data,
        format!(
            "{errors} data {noun} in {}; nothing was rented\n{first}",
            source.display()
        ),
        "mend them, or launch in spite of them with --allow-data-errors: the trainer skips what it can't use",
    ))
}

/// A box's disk, and what it is for.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) size: Gigabytes,
    pub(crate) need: DiskNeed,
}

/// The box's disk: as the job says, else on this machine the configuration, else what the job needs and 30 percent more.
///
/// # Errors
/// A disk that is named and too small: it can't grow, and would end the training when it is full.
pub(crate) fn disk(
    job: &Job,
    settings: &Settings,
    data: Option<&StagedData>,
    of: DiskOf,
) -> Result<Disk> {
    let need = stage::disk_need(&job.spec, data.map_or(0, |data| data.bytes), of);
    let usual = match of {
        DiskOf::Local => settings.local_disk.unwrap_or(need.advised),
        DiskOf::Rented => need.advised,
    };
    if let Some(size) = job.spec.disk
        && !need.fits(size)
    {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("a disk of {size} is too small: {}", need.sum()),
            format!(
                "leave the disk out, or give at least {}: a disk can't grow",
                need.advised
            ),
        ));
    }
    Ok(Disk {
        size: job.spec.disk.unwrap_or(usual),
        need,
    })
}

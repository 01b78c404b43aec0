use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job::{self, JobArgs, JobSpec};
use crate::shell;
use crate::stage::{self, DiskOf};
use crate::ui::{Column, Ui, format, table};
use gpurun_pricing::{DiskNeed, DiskPart, Gigabytes};
use serde::Serialize;

/// Say how large a disk a job needs, and what for
///
/// A disk is billed by what is allocated and can't grow. This adds up the data as it lies on the box, the
/// checkpoints that are kept, what is installed, and 30 percent on top; `launch` takes the same without --disk
/// and refuses a smaller one. Nothing is read but names and sizes.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gpurun size data/                                   yolo9-t on a rented GPU
  gpurun size data/ --model yolox-l --epochs 100 --save-period 5
  gpurun size set.tar --engine libreyolo
  gpurun size gpurun.toml                             the job's")]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
}

#[derive(Serialize)]
struct Document {
    parts: Vec<DiskPart>,
    /// In GB.
    advised: u64,
    sum: String,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let settings = shell::settings()?;
        let current = std::env::current_dir().map_err(|error| {
            Failure::new(
                ExitCode::Failure,
                format!("the current directory can't be read: {error}"),
                "change into a directory that is there",
            )
        })?;
        let arguments = self.job.of_data_set(&current);
        let job = job::load(arguments, &settings.defaults, &current)?;
        let bytes = job.spec.data.as_deref().map_or(Ok(0), stage::measure)?;
        let need = stage::disk_need(&job.spec, bytes, disk_of(&job.spec));
        if ui.json {
            ui.json(&document(&need));
            return Ok(ExitCode::Success);
        }
        ui.data(&page(&need));
        Ok(ExitCode::Success)
    }
}

fn disk_of(job: &JobSpec) -> DiskOf {
    if job.gpu.count() == 0 || job.provider.as_deref() == Some("local") {
        return DiskOf::Local;
    }
    DiskOf::Rented
}

fn document(need: &DiskNeed) -> Document {
    Document {
        parts: need.parts.clone(),
        advised: need.advised.to_bytes() / Gigabytes::new(1.into()).to_bytes(),
        sum: need.sum(),
    }
}

fn page(need: &DiskNeed) -> String {
    let rows = need.parts.iter().map(|part| {
        vec![
            part.what.clone(),
            format::bytes(part.bytes),
            part.sum.clone().unwrap_or_default(),
        ]
    });
    let columns = [
        Column::Text("what"),
        Column::Number("size"),
        Column::Text("of"),
    ];
    format!("{}\n\n {}", table(&columns, rows.collect()), need.sum())
}

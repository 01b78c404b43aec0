use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::ui::{self, Ui};
use gpurun_dataset::check::{
    CheckOptions, CheckSelection, Finding, Report, Severity, Stats, check, obstacles,
};
use serde::Serialize;
use std::path::PathBuf;

/// Find what is wrong with a data set before a GPU is paid for
///
/// The checks are those of LibreYOLO 1.6.0's doctor, by the same names and bounds, with the line of each
/// fault and a remedy. Exits with 1 when there are errors. `launch` runs them too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  gpurun doctor data/            the folder that holds data.yaml
  gpurun doctor data.yaml --imgsz 320 --strict
  gpurun doctor data/ --fast     labels only: images aren't read
  gpurun doctor data/ --only labels,files --skip labels.tiny_object")]
pub(crate) struct Args {
    /// The data set: its .yaml file, or the folder that holds it
    #[arg(value_name = "DIR|YAML")]
    data: PathBuf,
    /// The longer side of an image in training, in pixels: what an object is too small for
    #[arg(long, default_value_t = 640, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..))]
    imgsz: u32,
    /// Don't read images: no check for broken, duplicate or leaked ones
    #[arg(long)]
    fast: bool,
    /// Leave these checks or families of checks out
    #[arg(long, value_delimiter = ',', value_name = "CHECK,…")]
    skip: Vec<String>,
    /// Run no other checks or families of checks
    #[arg(long, value_delimiter = ',', value_name = "CHECK,…")]
    only: Vec<String>,
    /// Exit with 1 when there are warnings, too
    #[arg(long)]
    strict: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    summary: Summary,
    stats: &'a Stats,
    findings: &'a [Finding],
    skipped_checks: &'a [&'static str],
    /// What `launch` would refuse besides.
    launch_refuses: &'a [Finding],
    data: &'a PathBuf,
    exit_code: u8,
}

#[derive(Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    infos: usize,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let options = CheckOptions {
            selection: self.selection()?,
            imgsz: self.imgsz,
            ..CheckOptions::default()
        };
        let report = check(&self.data, &options).map_err(|error| {
            Failure::new(
                ExitCode::Data,
                error.to_string(),
                "name a data.yaml with 'train', 'val' and 'names', or the folder that holds it",
            )
        })?;
        let obstacles = obstacles(&self.data, &report.stats);
        let exit_code = self.exit_code(&report);
        if ui.json {
            ui.json(&self.document(&report, &obstacles, exit_code));
            return Ok(exit_code);
        }
        ui.data(&ui::doctor(&report));
        for obstacle in &obstacles {
            ui.talk(&format!(
                "launch would refuse this: {}",
                ui::finding(obstacle)
            ));
        }
        Ok(exit_code)
    }

    fn selection(&self) -> Result<CheckSelection> {
        let selection = CheckSelection::of(&self.only, &self.skip);
        let selection = if self.fast {
            selection.and_then(CheckSelection::without_images)
        } else {
            selection
        };
        selection.map_err(|error| {
            Failure::new(
                ExitCode::Usage,
                error.to_string(),
                "gpurun doctor --help has examples",
            )
        })
    }

    fn exit_code(&self, report: &Report) -> ExitCode {
        let is_bad =
            report.count(Severity::Error) > 0 || self.strict && report.count(Severity::Warning) > 0;
        if is_bad {
            ExitCode::Failure
        } else {
            ExitCode::Success
        }
    }

    fn document<'a>(
        &'a self,
        report: &'a Report,
        obstacles: &'a [Finding],
        exit_code: ExitCode,
    ) -> Document<'a> {
        Document {
            summary: Summary {
                errors: report.count(Severity::Error),
                warnings: report.count(Severity::Warning),
                infos: report.count(Severity::Info),
            },
            stats: &report.stats,
            findings: &report.findings,
            skipped_checks: &report.skipped_checks,
            launch_refuses: obstacles,
            data: &self.data,
            exit_code: exit_code.number(),
        }
    }
}

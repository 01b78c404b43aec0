use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::observe;
use crate::shell::{self, block_on};
use crate::ui::{Column, Ui, format, table};
use gpurun_pricing::estimate::{Estimate, JobShape, TrainingTime};
use gpurun_pricing::offer::{RankedOffer, rank};
use gpurun_pricing::{Gigabytes, GpuRequest, HourlyRate, Hours, Money, Offer};
use rust_decimal::Decimal;
use serde::Serialize;

/// Show what can be rented now, ranked by what the whole job would cost
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to train on: 4090x8, h100x1, cpu
    #[arg(long, default_value = "cpu")]
    gpu: GpuRequest,
    /// Disk in GB
    #[arg(long, default_value_t = Decimal::TEN, value_name = "GB")]
    disk: Decimal,
    /// How long the job is, in hours
    #[arg(long, default_value_t = Decimal::TEN, value_name = "HOURS")]
    hours: Decimal,
    /// Only this provider
    #[arg(long)]
    provider: Option<String>,
}

#[derive(Serialize)]
struct Document {
    offers: Vec<Ranked>,
    /// Providers that couldn't be asked, and why.
    failed: Vec<String>,
}

/// The figures the offers are ranked by, and what they come from.
#[derive(Serialize)]
struct Ranked {
    #[serde(serialize_with = "format::rate")]
    running_per_hour: HourlyRate,
    #[serde(serialize_with = "format::rate")]
    stopped_per_hour: HourlyRate,
    #[serde(serialize_with = "format::money")]
    job_cost: Money,
    offer: Offer,
    estimate: Estimate,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let settings = shell::settings()?;
        let providers = shell::markets(&settings);
        let disk = Gigabytes::new(self.disk);
        let job = JobShape {
            setup: Hours::ZERO,
            staging: Hours::ZERO,
            training: TrainingTime::Expected(Hours::new(self.hours)),
            teardown: Hours::ZERO,
            disk,
            inbound: Gigabytes::ZERO,
            outbound: Gigabytes::ZERO,
        };
        if let Some(name) = &self.provider
            && shell::provider(&providers, name).is_none()
        {
            let known: Vec<&str> = providers.iter().map(|known| known.name()).collect();
            return Err(Failure::new(
                ExitCode::Usage,
                format!("there is no provider `{name}`"),
                format!("one of: {}", known.join(", ")),
            ));
        }
        let mut found: Vec<Offer> = Vec::new();
        let mut failed = Vec::new();
        for provider in &providers {
            if self
                .provider
                .as_deref()
                .is_some_and(|name| name != provider.name())
            {
                continue;
            }
            match block_on(observe::offers(provider.as_ref(), &self.gpu, disk, None)) {
                Ok(offers) => found.extend(offers),
                Err(error) => failed.push(error.to_string()),
            }
        }
        let offers = rank(found, &self.gpu, &job);
        show(ui, &self, offers, &job, failed)
    }
}

fn show(
    ui: &Ui,
    args: &Args,
    offers: Vec<RankedOffer>,
    job: &JobShape,
    failed: Vec<String>,
) -> Result<ExitCode> {
    let disk = Gigabytes::new(args.disk);
    let offers: Vec<Ranked> = offers
        .into_iter()
        .map(|ranked| Ranked {
            running_per_hour: ranked.offer.card.running_rate(disk),
            stopped_per_hour: ranked.offer.card.stopped_rate(disk),
            job_cost: ranked.total,
            estimate: ranked.estimate(job),
            offer: ranked.offer,
        })
        .collect();
    if ui.json {
        let code = match offers.is_empty() {
            true => ExitCode::Provider,
            false => ExitCode::Success,
        };
        ui.json(&Document { offers, failed });
        return Ok(code);
    }
    for failure in &failed {
        ui.talk(&format!(" ! {failure}"));
    }
    if offers.is_empty() {
        return Err(Failure::new(
            ExitCode::Provider,
            format!("nobody that can be asked rents {}", args.gpu),
            "`gpurun cost --gpu NAME` knows list prices; `gpurun launch -n --gpu NAME` says which keys are missing",
        ));
    }
    let rows = offers
        .iter()
        .map(|found| {
            let offer = &found.offer;
            vec![
                offer.provider.clone(),
                offer.id.clone(),
                offer.gpu.describe(),
                found.running_per_hour.figure(),
                found.stopped_per_hour.figure(),
                found.job_cost.figure(),
            ]
        })
        .collect();
    ui.data(&table(
        &[
            Column::Text("provider"),
            Column::Text("offer"),
            Column::Text("box"),
            Column::Number("$/h running"),
            Column::Number("$/h stopped"),
            Column::Number("$ for the job"),
        ],
        rows,
    ));
    Ok(ExitCode::Success)
}

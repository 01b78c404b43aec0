use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job;
use crate::observe;
use crate::shell::{self, block_on};
use crate::ui::{Column, Ui, format, table};
use clap::builder::TypedValueParser;
use gpurun_pricing::estimate::{Estimate, JobShape, TrainingTime};
use gpurun_pricing::{
    CudaVersion, Gigabytes, GpuRequest, HourlyRate, Hours, Market, Money, Offer, OfferFilter,
    Probability, Selection, select,
};
use gpurun_providers::{OfferRequest, Provider};
use rust_decimal::Decimal;
use serde::Serialize;
use std::collections::BTreeMap;

/// Show what can be rented now, ranked by what the whole job would cost
///
/// Every provider is asked at once; one that doesn't answer is named and holds nobody up. The cost of a job is compute,
/// disk and traffic, all in.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to train on: 4090x8, h100x1, cpu
    #[arg(long, default_value = "cpu")]
    gpu: GpuRequest,
    /// Disk in GB
    #[arg(long, default_value = "10", value_name = "GB", value_parser = size())]
    disk: Gigabytes,
    /// How long the job is, in hours
    #[arg(long, default_value_t = Decimal::TEN, value_name = "HOURS")]
    hours: Decimal,
    /// Data onto the box, in GB
    #[arg(long, default_value = "0", value_name = "GB", value_parser = size())]
    inbound: Gigabytes,
    /// Weights and data from the box, in GB
    #[arg(long, default_value = "0", value_name = "GB", value_parser = size())]
    outbound: Gigabytes,
    /// Only this provider
    #[arg(long)]
    provider: Option<String>,
    /// The most a running box may cost an hour, its disk included
    #[arg(long, value_name = "USD")]
    max_price: Option<Decimal>,
    /// Part of the region's name
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// How often the host must have kept what it promised, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    reliability: Option<Probability>,
    /// The slowest download, in Mbit/s
    #[arg(long, value_name = "MBITS")]
    download: Option<Decimal>,
    /// The oldest CUDA that the driver must run
    #[arg(long, value_name = "VERSION")]
    cuda: Option<CudaVersion>,
    /// How long the host must still be let, in hours, where that is longer than the job
    #[arg(long, value_name = "HOURS")]
    remaining: Option<Decimal>,
    /// Machines too that the provider doesn't vouch for
    #[arg(long)]
    unverified: bool,
    /// Boxes that may be taken away, for less
    #[arg(long)]
    spot: bool,
    /// Say of each offer that won't do why
    #[arg(long)]
    explain: bool,
}

fn size() -> impl TypedValueParser<Value = Gigabytes> {
    clap::builder::StringValueParser::new().try_map(|text| {
        if text.trim() == "0" {
            return Ok(Gigabytes::ZERO);
        }
        job::gigabytes(&text)
            .map(|size| Gigabytes::new(size.into()))
            .map_err(|wrong| format!("{}: write {}", wrong.message, wrong.expected))
    })
}

#[derive(Serialize)]
struct Document {
    offers: Vec<Ranked>,
    /// Offers that won't do, where `--explain` asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<Rejected>,
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

#[derive(Serialize)]
struct Rejected {
    reason: String,
    offer: Offer,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let settings = shell::settings()?;
        let providers = shell::markets(&settings);
        let asked = self.asked(&providers)?;
        let request = OfferRequest {
            market: self.market(),
            ..OfferRequest::new(self.gpu.clone(), self.disk)
        };
        let (found, unread) = block_on(observe::search_all(&asked, &request));
        let job = self.job();
        let selection = select(&found, &self.gpu, &job, &self.filter());
        let failed: Vec<String> = unread.iter().map(ToString::to_string).collect();
        self.show(ui, selection, &job, failed)
    }

    fn asked<'a>(&self, providers: &'a [Box<dyn Provider>]) -> Result<Vec<&'a dyn Provider>> {
        if let Some(name) = &self.provider
            && shell::provider(providers, name).is_none()
        {
            let known: Vec<&str> = providers.iter().map(|known| known.name()).collect();
            return Err(Failure::new(
                ExitCode::Usage,
                format!("there is no provider `{name}` that can be asked"),
                format!(
                    "one of: {}; `gpurun providers` says which keys are missing",
                    known.join(", ")
                ),
            ));
        }
        let wanted = self.provider.as_deref();
        let asked = providers.iter().map(AsRef::as_ref);
        Ok(asked
            .filter(|provider: &&dyn Provider| wanted.is_none_or(|name| name == provider.name()))
            .collect())
    }

    fn job(&self) -> JobShape {
        JobShape {
            setup: Hours::ZERO,
            staging: Hours::ZERO,
            training: TrainingTime::Expected(Hours::new(self.hours)),
            teardown: Hours::ZERO,
            disk: self.disk,
            inbound: self.inbound,
            outbound: self.outbound,
        }
    }

    fn market(&self) -> Market {
        match self.spot {
            true => Market::Interruptible,
            false => Market::OnDemand,
        }
    }

    fn filter(&self) -> OfferFilter {
        OfferFilter {
            max_price: self.max_price.map(HourlyRate::new),
            region: self.region.clone(),
            reliability: self.reliability,
            download: self.download,
            cuda: self.cuda,
            remaining: self.remaining.map(Hours::new),
            unverified: self.unverified,
            market: self.market(),
        }
    }

    fn show(
        &self,
        ui: &Ui,
        selection: Selection<'_>,
        job: &JobShape,
        failed: Vec<String>,
    ) -> Result<ExitCode> {
        let offers: Vec<Ranked> = selection
            .ranked
            .into_iter()
            .map(|ranked| Ranked {
                running_per_hour: ranked.offer.card.running_rate(self.disk),
                stopped_per_hour: ranked.offer.card.stopped_rate(self.disk),
                job_cost: ranked.total,
                estimate: ranked.estimate(job),
                offer: ranked.offer.clone(),
            })
            .collect();
        let rejected: Vec<Rejected> = selection
            .rejected
            .into_iter()
            .map(|(offer, reason)| Rejected {
                reason: reason.to_string(),
                offer: offer.clone(),
            })
            .collect();
        if ui.json {
            let code = match offers.is_empty() {
                true => ExitCode::Provider,
                false => ExitCode::Success,
            };
            ui.json(&Document {
                offers,
                rejected: if self.explain { rejected } else { Vec::new() },
                failed,
            });
            return Ok(code);
        }
        for failure in &failed {
            ui.talk(&format!(" ! {failure}"));
        }
        if self.explain {
            explain(ui, &rejected);
        }
        if offers.is_empty() {
            return Err(self.nothing(&rejected));
        }
        ui.data(&listed(&offers));
        if !rejected.is_empty() && !self.explain {
            ui.talk(&format!(
                " {} more won't do: {}; --explain names each",
                rejected.len(),
                reasons(&rejected)
            ));
        }
        Ok(ExitCode::Success)
    }

    fn nothing(&self, rejected: &[Rejected]) -> Failure {
        let mut message = format!("nobody that can be asked rents {} like this", self.gpu);
        if !rejected.is_empty() {
            let reasons = reasons(rejected);
            message.push_str(&format!("; {} won't do: {reasons}", rejected.len()));
        }
        Failure::new(
            ExitCode::Provider,
            message,
            "`gpurun cost --gpu NAME` knows list prices; `gpurun providers` says which keys are missing",
        )
    }
}

fn listed(offers: &[Ranked]) -> String {
    let rows = offers
        .iter()
        .map(|found| {
            let offer = &found.offer;
            vec![
                offer.provider.clone(),
                offer.id.clone(),
                offer.gpu.describe(),
                offer.region.clone().unwrap_or_else(|| "–".to_owned()),
                found.running_per_hour.figure(),
                match offer.card.stop.exists() {
                    true => found.stopped_per_hour.figure(),
                    false => "–".to_owned(),
                },
                found.job_cost.figure(),
            ]
        })
        .collect();
    table(
        &[
            Column::Text("provider"),
            Column::Text("offer"),
            Column::Text("box"),
            Column::Text("where"),
            Column::Number("$/h running"),
            Column::Number("$/h stopped"),
            Column::Number("$ for the job"),
        ],
        rows,
    )
}

fn explain(ui: &Ui, rejected: &[Rejected]) {
    for found in rejected {
        let offer = &found.offer;
        ui.talk(&format!(
            " - {} {}, {}: {}",
            offer.provider,
            offer.id,
            offer.gpu.describe(),
            found.reason
        ));
    }
}

/// How often each reason was the first: `3 times its driver runs CUDA 11.8`.
fn reasons(rejected: &[Rejected]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for found in rejected {
        *counts.entry(&found.reason).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = counts.iter().take(3).map(|(reason, count)| match count {
        1 => (*reason).to_owned(),
        _ => format!("{reason} ({count} times)"),
    });
    let mut shown: Vec<String> = shown.collect();
    if counts.len() > 3 {
        shown.push("other reasons".to_owned());
    }
    shown.join("; ")
}

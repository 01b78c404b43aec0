//! The answer as `--json`.

use super::{Inputs, Rates};
use crate::ui::format::json_number;
use chrono::{DateTime, Utc};
use gpurun_lifecycle::RunRecord;
use gpurun_pricing::{Action, BilledState, Forecast, Hours, RunCost, Sums};
use serde::Serialize;
use serde_json::Value;

/// `gpurun cost --json`: dollars, hours and GB as numbers; what doesn't exist is null.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    running_per_hour: Value,
    /// Null where the provider has no stop.
    stopped_per_hour: Option<Value>,
    destroyed_per_hour: Value,
    rebuild_cost: Value,
    /// Null where a stop is better for ever, or there is none.
    break_even_hours: Option<Value>,
    /// `stop`, `destroy` or `keep`.
    verdict: &'static str,
    /// For `stop`: how long the box may stay stopped. Null: for ever.
    destroy_after_hours: Option<Value>,
    reason: &'a str,
    /// What each choice costs over the declared gap.
    compared: Option<Choices>,
    sums: &'a Sums,
    prices: Prices<'a>,
    inputs: Flags,
}

#[derive(Debug, Serialize)]
struct Choices {
    keep: Value,
    stop: Option<Value>,
    destroy: Value,
}

#[derive(Debug, Serialize)]
struct Prices<'a> {
    provider: &'a str,
    tier: Option<&'a str>,
    as_of: String,
    source: &'a str,
    /// `measured`, `listed` or `given`.
    running: &'static str,
    stale: bool,
}

/// What would give the same answer again, as flags.
#[derive(Debug, Serialize)]
struct Flags {
    gpu: Option<String>,
    disk: Value,
    storage_price: Value,
    hours_per_month: Value,
    setup_minutes: Value,
    resume_minutes: Value,
    retry_cost: Value,
    inbound: Value,
    inbound_price: Value,
    restart_probability: Value,
    away_hours: Option<Value>,
}

impl<'a> Document<'a> {
    pub(super) fn new(inputs: &'a Inputs, forecast: &'a Forecast) -> Self {
        let verdict = &forecast.verdict;
        let (action, destroy_after) = match verdict.action {
            Action::Keep => ("keep", None),
            Action::Stop { destroy_after } => ("stop", destroy_after),
            Action::Destroy => ("destroy", None),
        };
        Self {
            running_per_hour: json_number(forecast.running.amount()),
            stopped_per_hour: forecast.stopped.map(|rate| json_number(rate.amount())),
            destroyed_per_hour: json_number(forecast.destroyed.amount()),
            rebuild_cost: json_number(forecast.rebuild.amount()),
            break_even_hours: forecast.break_even.map(|hours| json_number(hours.amount())),
            verdict: action,
            destroy_after_hours: destroy_after.map(|hours| json_number(hours.amount())),
            reason: &verdict.reason,
            compared: verdict.compared.map(|compared| Choices {
                keep: json_number(compared.keep.amount()),
                stop: compared.stop.map(|stop| json_number(stop.amount())),
                destroy: json_number(compared.destroy.amount()),
            }),
            sums: &forecast.sums,
            prices: Prices {
                provider: &inputs.quote.provider,
                tier: inputs.quote.tier.as_deref(),
                as_of: inputs.card.as_of.to_string(),
                source: &inputs.card.source,
                running: match inputs.rates {
                    Rates::Measured => "measured",
                    Rates::Listed => "listed",
                    Rates::Given(_) => "given",
                },
                stale: inputs.is_stale(),
            },
            inputs: Flags {
                gpu: inputs.gpu().map(ToString::to_string),
                disk: json_number(inputs.disk.amount()),
                storage_price: json_number(inputs.card.disk_stopped.amount()),
                hours_per_month: json_number(inputs.card.hours_per_month.amount()),
                setup_minutes: json_number(inputs.terms.setup.minutes()),
                resume_minutes: json_number(inputs.terms.resume.minutes()),
                retry_cost: json_number(inputs.terms.retry.amount()),
                inbound: json_number(inputs.terms.inbound.amount()),
                inbound_price: json_number(inputs.card.inbound.amount()),
                restart_probability: json_number(inputs.restart.amount()),
                away_hours: inputs.gap.map(|hours| json_number(hours.amount())),
            },
        }
    }
}

/// `gpurun cost RUN --json`.
#[derive(Debug, Serialize)]
pub(super) struct RunDocument<'a> {
    id: &'a str,
    name: &'a str,
    so_far: Value,
    /// Of `so_far`.
    estimated: Value,
    burn_per_hour: Value,
    /// One for each box the run has had, the newest last.
    boxes: Vec<BoxBill>,
    /// Mounted by its boxes, and billed on its own: in none of these sums.
    volume: Option<VolumeBill>,
}

#[derive(Debug, Serialize)]
struct VolumeBill {
    id: String,
    /// Null where the provider doesn't say.
    per_hour: Option<Value>,
}

#[derive(Debug, Serialize)]
struct BoxBill {
    so_far: Value,
    /// Of `so_far`.
    traffic: Value,
    intervals: Vec<IntervalBill>,
}

#[derive(Debug, Serialize)]
struct IntervalBill {
    state: BilledState,
    from: DateTime<Utc>,
    /// Null while it lasts.
    to: Option<DateTime<Utc>>,
    /// As billed: up to the provider's own quantum.
    hours: Value,
    per_hour: Value,
    amount: Value,
    /// Of `amount`.
    estimated: Value,
}

impl<'a> RunDocument<'a> {
    pub(super) fn new(record: &'a RunRecord, now: DateTime<Utc>) -> Self {
        Self {
            id: &record.id,
            name: &record.name,
            so_far: json_number(record.spent(now).amount()),
            estimated: json_number(record.estimated(now).amount()),
            burn_per_hour: json_number(record.burn(now).amount()),
            boxes: record.costs(now).iter().map(BoxBill::new).collect(),
            volume: record.spec.volume.as_ref().map(|volume| VolumeBill {
                id: volume.id.clone(),
                per_hour: volume.rate.map(|rate| json_number(rate.amount())),
            }),
        }
    }
}

impl BoxBill {
    fn new(cost: &RunCost) -> Self {
        let intervals = cost.lines.iter().map(|line| IntervalBill {
            state: line.state,
            from: line.from,
            to: (!line.open).then_some(line.until),
            hours: json_number(Hours::from_time_delta(line.billed).amount()),
            per_hour: json_number(line.rate.amount()),
            amount: json_number(line.amount.amount()),
            estimated: json_number(line.estimated.amount()),
        });
        Self {
            so_far: json_number(cost.so_far.amount()),
            traffic: json_number(cost.traffic.amount()),
            intervals: intervals.collect(),
        }
    }
}

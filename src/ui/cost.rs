//! How the answer of `gpurun cost` reads.

use super::{
    Column,
    format::{paragraph, span},
    table,
};
use crate::commands::cost::{Inputs, Rates};
use gpurun_pricing::{
    Action, Forecast, HourlyRate, Hours, Probability, Question, StopSupport, forecast as ask,
};
use rust_decimal::Decimal;

/// Which box, what each state costs, the sums, the verdict.
pub(crate) fn forecast(inputs: &Inputs, forecast: &Forecast) -> String {
    let parts = [
        heading(inputs),
        states(inputs, forecast),
        sums(inputs, forecast),
        paragraph(&verdict(inputs, forecast), " "),
    ];
    parts.join("\n\n")
}

/// The next sensible step, for whoever has not said yet when they return or how scarce the GPUs are.
pub(crate) fn help(inputs: &Inputs) -> Option<String> {
    if inputs.gap.is_some() || inputs.restart != Probability::CERTAIN {
        return None;
    }
    let doubtful = Probability::new(Decimal::new(7, 1)).ok()?;
    let doubted = ask(&Question {
        restart: doubtful,
        ..inputs.question()
    })
    .break_even?;
    let text = format!(
        "help: --away 10h, or --back-at, decides now; --restart-probability {doubtful} counts the risk that the \
         GPUs are gone ({doubted})"
    );
    Some(format!("\n{}", paragraph(&text, " ")))
}

fn heading(inputs: &Inputs) -> String {
    let Inputs { quote, card, .. } = inputs;
    let mut parts = Vec::new();
    parts.extend(inputs.gpu().map(gpurun_pricing::GpuRequest::describe));
    parts.push(inputs.disk.to_string());
    parts.push(match inputs.rates {
        Rates::Measured => format!("rates measured {}", card.as_of),
        Rates::Listed => {
            let tier = quote
                .tier
                .as_ref()
                .map(|tier| format!(" {tier}"))
                .unwrap_or_default();
            format!("{}{tier}, listed {}", quote.provider, card.as_of)
        }
        Rates::Given(_) => "running rate as given".to_owned(),
    });
    let mut heading = parts.join(" · ");
    if inputs.is_stale() {
        let age = inputs.today.signed_duration_since(card.as_of).num_days();
        heading.push_str(&format!(
            "\nStale: these prices are {age} days old and move daily; --running takes today's."
        ));
    }
    heading
}

fn states(inputs: &Inputs, forecast: &Forecast) -> String {
    let columns = [
        Column::Text("state"),
        Column::Number("$/h"),
        Column::Number("$/day"),
        Column::Text("what you keep"),
    ];
    let row = |state: &str, rate: Option<HourlyRate>, keeps: &str| {
        let day = |rate: HourlyRate| (rate * Hours::new(Decimal::from(24))).figure();
        let none = || "–".to_owned();
        vec![
            state.to_owned(),
            rate.map_or_else(none, HourlyRate::figure),
            rate.map_or_else(none, day),
            keeps.to_owned(),
        ]
    };
    let stopped = match inputs.card.stop {
        StopSupport::KeepsDisk => "the disk; GPUs are released, nobody reserves them",
        StopSupport::KeepsVolumeOnly => "the volume; the box's own disk is wiped",
        StopSupport::None => "there is no stop here",
    };
    let rows = vec![
        row("running", Some(forecast.running), "everything"),
        row("stopped", forecast.stopped, stopped),
        row("destroyed", Some(forecast.destroyed), "what was pushed"),
    ];
    table(&columns, rows)
}

fn sums(inputs: &Inputs, forecast: &Forecast) -> String {
    let sums = &forecast.sums;
    let no_break_even = || match forecast.break_even {
        Some(_) => Some("none: a kept disk is worth nothing".to_owned()),
        None if inputs.card.stop.exists() => {
            Some("never: the stopped disk costs nothing".to_owned())
        }
        None => None,
    };
    let lines = [
        ("running", sums.running.clone()),
        ("stopped", sums.stopped.clone()),
        ("", billed_month(inputs)),
        ("rebuild", Some(sums.rebuild.clone())),
        ("resume", sums.resume.clone()),
        ("kept disk", sums.worth.clone()),
        ("break-even", sums.break_even.clone().or_else(no_break_even)),
    ];
    let lines = lines
        .into_iter()
        .filter_map(|(name, sum)| sum.map(|sum| (name, sum)));
    lines
        .map(|(name, sum)| format!(" {name:<10} {sum}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What the measured box's owner was really billed, where the formula's month says something else.
fn billed_month(inputs: &Inputs) -> Option<String> {
    let Inputs {
        quote,
        card,
        disk,
        rates,
        ..
    } = inputs;
    let month = quote.card.hours_per_month;
    if *rates != Rates::Measured || card.hours_per_month == month {
        return None;
    }
    let billed = card.disk_stopped.per_hour(*disk, month);
    let the_same = *disk == measured_disk() && card.disk_stopped == quote.card.disk_stopped;
    Some(if the_same {
        format!("(that box was billed {billed}: a {month} month)")
    } else {
        format!("(by the {month} month that box was billed by: {billed})")
    })
}

fn measured_disk() -> gpurun_pricing::Gigabytes {
    gpurun_pricing::Gigabytes::new(Decimal::from(250))
}

fn verdict(inputs: &Inputs, forecast: &Forecast) -> String {
    let reason = &forecast.verdict.reason;
    if let Some(gap) = inputs.gap {
        let what = match forecast.verdict.action {
            Action::Keep => "leave it running",
            Action::Stop { .. } => "stop",
            Action::Destroy => "destroy",
        };
        let gap = span(gap.to_time_delta());
        return format!("You come back in {gap}: {what}. {}", sentence(reason));
    }
    match forecast.verdict.action {
        Action::Stop {
            destroy_after: Some(threshold),
        } => format!(
            "You did not say when you come back: stop now, destroy after {threshold}. If you do come back, never \
             more than twice the best choice; if you never do, {} at most is lost.",
            forecast.worth
        ),
        Action::Stop {
            destroy_after: None,
        }
        | Action::Keep
        | Action::Destroy => {
            let what = if forecast.verdict.action == Action::Destroy {
                "destroy now"
            } else {
                "stop"
            };
            format!(
                "You did not say when you come back: {what}. {}",
                sentence(reason)
            )
        }
    }
}

fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests;

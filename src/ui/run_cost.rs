//! How a run's bill reads.

use super::{Column, table};
use chrono::{DateTime, Utc};
use gpurun_lifecycle::VolumeSpec;
use gpurun_pricing::{BillLine, BilledState, HourlyRate, Hours, Money, RunCost};

/// What a run has cost so far, box by box and state by state, and what it burns now.
pub(crate) fn run_cost(run: &str, costs: &[RunCost]) -> String {
    let so_far: Money = costs.iter().map(|cost| cost.so_far).sum();
    let traffic: Money = costs.iter().map(|cost| cost.traffic).sum();
    let estimated: Money = costs.iter().map(|cost| cost.estimated).sum();
    let burn: HourlyRate = costs.iter().map(|cost| cost.burn_per_hour).sum();
    let burns = match burn.is_zero() {
        true => "burns nothing now".to_owned(),
        false => format!("burns {burn} now"),
    };
    let heading = format!("{run} · {so_far} so far · {burns}");
    if costs.is_empty() {
        return format!("{heading}\n\n No box was rented for it.");
    }
    let columns = [
        Column::Text("state"),
        Column::Text("from"),
        Column::Text("to"),
        Column::Number("h"),
        Column::Number("$/h"),
        Column::Number("$"),
    ];
    let only = |name: &str, amount: Money| {
        let blank = String::new;
        let figure = amount.figure();
        vec![name.to_owned(), blank(), blank(), blank(), blank(), figure]
    };
    let mut rows: Vec<Vec<String>> = costs.iter().flat_map(|cost| &cost.lines).map(row).collect();
    if !traffic.is_zero() {
        rows.push(only("traffic", traffic));
    }
    rows.push(only("total", so_far));
    let table = table(&columns, rows);
    if estimated.is_zero() {
        return format!("{heading}\n\n{table}");
    }
    format!(
        "{heading}\n\n{table}\n\n Up to {estimated} of it is estimated: nobody timed when the box left a state, and it \
         counts until it was seen."
    )
}

/// "4711 at /data, $0.0139/h on its own"
pub(crate) fn volume(volume: &VolumeSpec) -> String {
    let rate = volume
        .rate
        .map_or_else(|| "an unknown rate".to_owned(), |rate| rate.to_string());
    format!(
        "{} at {}: {rate} on its own until it is deleted, in none of these sums",
        volume.id, volume.path
    )
}

fn row(line: &BillLine) -> Vec<String> {
    let state = match line.state {
        BilledState::Running => "running",
        BilledState::Stopped => "stopped",
    };
    let to = match line.open {
        true => "now".to_owned(),
        false => minute(line.until),
    };
    let hours = Hours::from_time_delta(line.billed).in_column();
    vec![
        state.to_owned(),
        minute(line.from),
        to,
        hours,
        line.rate.figure(),
        line.amount.figure(),
    ]
}

fn minute(at: DateTime<Utc>) -> String {
    at.format("%F %H:%MZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use gpurun_pricing::{Gigabytes, StateInterval, Usage, measured_box};
    use rust_decimal::Decimal;

    #[test]
    fn a_bill_adds_up_line_by_line() {
        let start: DateTime<Utc> = "2026-12-01T08:00:00Z".parse().unwrap();
        let at = |hours| start + TimeDelta::hours(hours);
        let interval = |state, from, to: Option<i64>| StateInterval {
            state,
            from: at(from),
            to: to.map(at),
            certain_until: None,
        };
        let usage = Usage {
            intervals: vec![
                interval(BilledState::Running, 0, Some(2)),
                interval(BilledState::Stopped, 2, Some(12)),
                interval(BilledState::Running, 12, None),
            ],
            disk: Gigabytes::new(Decimal::from(250)),
            inbound: Gigabytes::new(Decimal::from(43)),
            outbound: Gigabytes::ZERO,
        };
        let cost = gpurun_pricing::run_cost(&usage, &measured_box().card, at(13));
        insta::assert_snapshot!(run_cost("3f yolo", &[cost]), @r"
        3f yolo · $11.27 so far · burns $3.4828/h now

         state    from               to                    h     $/h      $
         running  2026-12-01 08:00Z  2026-12-01 10:00Z   2.0  3.4828   6.97
         stopped  2026-12-01 10:00Z  2026-12-01 20:00Z  10.0  0.0694   0.69
         running  2026-12-01 20:00Z  now                 1.0  3.4828   3.48
         traffic                                                       0.13
         total                                                        11.27
        ");
    }

    #[test]
    fn a_run_without_a_box_cost_nothing() {
        insta::assert_snapshot!(run_cost("3f yolo", &[]), @r"
        3f yolo · $0.00 so far · burns nothing now

         No box was rented for it.
        ");
    }
}

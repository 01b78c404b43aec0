//! How a run's bill reads.

use super::{Column, table};
use chrono::{DateTime, Utc};
use gpurun_pricing::{BilledState, Hours, RunCost};

/// What a run has cost so far, state by state, and what it burns now.
pub(crate) fn run_cost(run: &str, cost: &RunCost) -> String {
    let burn = match cost.burn_per_hour.is_zero() {
        true => "nothing burns now".to_owned(),
        false => format!("burns {} now", cost.burn_per_hour),
    };
    let columns = [
        Column::Text("state"),
        Column::Text("from"),
        Column::Text("to"),
        Column::Number("h"),
        Column::Number("$/h"),
        Column::Number("$"),
    ];
    let mut rows: Vec<Vec<String>> = cost
        .lines
        .iter()
        .map(|line| {
            let state = match line.state {
                BilledState::Running => "running",
                BilledState::Stopped => "stopped",
            };
            let to = if line.open {
                "now".to_owned()
            } else {
                minute(line.until)
            };
            let hours = Hours::from_time_delta(line.billed).in_column();
            let amount = line.amount.figure();
            vec![
                state.to_owned(),
                minute(line.from),
                to,
                hours,
                line.rate.figure(),
                amount,
            ]
        })
        .collect();
    let only = |name: &str, amount: String| {
        let blank = String::new;
        vec![name.to_owned(), blank(), blank(), blank(), blank(), amount]
    };
    if !cost.traffic.is_zero() {
        rows.push(only("traffic", cost.traffic.figure()));
    }
    rows.push(only("total", cost.so_far.figure()));
    format!(
        "{run} · {} so far · {burn}\n\n{}",
        cost.so_far,
        table(&columns, rows)
    )
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
        insta::assert_snapshot!(run_cost("3f yolo", &cost), @r"
        3f yolo · $11.27 so far · burns $3.4828/h now

         state    from               to                    h     $/h      $
         running  2026-12-01 08:00Z  2026-12-01 10:00Z   2.0  3.4828   6.97
         stopped  2026-12-01 10:00Z  2026-12-01 20:00Z  10.0  0.0694   0.69
         running  2026-12-01 20:00Z  now                 1.0  3.4828   3.48
         traffic                                                       0.13
         total                                                        11.27
        ");
    }
}

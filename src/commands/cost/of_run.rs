//! `gpurun cost RUN`: from the ledger, without asking any provider.

use super::document::RunDocument;
use crate::{
    error::{Failure, Result},
    exit_code::ExitCode,
    settings::Environment,
    store::Ledger,
    ui,
    ui::Ui,
};
use chrono::{DateTime, Utc};

/// The shortest beginning of an id that is shown.
const SHORTEST_ID: usize = 2;

pub(super) fn run(asked: &str, ui: &Ui, now: DateTime<Utc>) -> Result<ExitCode> {
    let state = Environment::of_process().state_directory();
    let ledger = Ledger::open_existing(&state)?;
    let ledger = ledger.ok_or_else(|| {
        let message = format!("there is no run `{asked}`: no run was ever launched from here");
        Failure::new(ExitCode::NotFound, message, "gpurun launch starts one")
    })?;
    let record = ledger.find(asked)?;
    if ui.json {
        ui.json(&RunDocument::new(&record, now));
        return Ok(ExitCode::Success);
    }
    let id = ledger.short_id(&record.id, SHORTEST_ID)?;
    let title = format!("{id} {}", record.name);
    ui.data(&ui::run_cost(&title, &record.costs(now)));
    if let Some(volume) = &record.spec.volume {
        ui.data(&format!("\n volume {}", ui::volume(volume)));
    }
    Ok(ExitCode::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::fixtures::{minute, run};
    use gpurun_lifecycle::Account;
    use gpurun_pricing::{BilledState, Gigabytes, StateInterval, measured_box};

    #[test]
    fn every_box_of_a_run_is_on_its_bill() {
        let mut record = run("k3v9x2mq7d", "yolo");
        record.spec.disk = Gigabytes::new(250.into());
        let account = |instance: &str, from, to: Option<i64>| Account {
            instance: instance.to_owned(),
            rate_card: measured_box().card,
            intervals: vec![StateInterval {
                state: BilledState::Running,
                from: minute(from),
                to: to.map(minute),
                certain_until: None,
            }],
            inbound: Gigabytes::new(43.into()),
        };
        record.accounts = vec![account("v-1", 0, Some(30)), account("v-2", 60, None)];
        let document = serde_json::to_value(RunDocument::new(&record, minute(120))).unwrap();
        assert_eq!(
            document["so_far"],
            serde_json::json!(1.7414 + 3.4828 + 2.0 * 0.129)
        );
        assert_eq!(document["burn_per_hour"], serde_json::json!(3.4828));
        assert_eq!(
            document["boxes"][0]["intervals"][0]["amount"],
            serde_json::json!(1.7414)
        );
        assert_eq!(
            document["boxes"][1]["intervals"][0]["to"],
            serde_json::Value::Null
        );
        let text = ui::run_cost("k3 yolo", &record.costs(minute(120)));
        assert!(
            text.starts_with("k3 yolo · $5.48 so far · burns $3.4828/h now"),
            "{text}"
        );
    }
}

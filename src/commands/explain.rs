use super::which_run::WhichRun;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::ui::{Ui, format};
use chrono::Utc;
use gpurun_lifecycle::{ActionResult, Observation, Plan};
use serde::Serialize;

/// Show why a run is as it is: its decisions with their reasons, and what was done
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
    /// So many of the newest decisions
    #[arg(long, short, default_value_t = 5, value_name = "N")]
    last: u32,
}

#[derive(Serialize)]
struct Document {
    run: String,
    decisions: Vec<Decision>,
}

#[derive(Serialize)]
struct Decision {
    first_at: chrono::DateTime<Utc>,
    last_at: chrono::DateTime<Utc>,
    times: u32,
    plan: Plan,
    observation: Observation,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "explain")?;
        let decisions = shell.ledger.decisions(&run.id, self.last)?;
        if ui.json {
            ui.json(&Document {
                run: run.id,
                decisions: decisions
                    .into_iter()
                    .map(|found| Decision {
                        first_at: found.first_at,
                        last_at: found.last_at,
                        times: found.times,
                        plan: found.plan,
                        observation: found.observation,
                    })
                    .collect(),
            });
            return Ok(ExitCode::Success);
        }
        let now = Utc::now();
        for decision in decisions.iter().rev() {
            let looks = match decision.times {
                1 => "1 look".to_owned(),
                times => format!("{times} looks"),
            };
            let when = format::relative(decision.last_at, now);
            ui.data(&format!("{:?}, {when}, {looks}", decision.plan.verdict.kind).to_lowercase());
            ui.data(&format!("  because   {}", decision.plan.verdict.reason));
            for action in &decision.plan.actions {
                ui.data(&format!("  does      {}", action.step().describe()));
            }
            for wait in &decision.plan.waits {
                let until = wait.until.map_or_else(String::new, |until| {
                    format!(" {}", format::relative(until, now))
                });
                ui.data(&format!("  waits     {}{until}: {}", wait.on, wait.why));
            }
            for attention in &decision.plan.attention {
                ui.data(&format!(
                    "  needs you {}; {}",
                    attention.message, attention.remedy
                ));
            }
        }
        ui.data("\nwhat was asked and noticed");
        for event in shell.ledger.events(&run.id)? {
            let when = format::relative(event.at, now);
            ui.data(&format!(
                "  {when:<14} {}: {}",
                event.kind.name(),
                event.detail
            ));
        }
        let actions = shell.ledger.actions(&run.id, 3 * self.last)?;
        if !actions.is_empty() {
            ui.data("\nwhat was done");
        }
        for action in actions.iter().rev() {
            let what = action.action.step().describe();
            let result = match &action.result {
                None => "interrupted: only a look at the provider tells".to_owned(),
                Some(ActionResult::Done { .. }) => "done".to_owned(),
                Some(ActionResult::Failed { message, .. } | ActionResult::Unfit { message }) => {
                    format!("failed: {message}")
                }
                Some(ActionResult::Unclear { message }) => format!("unclear: {message}"),
            };
            ui.data(&format!(
                "  {:<14} {what}: {result}",
                format::relative(action.begun_at, now)
            ));
        }
        Ok(ExitCode::Success)
    }
}

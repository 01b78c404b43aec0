//! Decisions with their reasons, and what they were made from.

use chrono::{DateTime, Utc};
use gpurun_lifecycle::{Observation, Plan, Step};
use rusqlite::{OptionalExtension, named_params};

use super::actions::{json, parse};
use super::connection::Ledger;
use super::error::StoreError;
use super::time::{time, time_text};

/// A decision, and for how long it was the answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedDecision {
    pub(crate) first_at: DateTime<Utc>,
    pub(crate) last_at: DateTime<Utc>,
    /// How many looks in a row led to it.
    pub(crate) times: u32,
    /// Of the last look.
    pub(crate) plan: Plan,
    pub(crate) observation: Observation,
}

impl Ledger {
    /// Writes a plan down, before any of it is done. The same answer as last time only moves that one's end, so that
    /// months of "keep" don't fill the ledger.
    ///
    /// # Errors
    /// When it can't be written; then it must not be executed.
    pub(crate) fn record_plan(&self, plan: &Plan, seen: &Observation) -> Result<(), StoreError> {
        let sameness = sameness(plan);
        self.transaction(|transaction| {
            let sql = "SELECT seq, sameness FROM decisions WHERE run = :run ORDER BY seq DESC LIMIT 1";
            let last = transaction.prepare_cached(sql)?.query_row(named_params! { ":run": plan.run }, |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            });
            let same = last.optional()?.filter(|(_, last)| *last == sameness && plan.actions.is_empty());
            let sql = match same {
                Some(_) => {
                    "UPDATE decisions SET last_at = :at, times = times + 1, plan = :plan, observation = :seen
                     WHERE seq = :seq AND run = :run AND sameness = :sameness"
                }
                None => {
                    "INSERT INTO decisions (seq, run, first_at, last_at, sameness, plan, observation)
                     VALUES (:seq, :run, :at, :at, :sameness, :plan, :seen)"
                }
            };
            transaction.prepare_cached(sql)?.execute(named_params! {
                ":seq": same.map(|(seq, _)| seq),
                ":run": plan.run,
                ":at": time_text(plan.at),
                ":sameness": sameness,
                ":plan": json(&plan.run, plan)?,
                ":seen": json(&plan.run, seen)?,
            })?;
            Ok(())
        })
    }

    /// The last decisions about a run, newest first, at most `most`.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn decisions(
        &self,
        run: &str,
        most: u32,
    ) -> Result<Vec<RecordedDecision>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT first_at, last_at, times, plan, observation FROM decisions
                       WHERE run = :run ORDER BY seq DESC LIMIT :most";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(named_params! { ":run": run, ":most": most })?;
            let mut decisions = Vec::new();
            while let Some(row) = rows.next()? {
                decisions.push(RecordedDecision {
                    first_at: time(row, 0)?,
                    last_at: time(row, 1)?,
                    times: row.get(2)?,
                    plan: parse(run, row.get_ref(3)?.as_str()?)?,
                    observation: parse(run, row.get_ref(4)?.as_str()?)?,
                });
            }
            Ok(decisions)
        })
    }

    /// The newest plan of each open run: what `status` shows as "next".
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn latest_plans(&self) -> Result<Vec<Plan>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT decisions.plan, runs.id FROM runs
                       JOIN decisions ON decisions.seq = (SELECT max(seq) FROM decisions WHERE run = runs.id)
                       WHERE runs.open = 1";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([])?;
            let mut plans = Vec::new();
            while let Some(row) = rows.next()? {
                let run = row.get_ref(1)?.as_str()?;
                plans.push(parse(run, row.get_ref(0)?.as_str()?)?);
            }
            Ok(plans)
        })
    }
}

/// What makes two plans the same answer, whatever the numbers in their reasons: verdict, steps, and what they wait on.
fn sameness(plan: &Plan) -> String {
    let steps: Vec<Step> = plan
        .actions
        .iter()
        .map(gpurun_lifecycle::Action::step)
        .collect();
    let waits: Vec<&str> = plan.waits.iter().map(|wait| wait.on.as_str()).collect();
    let attention: Vec<_> = plan
        .attention
        .iter()
        .map(|attention| attention.kind)
        .collect();
    format!("{:?} {steps:?} {waits:?} {attention:?}", plan.verdict.kind)
}

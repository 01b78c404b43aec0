use super::ask;
use super::which_run::WhichRun;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::launch::{BAD_FOR_DAYS, market_again};
use crate::shell::{Shell, block_on};
use crate::ui::Ui;
use chrono::{TimeDelta, Utc};
use gpurun_lifecycle::{RunRecord, ask_start};
use gpurun_pricing::Offer;

/// Go on with a stopped or ended run, from its last checkpoint
///
/// On the stopped box where it is still there, else on a new one that gets the verified checkpoints.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "start")?;
        let offers = offers(&shell, &run)?;
        ask::ask(&shell, &run, "start", |run| {
            ask_start(run, Utc::now());
            if let Some(offers) = offers {
                run.spec.offers = offers;
            }
        })?;
        ask::reach(&shell, &run.id, Goal::Launched, None)
    }
}

/// Today's, for a run that needs a new box; `None` where it keeps what it has.
fn offers(shell: &Shell, run: &RunRecord) -> Result<Option<Vec<Offer>>> {
    if run.instance.is_some() || run.rent_pending_since.is_some() || run.spec.provider == "local" {
        return Ok(None);
    }
    let provider = shell.provider(&run.spec.provider)?;
    let since = Utc::now() - TimeDelta::days(BAD_FOR_DAYS);
    let bad_hosts = shell.ledger.bad_hosts(since)?;
    block_on(market_again(provider, run, &bad_hosts)).map(Some)
}

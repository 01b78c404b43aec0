use super::ask;
use crate::drive::{End, Goal, drive};
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job::{self, Job, JobArgs, WorkPlace};
use crate::launch::{
    BAD_FOR_DAYS, Disk, Market, Preview, Search, Selection, disk, market, missing_keys, needed_by,
    prepare, preview, quoted_offer, rebuild_terms, run_spec, shape,
};
use crate::remote;
use crate::settings::{Environment, Settings};
use crate::shell::{self, Shell, block_on};
use crate::sink::Keys;
use crate::stage::DiskOf;
use crate::store::{BadHost, Event, EventKind, Ledger, new_run_id};
use crate::ui::Ui;
use chrono::{TimeDelta, Utc};
use gpurun_lifecycle::{Gap, Phase, RunRecord, TeardownPolicy, ask_train};
use gpurun_pricing::break_even::Trust;
use gpurun_pricing::{DiskNeed, Gigabytes};
use gpurun_providers::Provider;

/// Rent a box, train on it, get the weights out, end the bill
///
/// The box is installed and proved to compute before data goes there; checkpoints leave it while it trains.
/// The job comes from the file named, else ./gpurun.toml, else the flags; without any of them a bare box
/// is rented, proved and left ready under a lease. Follows the training to its end; Ctrl-C leaves it
/// running on its own.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
    /// Print the plan that would run and what the whole job would cost; change nothing
    #[arg(long, short = 'n', help_heading = "Launch")]
    dry_run: bool,
    /// Don't ask before renting
    #[arg(long, short, help_heading = "Launch")]
    yes: bool,
    /// Return as soon as the training runs
    #[arg(long, short, help_heading = "Launch")]
    detach: bool,
    /// Train on the bare box of this run instead of renting one
    #[arg(long, value_name = "RUN", help_heading = "Launch")]
    on: Option<String>,
    /// Also rent what is more than 5 % dearer than the offer shown: the next offer, or a price that rose meanwhile
    #[arg(long, help_heading = "Launch")]
    accept_price: bool,
    /// Launch in spite of errors in the data set
    #[arg(long, help_heading = "Launch")]
    allow_data_errors: bool,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let settings = shell::settings()?;
        let current = std::env::current_dir().map_err(|error| {
            Failure::new(
                ExitCode::Failure,
                format!("the current directory can't be read: {error}"),
                "change into a directory that is there",
            )
        })?;
        let job = job::load(self.job.clone(), &settings.defaults, &current)?;
        let keys = Keys::find(&Environment::of_process());
        job.check(&settings.local_boxes(), &keys)?;
        let data = prepare(&job, &settings, self.allow_data_errors, ui)?;
        let id = new_run_id();
        let place = WorkPlace::new(job.spec.volume.as_ref(), &id);
        let resolved = job::resolve(&job.spec, data.as_ref(), &place);
        let staged = Gigabytes::from_bytes(data.as_ref().map_or(0, |data| data.bytes));
        let local = job.spec.gpu.count() == 0 || job.spec.provider.as_deref() == Some("local");
        let disk_of = if local { DiskOf::Local } else { DiskOf::Rented };
        let Disk { size: disk, need } = disk(&job, &settings, data.as_ref(), disk_of)?;
        let shape = shape(&rebuild_terms(local, staged), job.spec.stop.max_hours, disk);

        if let Some(on) = &self.on {
            return train_on(ui, &self, on, &job, resolved, disk);
        }
        let providers = shell::providers(&settings);
        let usable: Vec<&dyn Provider> = providers
            .iter()
            .map(AsRef::as_ref)
            .filter(|provider| {
                provider.name() == "local" || settings.credential(provider.name()).is_some()
            })
            .collect();
        let search = Search {
            provider: job.spec.provider.as_deref(),
            gpu: &job.spec.gpu,
            max_price: job.spec.max_price,
            volume: job.spec.volume.as_ref(),
            disk,
            shape: &shape,
            bad_hosts: &bad_hosts(&settings)?,
            cuda: needed_by(job.spec.engine),
            accept_price: self.accept_price,
        };
        let selection = match block_on(market(&usable, &search))? {
            Market::Offers(selection) => selection,
            Market::NoKey => {
                return without_key(
                    ui,
                    &settings,
                    &job,
                    need,
                    |offer| {
                        let spec = run_spec(&job.spec, resolved, vec![offer], disk, None);
                        (record(&job, &id, spec), shape)
                    },
                    self.dry_run,
                );
            }
        };
        let Selection {
            offers,
            price_limit,
            volume,
            notes,
        } = selection;
        let card = &offers[0].card;
        let prices = format!("{}, seen {}", card.source, card.as_of);
        let mut spec = run_spec(&job.spec, resolved, offers, disk, price_limit);
        spec.volume = volume;
        let run = record(&job, &id, spec);
        let mut shown = preview(&run, &shape, prices, Utc::now());
        shown.notes = notes;
        shown.disk_need = Some(need);
        if self.dry_run {
            shown.print(ui);
            return Ok(ExitCode::Success);
        }
        remote::can_install(&run.spec.install)?;
        job.probe_destination(&keys)?;
        go(ui, &self, run, &shown)
    }
}

/// The machines that were of no use lately; none before the first launch.
fn bad_hosts(settings: &Settings) -> Result<Vec<BadHost>> {
    let Some(ledger) = Ledger::open_existing(&settings.state)? else {
        return Ok(Vec::new());
    };
    Ok(ledger.bad_hosts(Utc::now() - TimeDelta::days(BAD_FOR_DAYS))?)
}

/// Gives a training to a box that waits for one.
fn train_on(
    ui: &Ui,
    args: &Args,
    on: &str,
    job: &Job,
    resolved: job::Resolved,
    disk: Gigabytes,
) -> Result<ExitCode> {
    let shell = Shell::open(ui)?;
    let run = shell.find(on)?;
    let refusal = if run.spec.launch.is_some() {
        Some("it has a training already")
    } else if run.phase == Phase::Ended || run.instance.is_none() {
        Some("its box is gone")
    } else if resolved.launch.is_none() {
        Some("the job names no training")
    } else {
        None
    };
    if let Some(why) = refusal {
        return Err(Failure::new(
            ExitCode::Usage,
            format!("{} can't be given a training: {why}", run.name),
            "a bare box comes from `gpurun launch` without --data, --model and --command",
        ));
    }
    let spec = run_spec(&job.spec, resolved, run.spec.offers.clone(), disk, None);
    remote::can_install(&spec.install)?;
    ui.talk(&format!(
        " on        {}, {}",
        run.name,
        run.burn(Utc::now())
    ));
    ask::ask(&shell, &run, "launch on a bare box", |run| {
        ask_train(run, spec, Utc::now());
    })?;
    follow(ui, &shell, &run, args.detach)
}

/// Says what it costs, asks, writes the run down, and drives it.
fn go(ui: &Ui, args: &Args, mut run: RunRecord, shown: &Preview) -> Result<ExitCode> {
    let shell = Shell::open(ui)?;
    for line in shown.lines() {
        ui.talk(&line);
    }
    let free_of_risk = run.spec.provider == "local";
    if !args.yes && !free_of_risk && !ui.confirm(" rent?") {
        return Err(Failure::new(
            ExitCode::Declined,
            "nothing was rented",
            "--yes answers the question; -n only shows the plan",
        ));
    }
    let event = Event {
        at: Utc::now(),
        kind: EventKind::Created,
        detail: format!("launch of {}", run.name),
    };
    if run.spec.stop.policy == TeardownPolicy::Learned && run.gap == Gap::Unknown {
        run.gap = Gap::History {
            gaps: shell.ledger.past_gaps()?,
            trust: Trust::default(),
        };
    }
    shell.ledger.insert(&run, &event)?;
    follow(ui, &shell, &run, args.detach)
}

/// Drives a run that is written down until its training runs, and then, attached, to its end.
fn follow(ui: &Ui, shell: &Shell, run: &RunRecord, detach: bool) -> Result<ExitCode> {
    match block_on(drive(shell, &run.id, Goal::Launched, None))? {
        End::Interrupted => ask::interrupted(
            ui,
            &run.name,
            &format!(
                "Interrupted. What was begun is in the ledger: `gpurun start {id}` goes on, `gpurun destroy {id}` gives the box back.",
                id = run.name
            ),
        ),
        // It is as patient as can be.
        End::NotYet(pass) => Ok(ask::report(shell, &pass, Goal::Launched)),
        End::Reached(pass)
            if detach || pass.run.ready_at.is_some() || pass.run.phase == Phase::Ended =>
        {
            let code = ask::report(shell, &pass, Goal::Launched);
            hints(ui, &pass.run);
            Ok(code)
        }
        End::Reached(pass) => {
            hints(ui, &pass.run);
            ask::reach(shell, &run.id, Goal::Settled, None)
        }
    }
}

fn hints(ui: &Ui, run: &RunRecord) {
    let name = &run.name;
    if run.ready_at.is_some() {
        ui.talk(&format!(
            " The box is yours until its lease ends. A training on it: `gpurun launch --on {name} --data DIR --model yolo9-t`; give it back: `gpurun destroy {name}`"
        ));
    } else if run.ended.is_none() {
        ui.talk(&format!(
            " It runs without you. `gpurun status {name}` · `gpurun logs -f {name}` · `gpurun wait {name}`"
        ));
        if run.spec.provider != "local" {
            ui.talk(" Its checkpoints come here, and its bill ends, when somebody looks: `gpurun cron install`, or `gpurun wait`.");
        }
    }
}

fn record(job: &Job, id: &str, spec: gpurun_lifecycle::RunSpec) -> RunRecord {
    let now = Utc::now();
    let gap = match job
        .spec
        .away_seconds
        .and_then(|seconds| i64::try_from(seconds).ok())
    {
        Some(seconds) => Gap::Declared {
            back_at: now + TimeDelta::seconds(seconds),
        },
        None => Gap::Unknown,
    };
    RunRecord::new(id, &job.spec.name, spec, gap, now)
}

/// Shows what it would be, and what is missing.
fn without_key(
    ui: &Ui,
    settings: &Settings,
    job: &Job,
    need: DiskNeed,
    record: impl FnOnce(gpurun_pricing::Offer) -> (RunRecord, gpurun_pricing::estimate::JobShape),
    dry_run: bool,
) -> Result<ExitCode> {
    let now = Utc::now();
    let only = job.spec.provider.as_deref();
    let missing = missing_keys(settings, only);
    if let Some((offer, prices)) = quoted_offer(&job.spec, now.date_naive()) {
        let (run, shape) = record(offer);
        let mut shown = preview(&run, &shape, prices, now);
        shown.missing_keys.clone_from(&missing);
        shown.disk_need = Some(need);
        if dry_run {
            shown.print(ui);
            for line in &missing {
                ui.talk(&format!(" {line}"));
            }
            return Ok(ExitCode::Success);
        }
        for line in shown.lines() {
            ui.talk(&line);
        }
    }
    Err(Failure::new(
        ExitCode::Provider,
        format!(
            "nothing was rented: no provider of {} can be asked\n{}",
            job.spec.gpu,
            missing.join("\n")
        ),
        "put one key where it says, or use this machine: --provider local",
    ))
}

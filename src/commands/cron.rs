use crate::{
    cron::{self, CronError, Crontab, Entry, Installed},
    error::Result,
    exit_code::ExitCode,
    settings::{Environment, KeyPlace, Settings},
    ui::Ui,
};
use nix::unistd::{Uid, User};
use serde::Serialize;
use std::{fs, os::unix::fs::OpenOptionsExt, path::PathBuf};

/// Put `gpurun reap` on cron's schedule, so that boxes end also when nobody looks
///
/// Only gpurun's own marked lines of the crontab are ever changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Run one pass as cron would, and install it if it could read every provider
    Install(Install),
    /// Show what is installed
    Show,
    /// Take it out again
    Remove,
}

#[derive(Debug, clap::Args)]
struct Install {
    /// How often to look: 1m to 30m, 1h to 12h, or 1d
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    every: String,
    /// Where the passes are written down [default: cron.log in the state directory]
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    entries: Vec<Installed>,
    /// Whether a cron daemon was seen running on this machine.
    daemon_runs: bool,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let environment = Environment::of_process();
        let state = environment.state_directory();
        // One lock and one copy for a user's crontab, whichever state directory is meant.
        let crontab = Crontab::of_user(environment.home().join(".cache").join("gpurun"));
        match self.verb {
            Verb::Install(install) => {
                let entry = install.entry(&environment, state)?;
                check_keys(&Settings::load(&environment)?)?;
                rehearse(&entry, &environment, ui)?;
                prepare_log(&entry)?;
                let line = entry.line()?;
                let name = entry.state.to_string_lossy();
                crontab.update(|text| cron::with_entry(text, &name, &line))?;
                ui.talk("installed; `gpurun cron remove` takes it out");
            }
            Verb::Show => {}
            Verb::Remove => {
                let name = state.to_string_lossy();
                let before = cron::installed(&crontab.read()?)?;
                crontab.update(|text| cron::without_entry(text, &name))?;
                let was_there = before.iter().any(|entry| entry.state == *name);
                ui.talk(if was_there {
                    "removed"
                } else {
                    "nothing was installed"
                });
            }
        }
        show(ui, cron::installed(&crontab.read()?)?);
        Ok(ExitCode::Success)
    }
}

impl Install {
    fn entry(&self, environment: &Environment, state: PathBuf) -> Result<Entry> {
        let program = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .map_err(|error| {
                CronError::new(
                    format!("the path of this gpurun can't be found: {error}"),
                    "start it by its full path",
                )
            })?;
        let log = self.log.clone().unwrap_or_else(|| state.join("cron.log"));
        let log = std::path::absolute(&log).unwrap_or(log);
        Ok(Entry {
            schedule: cron::schedule(&self.every)?,
            variables: cron::variables(environment),
            program,
            log,
            state,
        })
    }
}

/// A key that is only in this shell's environment is not there for cron, and has no business in a crontab.
fn check_keys(settings: &Settings) -> Result<()> {
    let in_shell = settings
        .credentials
        .iter()
        .find(|key| matches!(key.place, KeyPlace::Variable(_)));
    let Some(key) = in_shell else {
        return Ok(());
    };
    Err(CronError::new(
        format!(
            "not installed: the key of {} is only in {}, which cron doesn't have",
            key.cloud, key.place
        ),
        format!(
            "write it under [providers.{}] in {} (chmod 600), or into the vendor's own file",
            key.cloud,
            settings.config.display()
        ),
    )
    .into())
}

fn rehearse(entry: &Entry, environment: &Environment, ui: &Ui) -> Result<()> {
    let account = User::from_uid(Uid::current()).ok().flatten();
    let (login, home) = account.map_or_else(
        || (String::new(), environment.home()),
        |account| (account.name, account.dir),
    );
    let seen = cron::rehearse(entry, &home, &login)?;
    ui.talk(&format!(
        "a pass as cron runs it read every provider; open runs: {}{}",
        seen.runs,
        if seen.needs_a_person {
            ", something needs a person: gpurun reap"
        } else {
            ""
        }
    ));
    Ok(())
}

/// Made now and private: a redirection that fails would silence cron.
fn prepare_log(entry: &Entry) -> Result<()> {
    let make = || {
        if let Some(folder) = entry.log.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&entry.log)
    };
    make().map(drop).map_err(|error| {
        let message = format!("{}: {error}", entry.log.display());
        CronError::new(message, "name a file that can be written: --log PATH").into()
    })
}

fn show(ui: &Ui, entries: Vec<Installed>) {
    let daemon_runs = daemon_runs();
    if ui.json {
        ui.json(&Document {
            entries,
            daemon_runs,
        });
        return;
    }
    for entry in &entries {
        ui.data(&entry.line);
    }
    if entries.is_empty() {
        ui.talk("no pass of gpurun is in the crontab; `gpurun cron install` puts one there");
    } else if !daemon_runs {
        ui.talk("no cron daemon was seen running here: nothing will happen until one is started");
    }
}

/// Whether a process called like a cron daemon runs; other schedulers read crontabs too, so "no" is only a hint.
fn daemon_runs() -> bool {
    const DAEMONS: [&str; 5] = ["cron", "crond", "fcron", "dcron", "busybox"];
    fs::read_dir("/proc").is_ok_and(|entries| {
        entries
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok())
            .any(|name| DAEMONS.contains(&name.trim()))
    })
}

//! The command of a crontab entry.

use super::CronError;
use crate::settings::{Environment, SETTINGS};
use nix::unistd::{Uid, User};
use std::path::{Path, PathBuf};

/// Where things are that cron's bare environment doesn't say.
const PLACES: [&str; 4] = [
    "GPURUN_HOME",
    "GPURUN_CONFIG",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
];

/// One pass on a schedule, every word of it resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The state directory: what the entry is known by.
    pub(crate) state: PathBuf,
    /// The time fields.
    pub(crate) schedule: String,
    /// The absolute path of the program.
    pub(crate) program: PathBuf,
    pub(crate) log: PathBuf,
    /// Variables the pass needs beside cron's own. Never a key.
    pub(crate) variables: Vec<(String, String)>,
}

impl Entry {
    /// What runs, for `/bin/sh`, without the redirection.
    pub(crate) fn command(&self) -> String {
        let mut words: Vec<String> = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={}", quoted(value)))
            .collect();
        words.push(quoted(&self.program.to_string_lossy()));
        words.push("reap --json".to_owned());
        words.join(" ")
    }

    /// The line of the crontab.
    ///
    /// # Errors
    /// A path with a line break, which no crontab can hold.
    pub(crate) fn line(&self) -> Result<String, CronError> {
        let log = quoted(&self.log.to_string_lossy());
        // A bare % ends the command of a crontab line.
        let command = format!("{} >> {log} 2>&1", self.command()).replace('%', "\\%");
        let state = self.state.to_string_lossy();
        if [&command[..], &*state]
            .iter()
            .any(|text| text.contains(['\n', '\r']))
        {
            return Err(CronError::new(
                "a path with a line break in it can't stand in a crontab",
                "move gpurun, its state or its log to a plain path",
            ));
        }
        Ok(format!("{} {command}", self.schedule))
    }
}

/// The variables of this environment that change what a pass does. Keys of clouds are not among them.
pub(crate) fn variables(environment: &Environment) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> = Vec::new();
    let home = environment.home();
    if account_home().is_none_or(|account| account != home) {
        variables.push(("HOME".to_owned(), home.to_string_lossy().into_owned()));
    }
    let settings = SETTINGS.iter().map(|info| info.variable);
    for name in PLACES.into_iter().chain(settings) {
        let Some(value) = environment.variable(name) else {
            continue;
        };
        let value = match name {
            "GPURUN_HOME" | "GPURUN_CONFIG" => absolute(&value),
            _ => value,
        };
        variables.push((name.to_owned(), value));
    }
    variables
}

/// cron starts in the home directory, so a relative path would mean another place there.
fn absolute(path: &str) -> String {
    std::path::absolute(Path::new(path)).map_or_else(
        |_| path.to_owned(),
        |absolute| absolute.to_string_lossy().into_owned(),
    )
}

/// The home that cron will set: the account's.
fn account_home() -> Option<PathBuf> {
    User::from_uid(Uid::current())
        .ok()
        .flatten()
        .map(|user| user.dir)
}

/// One word for a POSIX shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn entry(program: &str, log: &str) -> Entry {
        Entry {
            state: "/home/x/state".into(),
            schedule: "*/10 * * * *".into(),
            program: program.into(),
            log: log.into(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn a_plain_line_is_what_one_would_write_by_hand() {
        let line = entry("/usr/bin/gpurun", "/var/log/gpurun.log")
            .line()
            .expect("plain paths");
        assert_eq!(
            line,
            "*/10 * * * * /usr/bin/gpurun reap --json >> /var/log/gpurun.log 2>&1"
        );
    }

    #[test]
    fn odd_paths_are_quoted_for_the_shell_and_percent_for_cron() {
        let mut odd = entry("/opt/it's 100%/gpurun", "/tmp/a b.log");
        odd.variables.push(("GPURUN_HOME".into(), "/s $x".into()));
        assert_eq!(
            odd.line().expect("one line"),
            "*/10 * * * * GPURUN_HOME='/s $x' '/opt/it'\\''s 100\\%/gpurun' reap --json >> '/tmp/a b.log' 2>&1"
        );
        assert!(!odd.command().contains('\\') || odd.command().contains("'\\''"));
        assert!(entry("/opt/a\nb/gpurun", "/l").line().is_err());
    }

    #[test]
    fn places_and_settings_go_along_and_keys_never_do() {
        let environment = Environment::fixed([
            ("HOME", "/somewhere/else"),
            ("GPURUN_HOME", "relative/state"),
            ("GPURUN_LOCAL_PRICE", "0.07"),
            ("VAST_API_KEY", "top-secret"),
            ("PATH", "/odd"),
        ]);
        let found = variables(&environment);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["HOME", "GPURUN_HOME", "GPURUN_LOCAL_PRICE"]);
        assert!(Path::new(&found[1].1).is_absolute());
    }
}

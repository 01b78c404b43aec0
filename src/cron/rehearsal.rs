//! The entry's command, run once as cron will run it.

use super::{CronError, entry::Entry};
use crate::exit_code::ExitCode;
use serde::Deserialize;
use std::{path::Path, process::Command};

/// What a pass under cron's bare environment came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rehearsal {
    /// Something waits for a person already now.
    pub(crate) needs_a_person: bool,
    pub(crate) runs: usize,
}

/// The part of `reap --json` that says whether every provider could be read.
#[derive(Deserialize)]
struct Pass {
    runs: Vec<serde_json::Value>,
    orphans: Orphans,
    needs_a_person: bool,
}

#[derive(Deserialize)]
struct Orphans {
    unread: Vec<String>,
}

/// Runs the pass with nothing but what cron gives: HOME, LOGNAME, SHELL and a short PATH.
///
/// # Errors
/// A pass that can't be run, that fails, that isn't understood, or that could not read a provider.
pub(crate) fn rehearse(entry: &Entry, home: &Path, login: &str) -> Result<Rehearsal, CronError> {
    let output = Command::new("/bin/sh")
        .args(["-c", &entry.command()])
        .env_clear()
        .env("HOME", home)
        .env("LOGNAME", login)
        .env("SHELL", "/bin/sh")
        .env("PATH", "/usr/bin:/bin")
        .current_dir(home)
        .output()
        .map_err(|error| refused(entry, &format!("/bin/sh can't be run: {error}")))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    let fine = [ExitCode::Success, ExitCode::Attention].map(|code| i32::from(code.number()));
    let pass: Option<Pass> = serde_json::from_slice(&output.stdout).ok();
    let Some(pass) = pass.filter(|_| code.is_some_and(|code| fine.contains(&code))) else {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let said = [stderr.trim(), stdout.trim()].join(" ");
        return Err(refused(
            entry,
            &format!("{}: {}", output.status, said.trim()),
        ));
    };
    if let Some(first) = pass.orphans.unread.first() {
        return Err(refused(
            entry,
            &format!("a provider can't be read: {first}"),
        ));
    }
    Ok(Rehearsal {
        needs_a_person: pass.needs_a_person,
        runs: pass.runs.len(),
    })
}

fn refused(entry: &Entry, why: &str) -> CronError {
    CronError::new(
        format!("not installed: a pass as cron would run it failed: {why}"),
        format!(
            "try it: env -i HOME=\"$HOME\" PATH=/usr/bin:/bin /bin/sh -c '{}'",
            entry.command().replace('\'', "'\\''")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::PathBuf};

    /// An entry whose program is a script of these lines.
    fn entry(folder: &Path, script: &str) -> Entry {
        let program = folder.join("it's gpurun");
        crate::cron::script::script(&program, &format!("#!/bin/sh\n{script}\n"));
        Entry {
            state: PathBuf::from("/state"),
            schedule: "* * * * *".into(),
            program,
            log: PathBuf::from("/dev/null"),
            variables: vec![("GPURUN_HOME".into(), "/s t".into())],
        }
    }

    fn rehearsed(script: &str) -> Result<Rehearsal, CronError> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        rehearse(&entry(folder.path(), script), folder.path(), "tester")
    }

    #[test]
    fn the_environment_is_crons_and_the_entrys_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = "env > \"$HOME/seen\"; pwd > \"$HOME/where\"; echo \"$@\" > \"$HOME/args\"\n\
             echo '{\"runs\":[],\"orphans\":{\"unread\":[]},\"needs_a_person\":false}'";
        rehearse(&entry(folder.path(), script), folder.path(), "tester").expect("a good pass");
        let seen = fs::read_to_string(folder.path().join("seen")).expect("written");
        let mut names: Vec<&str> = seen
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        names.retain(|name| !["_", "PWD", "OLDPWD", "SHLVL"].contains(name));
        names.sort_unstable();
        assert_eq!(
            names,
            ["GPURUN_HOME", "HOME", "LOGNAME", "PATH", "SHELL"],
            "{seen}"
        );
        assert!(seen.contains("GPURUN_HOME=/s t\n"));
        assert_eq!(
            fs::read_to_string(folder.path().join("args")).expect("written"),
            "reap --json\n"
        );
        let real = folder.path().canonicalize().expect("there");
        let place = fs::read_to_string(folder.path().join("where")).expect("written");
        assert_eq!(Path::new(place.trim()).canonicalize().expect("there"), real);
    }

    #[test]
    fn something_for_a_person_is_no_reason_to_refuse() {
        let script =
            "echo '{\"runs\":[{},{}],\"orphans\":{\"unread\":[]},\"needs_a_person\":true}'; exit 8";
        let seen = rehearsed(script).expect("a pass that could read everything");
        assert_eq!(
            seen,
            Rehearsal {
                needs_a_person: true,
                runs: 2
            }
        );
    }

    #[test]
    fn a_pass_that_fails_or_can_not_read_a_provider_is_refused() {
        let unread = "echo '{\"runs\":[],\"orphans\":{\"unread\":[\"vast: list failed\"]},\"needs_a_person\":true}'; exit 8";
        for (script, expected) in [
            (unread, "vast: list failed"),
            ("echo no key >&2; exit 5", "no key"),
            ("echo '{}'", "failed"),
            (
                "echo '{\"runs\":[],\"orphans\":{\"unread\":[]},\"needs_a_person\":false}'; exit 1",
                "exit status: 1",
            ),
            ("kill -9 $$", "pass as cron would run it failed"),
        ] {
            let error = rehearsed(script).expect_err(script);
            assert!(
                error.message.contains("not installed") && error.message.contains(expected),
                "{error}"
            );
        }
    }
}

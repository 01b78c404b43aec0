use super::which_run::WhichRun;
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::observe;
use crate::shell::{Shell, block_on};
use crate::ui::Ui;
use gpurun_lifecycle::RunRecord;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Log in to a run's box, or run one command there
///
/// Starts this machine's own ssh with the run's key, and refuses a box that shows another host key than it did at
/// the first contact.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
    /// Print the ssh command instead of starting it, as for scp or an editor
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// The command, after `--`; left out, a shell
    #[arg(last = true)]
    command: Vec<OsString>,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "ssh")?;
        let mut words = block_on(words(&shell, &run))?;
        words.extend(self.command);
        if self.dry_run {
            let words: Vec<String> = words
                .iter()
                .map(|word| shell_word(&word.to_string_lossy()))
                .collect();
            ui.data(&words.join(" "));
            return Ok(ExitCode::Success);
        }
        // Comes back only when it could not be started.
        let error = Command::new(&words[0]).args(&words[1..]).exec();
        Err(Failure::new(
            ExitCode::Failure,
            format!("ssh can't be started: {error}"),
            "install the OpenSSH client",
        ))
    }
}

async fn words(shell: &Shell, run: &RunRecord) -> Result<Vec<OsString>> {
    let not_up = |what: &str| {
        Failure::new(
            ExitCode::Box,
            format!("{} {what}", run.name),
            "`gpurun status` says what became of its box; `gpurun start` brings a stopped one back",
        )
    };
    let instance = run.instance.as_ref().ok_or_else(|| not_up("has no box"))?;
    let provider = shell.provider(&run.spec.provider)?;
    let way = observe::way_in(provider, run, &instance.id).await?;
    let way = way.ok_or_else(|| not_up("has no box that runs"))?;
    let words = shell.connections.system_ssh(&way).await?;
    words.ok_or_else(|| {
        Failure::new(
            ExitCode::Usage,
            format!("the box of {} is a folder of this machine", run.name),
            "`gpurun explain` names it; there is nothing to log in to",
        )
    })
}

/// As it can be pasted into a shell.
fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_can_be_pasted() {
        assert_eq!(shell_word("-o"), "-o");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}

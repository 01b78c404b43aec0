use crate::error::{Failure, Result};
use crate::execute;
use crate::exit_code::ExitCode;
use crate::observe;
use crate::shell::{Shell, block_on};
use crate::ui::Ui;
use crate::volumes;
use gpurun_pricing::Gigabytes;
use gpurun_providers::VolumeRequest;
use rust_decimal::Decimal;

/// List, make and delete disks that outlive boxes
///
/// They bill on their own, mounted or not, until they are deleted. A job mounts one with box.volume.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show those of every account; the same as no verb
    List,
    /// Make one
    Create {
        /// Lower-case letters, digits and dashes
        name: String,
        /// Whose
        #[arg(long)]
        provider: String,
        /// Its size in GB
        #[arg(long, value_name = "GB")]
        size: Decimal,
        /// The region, or the host of an offer where volumes belong to one machine
        #[arg(long)]
        place: String,
        /// Don't ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Delete one, with all that is on it
    Delete {
        /// Its id as listed
        id: String,
        /// Whose
        #[arg(long)]
        provider: String,
        /// Don't ask
        #[arg(long, short)]
        yes: bool,
    },
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let shell = Shell::open(ui)?;
        match self.verb {
            None | Some(Verb::List) => {}
            Some(Verb::Create {
                name,
                provider,
                size,
                place,
                yes,
            }) => {
                let size = Gigabytes::new(size);
                let request = VolumeRequest { name, size, place };
                create(&shell, &provider, &request, yes)?;
            }
            Some(Verb::Delete { id, provider, yes }) => {
                let question = format!(" delete volume {id} with all that is on it?");
                confirm(&shell, yes, &question, "nothing was deleted")?;
                block_on(execute::delete_volume(shell.provider(&provider)?, &id))?;
            }
        }
        Ok(list(&shell))
    }
}

fn create(shell: &Shell, provider: &str, request: &VolumeRequest, yes: bool) -> Result<()> {
    let provider = shell.provider(provider)?;
    let rate = block_on(observe::volume_rate(provider, request))?;
    let rate = rate.map_or_else(
        || "billed by what is on it".to_owned(),
        |rate| format!("{rate} until it is deleted"),
    );
    let question = format!(
        " make {}, {} in {}: {rate}?",
        request.name, request.size, request.place
    );
    confirm(shell, yes, &question, "nothing was made")?;
    let made = block_on(execute::create_volume(provider, request))?;
    shell.ui.talk(&format!(
        " made {}: --volume {}:/PATH mounts it",
        made.id, made.id
    ));
    Ok(())
}

fn confirm(shell: &Shell, yes: bool, question: &str, declined: &str) -> Result<()> {
    if yes || shell.ui.confirm(question) {
        return Ok(());
    }
    let help = "--yes answers the question";
    Err(Failure::new(ExitCode::Declined, declined, help))
}

fn list(shell: &Shell) -> ExitCode {
    let found = block_on(volumes::list(shell));
    if shell.ui.json {
        shell.ui.json(&found);
    } else {
        for volume in &found.volumes {
            shell.ui.data(&volume.line());
        }
        for unread in &found.unread {
            shell.ui.data(&format!("! unknown, not empty: {unread}"));
        }
        if found.volumes.is_empty() && found.unread.is_empty() {
            shell.ui.data("no volumes");
        }
    }
    if found.unread.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Attention
    }
}

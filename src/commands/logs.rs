use super::which_run::WhichRun;
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::observe;
use crate::remote::{Command, Remote};
use crate::shell::{Shell, block_on};
use crate::ui::Ui;
use gpurun_lifecycle::{Engine, RunRecord};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Show what the training printed
///
/// Read from the box; of a run whose box is gone, the log that was pushed with its checkpoints.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
    /// Go on until the training ends
    #[arg(long, short)]
    follow: bool,
    /// So many of the last lines; all with 0
    #[arg(long, short = 'n', default_value_t = 200, value_name = "LINES")]
    lines: u32,
    /// Its standard error instead of its standard output (libreyolo logs there, and is shown so)
    #[arg(long)]
    stderr: bool,
}

const LOOK: Duration = Duration::from_millis(500);

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        if ui.json && self.follow {
            return Err(Failure::new(
                ExitCode::Usage,
                "a log that is followed has no end, and a JSON document must have one",
                "leave out --json, or --follow: `gpurun logs RUN --json` is the log as it stands",
            ));
        }
        let (shell, run) = self.run.open(ui, "logs")?;
        block_on(show(&shell, &run, &self))
    }
}

async fn show(shell: &Shell, run: &RunRecord, args: &Args) -> Result<ExitCode> {
    let Some(remote) = reach(shell, run).await? else {
        return pushed(shell, run, args);
    };
    let file = &format!("gpurun/{}", stream(run, args));
    let start = match args.lines {
        0 => "+1".to_owned(),
        lines => lines.to_string(),
    };
    let size = size(remote.as_ref(), file).await?;
    // The last lines of what was there when its size was taken; what comes later follows from there.
    let tail = format!("head -c {size} {file} | tail -n {start}");
    let first = output(remote.as_ref(), &["sh", "-c", &tail]).await?;
    if shell.ui.json {
        let text = String::from_utf8_lossy(&first);
        return Ok(print_document(shell, run, Origin::Box, text.lines()));
    }
    let mut offset = size;
    let mut open = shell.ui.bytes(&first);
    while args.follow && open {
        let over = observe::observe(shell, run)
            .await
            .observation
            .training
            .value()
            .is_none_or(|training| training.state.is_over());
        let from = format!("+{}", offset + 1);
        let more = output(remote.as_ref(), &["tail", "-c", &from, file]).await?;
        offset += more.len() as u64;
        open = more.is_empty() || shell.ui.bytes(&more);
        if over {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(ExitCode::Success)
}

fn stream(run: &RunRecord, args: &Args) -> &'static str {
    let stderr = args.stderr || run.spec.install.engine == Engine::Libreyolo;
    if stderr { "stderr.log" } else { "stdout.log" }
}

async fn reach(shell: &Shell, run: &RunRecord) -> Result<Option<Arc<dyn Remote>>> {
    let Some(instance) = &run.instance else {
        return Ok(None);
    };
    let provider = shell.provider(&run.spec.provider)?;
    let Some(way) = observe::way_in(provider, run, &instance.id).await? else {
        return Ok(None);
    };
    Ok(Some(shell.connections.connect(&way).await?))
}

async fn size(remote: &dyn Remote, file: &str) -> Result<u64> {
    let counted = output(remote, &["sh", "-c", &format!("wc -c < {file}")]).await?;
    Ok(String::from_utf8_lossy(&counted)
        .trim()
        .parse()
        .unwrap_or(0))
}

async fn output(remote: &dyn Remote, argv: &[&str]) -> Result<Vec<u8>> {
    let output = remote.exec(&Command::new(argv)).await?;
    if output.success() {
        return Ok(output.stdout);
    }
    Err(Failure::new(
        ExitCode::Box,
        format!("the log can't be read: {}", output.why()),
        "`gpurun status` says whether the training was launched",
    ))
}

/// The copy that went along with the checkpoints.
fn pushed(shell: &Shell, run: &RunRecord, args: &Args) -> Result<ExitCode> {
    let none = |why: String| {
        Failure::new(
            ExitCode::Box,
            format!("{} has no box that runs, and {why}", run.name),
            "a stopped box keeps its log: `gpurun start` brings it back",
        )
    };
    let folder = shell.sink(run).map_err(|error| none(error.to_string()))?;
    let names = [stream(run, args), "train.log"];
    let read = |name: &&str| folder.read(name).ok().flatten();
    let log = names
        .iter()
        .find_map(read)
        .ok_or_else(|| none(format!("{} holds no log", folder.location())))?;
    let text = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = text.lines().collect();
    let skipped = match args.lines {
        0 => 0,
        wanted => lines.len().saturating_sub(wanted as usize),
    };
    let lines = &lines[skipped..];
    if shell.ui.json {
        return Ok(print_document(
            shell,
            run,
            Origin::Destination,
            lines.iter().copied(),
        ));
    }
    shell.ui.data(&lines.join("\n"));
    Ok(ExitCode::Success)
}

/// Where a log was read.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Origin {
    Box,
    Destination,
}

#[derive(Serialize)]
struct Document<'a> {
    run: &'a str,
    from: Origin,
    lines: Vec<&'a str>,
}

fn print_document<'a>(
    shell: &Shell,
    run: &'a RunRecord,
    from: Origin,
    lines: impl Iterator<Item = &'a str>,
) -> ExitCode {
    shell.ui.json(&Document {
        run: &run.id,
        from,
        lines: lines.collect(),
    });
    ExitCode::Success
}

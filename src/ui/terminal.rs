//! Where every byte for a person or a program leaves the process.

use crate::{document::harmless, error::Failure, exit_code::ExitCode};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// The version of every `--json` document; a change of meaning raises it (`docs/json.md`).
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// How this invocation talks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ui {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    verbose: bool,
    /// Progress bars and questions make sense: stderr is a terminal.
    pub(crate) interactive: bool,
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    body: &'a T,
}

impl Ui {
    pub(crate) fn new(json: bool, quiet: bool, verbose: bool) -> Self {
        let interactive = !json && !quiet && std::io::stderr().is_terminal();
        Self {
            json,
            quiet,
            verbose,
            interactive,
        }
    }

    /// Data for stdout. A reader that went away (`| head`) is not an error.
    pub(crate) fn data(&self, text: &str) {
        let text = &harmless(text);
        let mut stdout = std::io::stdout().lock();
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        let _closed_pipe = write!(stdout, "{text}{newline}").and_then(|()| stdout.flush());
    }

    /// Raw bytes for stdout, as `logs` has them. `false` once the reader is gone.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> bool {
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .is_ok()
    }

    /// One versioned JSON document on one line; `body` must serialise to an object.
    pub(crate) fn json(&self, body: &impl Serialize) {
        let document = Document {
            schema_version: SCHEMA_VERSION,
            body,
        };
        let text = serde_json::to_string(&document).expect("documents hold no non-string keys");
        self.data(&text);
    }

    /// Talk for stderr; silent under `--quiet`.
    pub(crate) fn talk(&self, text: &str) {
        if !self.quiet {
            let _closed_pipe = writeln!(std::io::stderr().lock(), "{}", harmless(text));
        }
    }

    /// What only `--verbose` says, on stderr.
    pub(crate) fn verbose(&self, lines: impl Iterator<Item = String>) {
        if self.verbose {
            for line in lines {
                self.talk(&format!("  {line}"));
            }
        }
    }

    /// The end of a verb that failed: a report on stderr, or a JSON document on stdout.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            #[derive(Serialize)]
            struct ErrorBody {
                error: &'static str,
                exit_code: u8,
                message: String,
                causes: Vec<String>,
                help: Option<String>,
            }
            self.json(&ErrorBody {
                error: failure.exit_code.name(),
                exit_code: failure.exit_code.number(),
                message: failure.report.to_string(),
                causes: failure
                    .report
                    .chain()
                    .skip(1)
                    .map(ToString::to_string)
                    .collect(),
                help: failure.report.help().map(|help| help.to_string()),
            });
            return;
        }
        let _closed_pipe = writeln!(std::io::stderr().lock(), "{:?}", failure.report);
    }

    /// Asks before spending or destroying. Without a terminal the answer is no.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        if !self.interactive || !std::io::stdin().is_terminal() {
            return false;
        }
        let mut stderr = std::io::stderr().lock();
        let _closed_pipe = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
        drop(stderr);
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).is_ok()
            && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
    }
}

/// What clap has to say: help and version to stdout with success, errors to stderr, or as a document.
pub(crate) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if json && error.use_stderr() {
        let text = error.to_string();
        let text = text.trim().trim_start_matches("error: ");
        let (message, help) = text.split_once("\n\n").unwrap_or((text, "gpurun --help"));
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ui::new(true, false, false).failure(&Failure::new(
            ExitCode::Usage,
            words(message),
            words(help),
        ));
        return ExitCode::Usage;
    }
    let _closed_pipe = error.print();
    if error.use_stderr() {
        ExitCode::Usage
    } else {
        ExitCode::Success
    }
}

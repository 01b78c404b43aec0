//! A hello-world of gpurun's crates: parses with clap, prints one line. The floor for every verb that needs no ledger.

use clap::Parser;
use std::io::Write;

/// Says hello.
#[derive(Debug, Parser)]
#[command(name = "hello", version, max_term_width = 100)]
struct Cli {
    /// Whom to greet
    #[arg(long, default_value = "world")]
    name: String,
}

fn main() -> std::io::Result<()> {
    let cli = Cli::parse();
    writeln!(std::io::stdout().lock(), "hello, {}", cli.name)
}

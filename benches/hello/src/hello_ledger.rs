//! A hello-world that opens an SQLite file and asks it for one number: the floor for every verb that reads the ledger.

use clap::Parser;
use rusqlite::Connection;
use std::io::Write;
use std::path::PathBuf;

/// Says hello, the time, and the version of an SQLite file.
#[derive(Debug, Parser)]
#[command(name = "hello-ledger", version, max_term_width = 100)]
struct Cli {
    /// The file; it is made where there is none
    file: PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cli = Cli::parse();
    let connection = Connection::open(&cli.file)?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let hello = serde_json::json!({ "at": chrono::Utc::now(), "version": version });
    writeln!(std::io::stdout().lock(), "{hello}")?;
    Ok(())
}

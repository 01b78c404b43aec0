//! Fills a ledger with copies of the runs that are in it, to measure gpurun against years of use.
//!
//! The runs are real ones, made by `gpurun launch`; a thousand launches would take hours. Whatever a copy's history
//! holds (events, decisions, actions) is copied too. Only ids, labels and names differ.

use clap::Parser;
use rusqlite::{Connection, Transaction, named_params};
use std::path::PathBuf;

/// Fills a ledger with copies of its newest closed run, and of its newest open one
#[derive(Debug, Parser)]
struct Cli {
    ledger: PathBuf,
    /// How many closed runs the ledger is to have
    #[arg(long)]
    closed: u32,
    /// How many open ones
    #[arg(long, default_value_t = 0)]
    open: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cli = Cli::parse();
    let mut connection = Connection::open(&cli.ledger)?;
    let transaction = connection.transaction()?;
    fill(&transaction, true, cli.open)?;
    fill(&transaction, false, cli.closed)?;
    transaction.commit()?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}

/// Copies the newest run that is open, or is not, until there are `wanted` of that kind.
fn fill(transaction: &Transaction<'_>, open: bool, wanted: u32) -> rusqlite::Result<()> {
    let (present, pattern): (u32, Option<String>) = transaction.query_row(
        "SELECT count(*), (SELECT id FROM runs WHERE open = :open ORDER BY seq DESC LIMIT 1) FROM runs WHERE open = :open",
        named_params! { ":open": open },
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if present >= wanted {
        return Ok(());
    }
    // Without one there is nothing to copy.
    let pattern = pattern.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    for number in present..wanted {
        copy(transaction, &pattern, number)?;
    }
    Ok(())
}

fn copy(transaction: &Transaction<'_>, pattern: &str, number: u32) -> rusqlite::Result<()> {
    let id = new_id(pattern, number);
    transaction
        .prepare_cached(
            "INSERT INTO runs (record) SELECT json_set(record, '$.id', :id, '$.label', 'gpurun-' || :id,
                 '$.name', name || '-' || :number) FROM runs WHERE id = :pattern",
        )?
        .execute(named_params! { ":id": id, ":number": number, ":pattern": pattern })?;
    for history in [
        "INSERT INTO events (run, at, kind, detail) SELECT :id, at, kind, detail FROM events WHERE run = :pattern",
        "INSERT INTO decisions (run, first_at, last_at, times, sameness, plan, observation)
         SELECT :id, first_at, last_at, times, sameness, plan, observation FROM decisions WHERE run = :pattern",
        "INSERT INTO actions (run, action, begun_at, result, finished_at)
         SELECT :id, action, begun_at, result, finished_at FROM actions WHERE run = :pattern",
    ] {
        transaction
            .prepare_cached(history)?
            .execute(named_params! { ":id": id, ":pattern": pattern })?;
    }
    Ok(())
}

/// An id of the form gpurun gives: ten letters, the first not a digit, spread over the alphabet as random ones are.
fn new_id(pattern: &str, number: u32) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";
    // A multiplicative hash (Knuth): odd, so that no two numbers share their 32 bits.
    let mut bits = number.wrapping_mul(2_654_435_761);
    let mut letters: Vec<u8> = pattern.bytes().take(10).collect();
    letters[0] = LETTERS[10 + (bits % 22) as usize];
    for letter in &mut letters[1..8] {
        *letter = LETTERS[(bits % 32) as usize];
        bits /= 32;
    }
    letters.iter().copied().map(char::from).collect()
}

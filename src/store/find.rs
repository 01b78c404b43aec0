//! From what a person types to the one run meant.

use gpurun_lifecycle::RunRecord;
use rusqlite::{Connection, named_params};

use super::connection::{Ledger, Problem};
use super::error::{Candidate, StoreError};
use super::runs::read_record;

/// Further from what was typed than this many mistakes, a name is no suggestion.
const NEAR: usize = 3;
/// So many candidates are named in an error; more help nobody.
const MOST_CANDIDATES: u32 = 10;

impl Ledger {
    /// The run that `asked` means: its whole id; else the open run of that name, or the newest closed one; else the
    /// one run whose id begins so.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] with the nearest name, [`StoreError::Ambiguous`] with the candidates.
    pub(crate) fn find(&self, asked: &str) -> Result<RunRecord, StoreError> {
        self.query(|connection| {
            let id = match find_id(connection, asked)? {
                Some(id) => id,
                None => by_prefix(connection, asked)?,
            };
            read_record(connection, &id)
        })
    }

    /// The shortest beginning of `id` that means it and nothing else; at least `shortest` letters.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn short_id(&self, id: &str, shortest: usize) -> Result<String, StoreError> {
        self.query(|connection| short_id(connection, id, shortest))
    }

    /// [`Ledger::short_id`] of each of `ids`, in their order, of one state of the ledger.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn short_ids<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        shortest: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.query(|connection| {
            // Without it every query takes and gives back the file's locks.
            let state = connection.unchecked_transaction()?;
            ids.into_iter()
                .map(|id| short_id(&state, id, shortest))
                .collect()
        })
    }
}

fn short_id(connection: &Connection, id: &str, shortest: usize) -> Result<String, Problem> {
    // Only its neighbours in the order of ids can share a beginning with it.
    let sql =
        "SELECT max(id) FROM runs WHERE id < :id UNION ALL SELECT min(id) FROM runs WHERE id > :id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! { ":id": id })?;
    let mut length = shortest;
    while let Some(row) = rows.next()? {
        // The first run has none before it, the last none after it.
        let Some(other) = row.get_ref(0)?.as_str_or_null()? else {
            continue;
        };
        let shared = id
            .bytes()
            .zip(other.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        length = length.max(shared + 1);
    }
    Ok(id.chars().take(length).collect())
}

fn find_id(connection: &Connection, asked: &str) -> Result<Option<String>, Problem> {
    let sql = "SELECT id FROM runs WHERE id = :asked OR name = :asked ORDER BY id = :asked DESC, open DESC, seq DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! { ":asked": asked })?;
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
}

fn by_prefix(connection: &Connection, asked: &str) -> Result<String, Problem> {
    // A range, not a pattern: it uses the index, and no letter in it has a meaning of its own.
    let sql = "SELECT id, name FROM runs WHERE :asked <> '' AND id >= :asked AND id < :asked || x'7f' ORDER BY seq DESC LIMIT :most";
    let mut statement = connection.prepare_cached(sql)?;
    let parameters = named_params! { ":asked": asked, ":most": MOST_CANDIDATES };
    let rows = statement.query_map(parameters, |row| {
        Ok(Candidate {
            id: row.get(0)?,
            name: row.get(1)?,
        })
    })?;
    let mut candidates = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    if candidates.len() > 1 {
        return Err(StoreError::Ambiguous {
            asked: asked.to_owned(),
            candidates,
        }
        .into());
    }
    match candidates.pop() {
        Some(only) => Ok(only.id),
        None => Err(StoreError::UnknownRun {
            asked: asked.to_owned(),
            nearest: nearest(connection, asked)?,
        }
        .into()),
    }
}

fn nearest(connection: &Connection, asked: &str) -> Result<Option<String>, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM runs UNION SELECT id FROM runs")?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut best = None;
    for name in names {
        let name = name?;
        let distance = strsim::damerau_levenshtein(asked, &name);
        if distance <= NEAR
            && distance < name.chars().count()
            && best.as_ref().is_none_or(|(least, _)| distance < *least)
        {
            best = Some((distance, name));
        }
    }
    Ok(best.map(|(_, name)| name))
}

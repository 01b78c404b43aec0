//! metrics.jsonl and results.csv: the same rows twice.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use gpurun_protocol::metrics::{self, EpochRow};
use serde_json::Value;

use super::atomic::replace_file;
use super::directory::RunDir;

/// The rows of a run so far, and the two files that hold them.
#[derive(Debug)]
pub struct History {
    jsonl: PathBuf,
    csv: PathBuf,
    rows: Vec<EpochRow>,
}

impl History {
    /// Begins a history at `start_epoch` (counted from 1): rows from there on, which an earlier process
    /// wrote after its last checkpoint, are dropped; at 1 the history begins empty. `last_row` is the line
    /// of the last finished epoch as the checkpoint has it, for a process that was killed before it could
    /// write it here.
    ///
    /// # Errors
    /// When the files can't be read or replaced.
    pub fn begin(
        run_dir: &RunDir,
        start_epoch: u32,
        last_row: Option<&str>,
    ) -> io::Result<History> {
        let jsonl = run_dir.file("metrics.jsonl");
        let mut lines = match fs::read(&jsonl) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            read => read.unwrap_or_default(),
        };
        lines.push(b'\n');
        lines.extend(last_row.unwrap_or_default().as_bytes());
        let mut rows = metrics::read(&lines).rows;
        rows.retain(|row| row.epoch < start_epoch);
        let history = History {
            jsonl,
            csv: run_dir.file("results.csv"),
            rows,
        };
        if history.rows.is_empty() {
            remove_if_there(&history.jsonl)?;
            remove_if_there(&history.csv)?;
            return Ok(history);
        }
        let lines = history
            .rows
            .iter()
            .map(EpochRow::to_line)
            .collect::<serde_json::Result<String>>()?;
        replace_file(&history.jsonl, lines.as_bytes())?;
        replace_file(&history.csv, to_csv(&history.rows).as_bytes())?;
        Ok(history)
    }

    pub fn rows(&self) -> &[EpochRow] {
        &self.rows
    }

    /// Adds an epoch to both files.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn push(&mut self, row: EpochRow) -> io::Result<()> {
        let line = row.to_line()?;
        self.rows.push(row);
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.jsonl)?
            .write_all(line.as_bytes())?;
        replace_file(&self.csv, to_csv(&self.rows).as_bytes())
    }
}

fn remove_if_there(path: &PathBuf) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// As Python's csv module writes it. Columns stand in the order of their first appearance.
fn to_csv(rows: &[EpochRow]) -> String {
    let objects: Vec<_> = rows
        .iter()
        .map(|row| {
            match serde_json::to_value(EpochRow {
                values: Default::default(),
                ..row.clone()
            }) {
                Ok(Value::Object(fixed)) => (fixed, &row.values),
                _ => unreachable!("a row serialises as an object"),
            }
        })
        .collect();
    let mut columns: Vec<&str> = FIXED_COLUMNS.to_vec();
    for (_, values) in &objects {
        for column in values.keys() {
            if !columns.contains(&column.as_str()) {
                columns.push(column);
            }
        }
    }
    let mut csv = columns.join(",") + "\r\n";
    for (fixed, values) in &objects {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| cell(fixed.get(*column).or_else(|| values.get(*column))))
            .collect();
        csv.push_str(&cells.join(","));
        csv.push_str("\r\n");
    }
    csv
}

const FIXED_COLUMNS: [&str; 10] = [
    "epoch",
    "time",
    "train/loss",
    "validated",
    "is_best",
    "current_metric",
    "current_metric_name",
    "best_metric",
    "best_metric_name",
    "best_epoch",
];

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Bool(bool)) => u8::from(*bool).to_string(),
        Some(Value::String(text)) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(epoch: u32, extra: &[(&str, f64)]) -> EpochRow {
        EpochRow {
            epoch,
            time: Some(1.5),
            train_loss: Some(f64::from(epoch)),
            validated: Some(!extra.is_empty()),
            values: extra
                .iter()
                .map(|(k, v)| ((*k).to_owned(), Value::from(*v)))
                .collect(),
            ..EpochRow::default()
        }
    }

    fn lines(path: &PathBuf) -> Vec<String> {
        fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn columns_are_the_union() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        let mut history = History::begin(&run, 1, None).unwrap();
        history.push(row(1, &[("lr/group0", 0.1)])).unwrap();
        history
            .push(row(2, &[("metrics/mAP50", 0.5), ("lr/group0", 0.2)]))
            .unwrap();
        let csv = lines(&run.file("results.csv"));
        assert!(
            csv[0].ends_with("best_epoch,lr/group0,metrics/mAP50"),
            "{}",
            csv[0]
        );
        assert_eq!(csv[1], "1,1.5,1.0,1,,,,,,,0.1,");
        assert_eq!(csv[2], "2,1.5,2.0,1,,,,,,,0.2,0.5");
        assert_eq!(lines(&run.file("metrics.jsonl")).len(), 2);
    }

    #[test]
    fn a_resume_drops_what_comes_again() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        let mut history = History::begin(&run, 1, None).unwrap();
        for epoch in 1..=3 {
            history.push(row(epoch, &[])).unwrap();
        }
        let mut torn = OpenOptions::new()
            .append(true)
            .open(run.file("metrics.jsonl"))
            .unwrap();
        torn.write_all(b"{\"epoch\": 4, \"ti").unwrap();
        let mut history = History::begin(&run, 3, None).unwrap();
        assert_eq!(history.rows().len(), 2);
        history.push(row(3, &[])).unwrap();
        let read = metrics::read(&fs::read(run.file("metrics.jsonl")).unwrap());
        assert_eq!((read.rows.len(), read.skipped.len()), (3, 0));
        assert_eq!(lines(&run.file("results.csv")).len(), 4);
    }

    #[test]
    fn the_checkpoint_fills_in_what_was_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        let mut history = History::begin(&run, 1, None).unwrap();
        history.push(row(1, &[])).unwrap();
        let line = row(2, &[]).to_line().unwrap();
        let epochs =
            |history: &History| -> Vec<u32> { history.rows().iter().map(|r| r.epoch).collect() };
        assert_eq!(
            epochs(&History::begin(&run, 3, Some(&line)).unwrap()),
            [1, 2]
        );
        assert_eq!(
            epochs(&History::begin(&run, 3, Some(&line)).unwrap()),
            [1, 2]
        );
    }

    #[test]
    fn a_fresh_start_is_clean() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        History::begin(&run, 1, None)
            .unwrap()
            .push(row(1, &[]))
            .unwrap();
        assert!(History::begin(&run, 1, None).unwrap().rows().is_empty());
        assert!(!run.file("metrics.jsonl").exists());
    }
}

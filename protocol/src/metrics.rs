//! `metrics.jsonl`: the history of a run, one row per epoch.
//!
//! The file is appended to, so its last line may be torn; and LibreYOLO does not trim it on a resume,
//! so an epoch may stand there twice. [`read`] deals with both.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One epoch. Serialises with LibreYOLO's keys in LibreYOLO's order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRow {
    /// Counted from 1.
    pub epoch: u32,
    /// Seconds the epoch took, validation included.
    #[serde(default)]
    pub time: Option<f64>,
    #[serde(default, rename = "train/loss")]
    pub train_loss: Option<f64>,
    #[serde(default)]
    pub validated: Option<bool>,
    #[serde(default)]
    pub is_best: Option<bool>,
    #[serde(default)]
    pub current_metric: Option<f64>,
    #[serde(default)]
    pub current_metric_name: Option<String>,
    #[serde(default)]
    pub best_metric: Option<f64>,
    #[serde(default)]
    pub best_metric_name: Option<String>,
    #[serde(default)]
    pub best_epoch: Option<u32>,
    /// All other columns in file order: `train/*_loss`, `metrics/*`, `speed/*`, `lr/*`.
    #[serde(flatten)]
    pub values: IndexMap<String, Value>,
}

impl EpochRow {
    /// A numeric column by its whole name, such as `metrics/mAP50-95`.
    pub fn value(&self, column: &str) -> Option<f64> {
        self.values.get(column)?.as_f64()
    }

    /// The row as one line of the file, newline included.
    ///
    /// # Errors
    /// Never for a value built in memory; the signature is serde's.
    pub fn to_line(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// What [`read`] found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Ascending by epoch, each epoch once.
    pub rows: Vec<EpochRow>,
    /// Lines, counted from 1, that are not rows: a torn end, or damage.
    pub skipped: Vec<usize>,
}

/// Reads a whole `metrics.jsonl`. The last row of an epoch wins; what is no row is skipped.
pub fn read(bytes: &[u8]) -> History {
    let mut by_epoch = BTreeMap::new();
    let mut skipped = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<EpochRow>(line) {
            Ok(row) => drop(by_epoch.insert(row.epoch, row)),
            Err(_) => skipped.push(index + 1),
        }
    }
    History {
        rows: by_epoch.into_values().collect(),
        skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_end_loses_only_itself() {
        let history = read(b"{\"epoch\":1,\"train/loss\":3.5}\n{\"epoch\":2,\"train/lo");
        assert_eq!(history.rows.len(), 1);
        assert_eq!(history.rows[0].train_loss, Some(3.5));
        assert_eq!(history.skipped, [2]);
    }

    #[test]
    fn the_last_row_of_an_epoch_wins() {
        let history = read(
            b"{\"epoch\":1,\"time\":1}\n{\"epoch\":2,\"time\":2}\n{\"epoch\":2,\"time\":9}\n{\"epoch\":3}\n",
        );
        let epochs: Vec<u32> = history.rows.iter().map(|row| row.epoch).collect();
        assert_eq!(epochs, [1, 2, 3]);
        assert_eq!(history.rows[1].time, Some(9.0));
        assert!(history.skipped.is_empty());
    }

    #[test]
    fn columns_keep_their_order() {
        let line = "{\"epoch\":1,\"time\":2.0,\"train/loss\":1.5,\"validated\":false,\"is_best\":false,\
                    \"current_metric\":null,\"current_metric_name\":null,\"best_metric\":null,\
                    \"best_metric_name\":null,\"best_epoch\":null,\"train/box_loss\":1.0,\
                    \"metrics/mAP50\":0.5,\"lr/group0\":0.01}\n";
        assert_eq!(read(line.as_bytes()).rows[0].to_line().unwrap(), line);
    }
}

//! The only place that prints: results on stdout, errors on stderr.
//!
//! A reader that has gone away is no reason to fail: the run's files say the same.

use std::io::{self, Write};

use gpurun_train::train::TrainError;
use serde::Serialize;
use serde_json::json;

/// Prints a result: the document as JSON, or the sentence.
pub(crate) fn result(json: bool, document: &impl Serialize, sentence: &str) {
    match serde_json::to_string(document) {
        Ok(document) if json => text(&document),
        _ => text(sentence),
    }
}

/// Prints text for a person.
pub(crate) fn text(text: &str) {
    let _ = writeln!(io::stdout(), "{}", text.trim_end());
}

/// Says an error on stderr and, where `--json` was asked for, prints it in LibreYOLO's form too.
pub(crate) fn error(json: bool, error: &TrainError) {
    if json {
        let document = json!({
            "schema_version": 1,
            "error": error.code.name(),
            "message": error.message,
            "suggestion": error.suggestion,
        });
        text(&document.to_string());
    }
    let mut stderr = io::stderr();
    let _ = writeln!(stderr, "error: {}", error.message);
    if let Some(suggestion) = &error.suggestion {
        let _ = writeln!(stderr, "  {suggestion}");
    }
}

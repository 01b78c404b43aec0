//! The only place that prints: results on stdout, errors on stderr.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "results and errors are printed here alone"
)]

use gpurun_train::train::TrainError;
use serde::Serialize;
use serde_json::json;

/// Prints a result: the document as JSON, or the sentence.
pub(crate) fn result(json: bool, document: &impl Serialize, sentence: &str) {
    if !json {
        return text(sentence);
    }
    match serde_json::to_string(document) {
        Ok(document) => println!("{document}"),
        Err(e) => eprintln!("the result is no JSON: {e}"),
    }
}

/// Prints text for a person.
pub(crate) fn text(text: &str) {
    println!("{}", text.trim_end());
}

/// Prints an error, in the form of LibreYOLO's `--json` when that was asked for.
pub(crate) fn error(json: bool, error: &TrainError) {
    if json {
        println!(
            "{}",
            json!({
                "schema_version": 1,
                "error": error.code.name(),
                "message": error.message,
                "suggestion": error.suggestion,
            })
        );
        return;
    }
    eprintln!("error: {}", error.message);
    if let Some(suggestion) = &error.suggestion {
        eprintln!("  {suggestion}");
    }
}

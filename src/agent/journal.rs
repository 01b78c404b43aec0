//! `agent.log`: what the agent has to say, for people.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use chrono::SecondsFormat;

use super::clock;

/// Appends lines to the log. Shared by the agent's threads.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    last: Mutex<String>,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Journal {
        Journal {
            path,
            last: Mutex::default(),
        }
    }

    /// Appends one line, unless it is the same as the one before. A full disk loses the line and nothing else.
    pub(crate) fn note(&self, message: &str) {
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if *last == message {
            return;
        }
        message.clone_into(&mut last);
        let at = clock::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let line = format!("{at} {}\n", message.replace('\n', " "));
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_line_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.log");
        let journal = Journal::new(path.clone());
        for message in ["a", "a", "b\nc", "a"] {
            journal.note(message);
        }
        let text = std::fs::read_to_string(path).unwrap();
        let messages: Vec<&str> = text.lines().map(|line| &line[21..]).collect();
        assert_eq!(messages, ["a", "b c", "a"]);
    }
}

//! One answer, read to its end.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// How much of an answer that can't be understood is shown.
const SHOWN_CHARACTERS: usize = 200;

/// A vendor's answer. Our key is not in it, even where the vendor repeated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) text: String,
    /// When to come back, as a header says.
    pub(crate) retry_after: Option<Duration>,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON of any form; `None` where it is none.
    pub(crate) fn value(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok()
    }

    /// The body as what was asked for.
    ///
    /// # Errors
    /// In words, with the beginning of what came instead.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_str(&self.text).map_err(|error| {
            if self.text.trim().is_empty() {
                format!("an empty answer ({})", self.status)
            } else {
                format!(
                    "an answer ({}) that can't be understood ({error}): {}",
                    self.status,
                    self.excerpt()
                )
            }
        })
    }

    /// The first of it, on one line.
    pub(crate) fn excerpt(&self) -> String {
        let line: Vec<&str> = self.text.split_whitespace().collect();
        let line = line.join(" ");
        match line.char_indices().nth(SHOWN_CHARACTERS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        Reply {
            status: 200,
            text: text.to_owned(),
            retry_after: None,
        }
    }

    #[test]
    fn what_is_no_answer_is_told_in_short() {
        let wrong = |text: &str| reply(text).json::<Vec<u32>>().expect_err("no numbers");
        assert_eq!(wrong(" \n"), "an empty answer (200)");
        let page = format!("<html>\n<body>{}", "ä".repeat(5000));
        let said = wrong(&page);
        assert!(said.contains("<html> <body>ää") && said.ends_with('…'));
        assert!(said.chars().count() < 300, "{said}");
        assert!(wrong("[1, 2").contains("EOF"), "half of the JSON");
        assert_eq!(reply("[1, 2]").json::<Vec<u32>>(), Ok(vec![1, 2]));
    }
}

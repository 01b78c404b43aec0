//! The command line's `key=value` words, and single values.

use std::fmt;
use std::ops::RangeInclusive;

use super::error::{Code, ConfigError};

/// One value as it stands in train_config.yaml and in checkpoints.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Floats(Vec<f64>),
    Ints(Vec<i64>),
}

/// What the user typed for one key; the key in its `_` form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub key: String,
    pub value: String,
}

/// As the command line would take it.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Null => Ok(()),
            Setting::Bool(bool) => write!(f, "{bool}"),
            Setting::Int(int) => write!(f, "{int}"),
            Setting::Float(float) => write!(f, "{float:?}"),
            Setting::Text(text) => f.write_str(text),
            Setting::Floats(floats) => {
                let floats: Vec<String> = floats.iter().map(|float| format!("{float:?}")).collect();
                write!(f, "({})", floats.join(","))
            }
            Setting::Ints(ints) => {
                let ints: Vec<String> = ints.iter().map(i64::to_string).collect();
                write!(f, "({})", ints.join(","))
            }
        }
    }
}

/// Reads `key=value`, `--key value`, `--key=value`, `--key`, `--no-key` and a bare `key`, all alike.
///
/// `is_flag` says which keys are booleans, the only ones that need no value.
///
/// # Errors
/// When a word is none of these, or a key that needs a value has none.
pub fn parse_assignments(
    words: &[String],
    is_flag: impl Fn(&str) -> bool,
) -> Result<Vec<Assignment>, ConfigError> {
    let mut assignments = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (dashed, body) = match word.strip_prefix("--") {
            Some(body) => (true, body),
            None => (false, word.as_str()),
        };
        let (key, value) = match body.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (body, None),
        };
        let key = normalise(key, word)?;
        let assignment = match value {
            Some(value) => Assignment { key, value },
            None if is_flag(&key) => {
                let value = if dashed {
                    words.next_if(|next| parse_bool(next).is_some())
                } else {
                    None
                };
                Assignment {
                    key,
                    value: value.map_or("true", String::as_str).to_owned(),
                }
            }
            None => match key
                .strip_prefix("no_")
                .filter(|flag| dashed && is_flag(flag))
            {
                Some(flag) => Assignment {
                    key: flag.to_owned(),
                    value: "false".to_owned(),
                },
                None => match words.next().filter(|_| dashed) {
                    Some(value) => Assignment {
                        key,
                        value: value.clone(),
                    },
                    None => {
                        return Err(ConfigError::new(
                            Code::WrongType,
                            format!("`{word}` has no value"),
                        )
                        .suggest(format!("Write {key}=VALUE")));
                    }
                },
            },
        };
        assignments.push(assignment);
    }
    Ok(assignments)
}

fn normalise(key: &str, word: &str) -> Result<String, ConfigError> {
    let well_formed = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !well_formed {
        return Err(ConfigError::new(
            Code::UnknownKey,
            format!("`{word}` is not of the form key=value"),
        ));
    }
    Ok(key.replace('-', "_"))
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The reason a value is refused, without the key.
pub(super) type Refusal = (Code, String);

pub(super) fn bool(text: &str) -> Result<bool, Refusal> {
    parse_bool(text).ok_or_else(|| {
        (
            Code::WrongType,
            format!("must be true or false, got `{text}`"),
        )
    })
}

pub(super) fn int(text: &str, range: RangeInclusive<i64>) -> Result<i64, Refusal> {
    let int: i64 = text.parse().map_err(|_| {
        (
            Code::WrongType,
            format!("must be a whole number, got `{text}`"),
        )
    })?;
    in_range(int, &range)
}

pub(super) fn float(text: &str, range: RangeInclusive<f64>) -> Result<f64, Refusal> {
    let float: f64 = text
        .parse()
        .map_err(|_| (Code::WrongType, format!("must be a number, got `{text}`")))?;
    in_range(float, &range)
}

/// Two numbers, as `(0.5,1.5)`, `[0.5, 1.5]` or `0.5,1.5`.
pub(super) fn pair(text: &str, range: RangeInclusive<f64>) -> Result<(f64, f64), Refusal> {
    let inner = text
        .trim()
        .trim_start_matches(['(', '['])
        .trim_end_matches([')', ']']);
    let Some((low, high)) = inner.split_once(',') else {
        return Err((
            Code::WrongType,
            format!("must be two numbers such as (0.5,1.5), got `{text}`"),
        ));
    };
    let (low, high) = (
        float(low.trim(), range.clone())?,
        float(high.trim(), range)?,
    );
    if low > high {
        return Err((
            Code::OutOfRange,
            format!("must not begin above its end, got `{text}`"),
        ));
    }
    Ok((low, high))
}

fn in_range<N: PartialOrd + std::fmt::Display>(
    number: N,
    range: &RangeInclusive<N>,
) -> Result<N, Refusal> {
    if range.contains(&number) {
        return Ok(number);
    }
    Err((
        Code::OutOfRange,
        format!(
            "must be from {} to {}, got {number}",
            range.start(),
            range.end()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Vec<Assignment>, ConfigError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_assignments(&words, |key| matches!(key, "ema" | "exist_ok"))
    }

    fn pairs(words: &[&str]) -> Vec<(String, String)> {
        parse(words)
            .unwrap()
            .into_iter()
            .map(|a| (a.key, a.value))
            .collect()
    }

    #[test]
    fn every_spelling_means_the_same() {
        let expected = [("save_period".to_owned(), "5".to_owned())];
        for words in [
            &["save_period=5"][..],
            &["save-period=5"],
            &["--save-period", "5"],
            &["--save_period=5"],
        ] {
            assert_eq!(pairs(words), expected, "{words:?}");
        }
    }

    #[test]
    fn flags_need_no_value() {
        let value = |words: &[&str]| pairs(words)[0].clone();
        assert_eq!(
            value(&["exist_ok"]),
            ("exist_ok".to_owned(), "true".to_owned())
        );
        assert_eq!(value(&["--no-ema"]), ("ema".to_owned(), "false".to_owned()));
        assert_eq!(
            value(&["--ema", "false"]),
            ("ema".to_owned(), "false".to_owned())
        );
        assert_eq!(pairs(&["--ema", "epochs=3"]).len(), 2);
    }

    #[test]
    fn a_value_is_never_read_again() {
        assert_eq!(
            pairs(&["--name", "a=b"]),
            [("name".to_owned(), "a=b".to_owned())]
        );
        assert_eq!(
            pairs(&["data=x=y.yaml"]),
            [("data".to_owned(), "x=y.yaml".to_owned())]
        );
    }

    #[test]
    fn a_missing_value_is_an_error() {
        assert_eq!(parse(&["--epochs"]).unwrap_err().code, Code::WrongType);
        assert_eq!(parse(&["epochs"]).unwrap_err().code, Code::WrongType);
        assert_eq!(parse(&["=3"]).unwrap_err().code, Code::UnknownKey);
    }

    #[test]
    fn pairs_have_an_order() {
        assert_eq!(pair("(0.5, 1.5)", 0.0..=9.0), Ok((0.5, 1.5)));
        assert!(pair("2,1", 0.0..=9.0).is_err());
        assert!(pair("2", 0.0..=9.0).is_err());
        assert!(float("nan", 0.0..=1.0).is_err());
    }
}

//! What every bench takes: `--quick` for few rounds, `--json` for the report.

use crate::Error;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    pub(crate) rounds: usize,
    pub(crate) json: bool,
}

/// The rounds of a whole measurement, and of a quick one.
pub(crate) struct Rounds {
    pub(crate) whole: usize,
    pub(crate) quick: usize,
}

pub(crate) fn parse(
    options: &[String],
    rounds: &Rounds,
    usage: &'static str,
) -> Result<BenchOptions, Error> {
    let mut parsed = BenchOptions {
        rounds: rounds.whole,
        json: false,
    };
    for option in options {
        match option.as_str() {
            "--quick" => parsed.rounds = rounds.quick,
            "--json" => parsed.json = true,
            _ => return Err(usage.into()),
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_or_refused() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            super::parse(&words, &Rounds { whole: 7, quick: 2 }, "usage: it").ok()
        };
        let both = |rounds, json| Some(BenchOptions { rounds, json });
        assert_eq!(parse(&[]), both(7, false));
        assert_eq!(parse(&["--quick", "--json"]), both(2, true));
        assert_eq!(parse(&["--fast"]), None);
    }
}

//! The text of a crontab: our marked entries, and everybody else's lines kept to the byte.

use super::CronError;

const BEGIN: &str = "# gpurun:begin ";
const END: &str = "# gpurun:end";
const EXPLANATION: &str = "# gpurun looks after rented boxes; `gpurun cron remove` takes this out.";

/// An entry as it stands in a crontab.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Installed {
    /// The state directory the entry looks after.
    pub(crate) state: String,
    /// The line cron reads.
    pub(crate) line: String,
}

/// A stretch of lines, ours or not.
enum Part<'a> {
    Foreign(&'a str),
    Ours { state: &'a str, line: &'a str },
}

/// The entries of gpurun in a crontab.
///
/// # Errors
/// A mark without its other half: nobody can say what belongs to it.
pub(crate) fn installed(text: &str) -> Result<Vec<Installed>, CronError> {
    let entries = parts(text)?.into_iter().filter_map(|part| match part {
        Part::Ours { state, line } => Some(Installed {
            state: state.to_owned(),
            line: line.to_owned(),
        }),
        Part::Foreign(_) => None,
    });
    Ok(entries.collect())
}

/// The crontab with one entry for `state`: in its old place, or at the end.
pub(crate) fn with_entry(text: &str, state: &str, line: &str) -> Result<String, CronError> {
    let ours = block(state, line);
    let mut new = String::new();
    let mut placed = false;
    for part in parts(text)? {
        match part {
            Part::Foreign(line) => push_line(&mut new, line),
            Part::Ours { state: found, .. } if found == state => {
                if !placed {
                    new.push_str(&ours);
                }
                placed = true;
            }
            Part::Ours { state, line } => new.push_str(&block(state, line)),
        }
    }
    if !placed {
        new.push_str(&ours);
    }
    Ok(new)
}

/// The crontab without the entry for `state`.
pub(crate) fn without_entry(text: &str, state: &str) -> Result<String, CronError> {
    let mut new = String::new();
    for part in parts(text)? {
        match part {
            Part::Foreign(line) => push_line(&mut new, line),
            Part::Ours { state: found, .. } if found == state => {}
            Part::Ours { state, line } => new.push_str(&block(state, line)),
        }
    }
    Ok(new)
}

fn block(state: &str, line: &str) -> String {
    format!("{BEGIN}{state}\n{EXPLANATION}\n{line}\n{END}\n")
}

/// Foreign lines come with their line breaks; only a missing last one is added, which crontab demands.
fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push('\n');
    }
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, CronError> {
    let broken = |number: usize, why: &str| {
        CronError::new(
            format!("crontab:{}: {why}", number + 1),
            "put the marks right with `crontab -e`; gpurun changes nothing until then",
        )
    };
    let mut parts = Vec::new();
    let mut open: Option<(usize, &str, &str)> = None;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        match (&mut open, bare.strip_prefix(BEGIN)) {
            (None, Some(state)) => open = Some((number, state, "")),
            (Some(_), Some(_)) => {
                return Err(broken(number, "an entry of gpurun begins inside another"));
            }
            (None, None) if bare == END => {
                return Err(broken(number, "an entry of gpurun ends that never began"));
            }
            (None, None) => parts.push(Part::Foreign(line)),
            (Some((_, state, ours)), None) if bare == END => {
                parts.push(Part::Ours { state, line: ours });
                open = None;
            }
            (Some((_, _, ours)), None) => {
                let is_comment = bare.is_empty() || bare.starts_with('#');
                if !is_comment && !ours.is_empty() {
                    return Err(broken(
                        number,
                        "a second line stands inside the marks of gpurun",
                    ));
                }
                if !is_comment {
                    *ours = bare;
                }
            }
        }
    }
    match open {
        Some((number, ..)) => Err(broken(number, "an entry of gpurun begins and never ends")),
        None => Ok(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREIGN: &str = "MAILTO=me\n\n# mine \t\n0 5 * * * backup  # 100\\%\n";

    #[test]
    fn an_entry_comes_goes_and_changes_and_the_rest_stays_to_the_byte() {
        let one = with_entry(FOREIGN, "/a", "* * * * * x").expect("well-formed");
        assert!(one.starts_with(FOREIGN));
        assert!(one.ends_with("# gpurun:end\n"));
        let two = with_entry(&one, "/b", "0 * * * * y").expect("well-formed");
        let states: Vec<String> = installed(&two)
            .expect("well-formed")
            .into_iter()
            .map(|entry| format!("{} {}", entry.state, entry.line))
            .collect();
        assert_eq!(states, ["/a * * * * * x", "/b 0 * * * * y"]);
        let changed = with_entry(&two, "/a", "*/5 * * * * x").expect("well-formed");
        assert_eq!(changed, two.replace("* * * * * x", "*/5 * * * * x"));
        assert_eq!(
            with_entry(&changed, "/a", "*/5 * * * * x").expect("well-formed"),
            changed
        );
        let left = without_entry(&changed, "/a").expect("well-formed");
        assert_eq!(without_entry(&left, "/b").expect("well-formed"), FOREIGN);
        assert_eq!(without_entry(FOREIGN, "/a").expect("well-formed"), FOREIGN);
    }

    #[test]
    fn a_table_of_our_own_goes_back_to_nothing() {
        let ours = with_entry("", "/a", "* * * * * x").expect("well-formed");
        assert_eq!(without_entry(&ours, "/a").expect("well-formed"), "");
        let unfinished = with_entry("0 5 * * * backup", "/a", "* * * * * x").expect("well-formed");
        assert!(unfinished.starts_with("0 5 * * * backup\n# gpurun:begin /a\n"));
    }

    #[test]
    fn half_a_mark_is_not_guessed_at() {
        for (text, place) in [
            (
                "a\n# gpurun:begin /a\n* * * * * x\n",
                "crontab:2: an entry of gpurun begins and never ends",
            ),
            ("# gpurun:end\n", "crontab:1:"),
            (
                "# gpurun:begin /a\n# gpurun:begin /b\n# gpurun:end\n",
                "crontab:2:",
            ),
            (
                "# gpurun:begin /a\n1 x\n0 5 * * * backup\n# gpurun:end\n",
                "crontab:3: a second line",
            ),
        ] {
            for result in [with_entry(text, "/a", "l"), without_entry(text, "/a")] {
                let error = result.expect_err(text);
                assert!(error.message.starts_with(place), "{error}");
            }
        }
    }
}

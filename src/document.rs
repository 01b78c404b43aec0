//! A TOML text that a person wrote, and errors that point into it: what, where, why and one thing to do.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use std::{
    borrow::Cow,
    fmt::Display,
    fs::File,
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Something written in a file or given as a flag that can't be used as it is. Nothing has been done.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct DocumentError {
    message: String,
    help: Option<String>,
    place: Option<Box<Place>>,
}

/// The text at fault and the part of it to underline.
#[derive(Debug)]
struct Place {
    text: NamedSource<String>,
    span: SourceSpan,
    label: String,
}

impl DocumentError {
    /// An error that no line of a file is to blame for.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: harmless(&message.into()).into_owned(),
            help: Some(help.into()),
            place: None,
        }
    }

    /// An error at bytes `span` of `text`; the message starts with file, line and column.
    pub(crate) fn at(
        text: &Document,
        span: Range<usize>,
        message: impl AsRef<str>,
        label: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        let (line, column) = text.position(span.start);
        let name = text.path.display().to_string();
        Self {
            message: harmless(&format!("{name}:{line}:{column}: {}", message.as_ref()))
                .into_owned(),
            help,
            place: Some(Box::new(Place {
                text: NamedSource::new(name, text.content.clone()).with_language("TOML"),
                span: span.into(),
                label: label.into(),
            })),
        }
    }
}

impl Diagnostic for DocumentError {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let help = self.help.as_ref()?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place
            .as_ref()
            .map(|place| &place.text as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let label = LabeledSpan::new_with_span(Some(place.label.clone()), place.span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// No job and no configuration is longer; a device or a video given by mistake is.
const LONGEST: u64 = 1 << 20;

/// Reads a file that a person wrote: UTF-8, at most a megabyte. A pipe is as good as a file.
///
/// # Errors
/// `FileTooLarge`, `InvalidData` for what is no text, and whatever reading it says.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?
        .take(LONGEST + 1)
        .read_to_string(&mut text);
    if text.len() as u64 > LONGEST || (read.is_err() && is_longer(path)) {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is longer than a megabyte",
        ));
    }
    read.map(|_length| text)
}

/// A cut may fall within a character, which makes no text of a long one.
fn is_longer(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() > LONGEST)
}

/// Names of files are shown, and may hold what a terminal takes for orders.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let commands = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(commands) {
        Cow::Owned(text.replace(commands, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text of a file and its name, kept so that late errors can show the line.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    pub(crate) content: String,
}

impl Document {
    pub(crate) fn new(path: impl Into<PathBuf>, content: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            path: path.into(),
            content: content.into(),
        })
    }

    /// Line and column of a byte, both from 1; columns count characters.
    fn position(&self, byte: usize) -> (usize, usize) {
        let before = &self.content[..self.content.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}

/// The candidate most similar to a misspelt word, unless none is near.
pub(crate) fn nearest<'a>(
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(wrong, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = Document::new("job.toml", "a = 1\nä = 22\n");
        assert_eq!(text.position(0), (1, 1));
        assert_eq!(text.position(4), (1, 5));
        assert_eq!(text.position(6), (2, 1));
        assert_eq!(text.position(11), (2, 5));
        assert_eq!(text.position(999), (3, 1));
    }

    #[test]
    fn the_nearest_word_is_offered_and_a_far_one_is_not() {
        assert_eq!(nearest("epochz", ["batch", "epochs"]), Some("epochs"));
        assert_eq!(nearest("zzz", ["batch", "epochs"]), None);
    }
}

/// Tables in `docs/` that are made from tables in code.
#[cfg(test)]
pub(crate) mod reference {
    const BEGIN: &str = "<!-- generated -->\n";
    const END: &str = "<!-- end of generated -->";

    /// Fails when the generated part of `docs/NAME` isn't `table`; writes it where
    /// `GPURUN_UPDATE_DOCS` is set.
    pub(crate) fn check(name: &str, table: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("docs")
            .join(name);
        let text = std::fs::read_to_string(&path).expect("the page is there");
        let (head, rest) = text
            .split_once(BEGIN)
            .expect("the page has a generated part");
        let (_, tail) = rest.split_once(END).expect("which ends");
        let current = format!("{head}{BEGIN}{table}{END}{tail}");
        if std::env::var_os("GPURUN_UPDATE_DOCS").is_some() {
            std::fs::write(&path, current).expect("docs/ is writable");
            return;
        }
        assert!(
            text == current,
            "docs/{name} is out of date: run GPURUN_UPDATE_DOCS=1 cargo test --package gpurun --lib reference"
        );
    }
}

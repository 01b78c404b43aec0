//! How times, spans and sizes read: relative for people, exact in JSON.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_pricing::{HourlyRate, Money};
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Serialize, Serializer};

/// "12 min ago", "in 4 h 50 min", "now".
pub(crate) fn relative(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let distance = at - now;
    if distance.abs() < TimeDelta::seconds(1) {
        "now".to_owned()
    } else if distance > TimeDelta::zero() {
        format!("in {}", span(distance))
    } else {
        format!("{} ago", span(-distance))
    }
}

/// The two largest units that say something: "45 s", "12 min", "4 h 50 min", "3 d 2 h".
pub(crate) fn span(length: TimeDelta) -> String {
    let seconds = length.num_seconds().max(0);
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large} {large_unit}")
        } else {
            format!("{large} {large_unit} {small:02} {small_unit}")
        }
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..600 => two(seconds / 60, "min", seconds % 60, "s"),
        600..3600 => format!("{} min", seconds / 60),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// Decimal multiples, as disks are sold: "812 B", "43.0 GB".
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut tenths = u128::from(count) * 10;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths = (tenths + 500) / 1000;
        unit += 1;
    }
    if unit == 0 {
        format!("{count} B")
    } else {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    }
}

/// Text wrapped to 80 columns, every line behind `indent`.
pub(crate) fn paragraph(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(80)
        .initial_indent(indent)
        .subsequent_indent(indent);
    textwrap::fill(text, options)
}

/// " verdict    …": a label, and text wrapped to 80 columns beside it. Paths and numbers stay whole.
pub(crate) fn labelled(label: &str, text: &str) -> String {
    let first = format!(" {label:<10} ");
    let options = textwrap::Options::new(80)
        .initial_indent(&first)
        .subsequent_indent("            ")
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options)
}

/// At most `most` characters; the end of a longer text gives way to an ellipsis.
pub(crate) fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A decimal as a JSON number, to six places: exact as text, so nothing is lost that a bill would show.
pub(crate) fn json_number(value: Decimal) -> serde_json::Value {
    let rounded = value.round_dp_with_strategy(6, RoundingStrategy::MidpointAwayFromZero);
    let text = rounded.normalize().to_string();
    serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
}

/// [`json_number`] of a rate, as `serialize_with` takes it.
pub(crate) fn rate<S: Serializer>(rate: &HourlyRate, serializer: S) -> Result<S::Ok, S::Error> {
    json_number(rate.amount()).serialize(serializer)
}

/// [`rate`], or null.
pub(crate) fn rate_or_null<S: Serializer>(
    rate: &Option<HourlyRate>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rate.map(|rate| json_number(rate.amount()))
        .serialize(serializer)
}

/// [`json_number`] of an amount of money, as `serialize_with` takes it.
pub(crate) fn money<S: Serializer>(money: &Money, serializer: S) -> Result<S::Ok, S::Error> {
    json_number(money.amount()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_like_speech() {
        let read = |seconds| span(TimeDelta::seconds(seconds));
        assert_eq!(read(-3), "0 s");
        assert_eq!(read(59), "59 s");
        assert_eq!(read(60), "1 min");
        assert_eq!(read(65), "1 min 05 s");
        assert_eq!(read(754), "12 min");
        assert_eq!(read(17_400), "4 h 50 min");
        assert_eq!(read(266_400), "3 d 02 h");
    }

    #[test]
    fn relative_times_have_a_direction() {
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(relative(now, now), "now");
        assert_eq!(relative(now - TimeDelta::minutes(12), now), "12 min ago");
        assert_eq!(relative(now + TimeDelta::hours(2), now), "in 2 h");
    }

    #[test]
    fn labelled_text_wraps_beside_its_label_and_keeps_paths_whole() {
        let path =
            "/a-rather-long-folder/with-hyphens/and-more-hyphens/that-goes-on/for-a-while/best.pt";
        let text = labelled("weights", &format!("{path} (35.0 MB, verified by hash)"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].contains(path) && lines[1].starts_with("            (35.0 MB"),
            "{text}"
        );
    }

    #[test]
    fn clipped_text_says_so() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("longer", 5), "long…");
    }

    #[test]
    fn bytes_are_decimal() {
        assert_eq!(bytes(812), "812 B");
        assert_eq!(bytes(1000), "1.0 kB");
        assert_eq!(bytes(43_000_000_000), "43.0 GB");
        assert_eq!(bytes(34_912_345), "34.9 MB");
    }
}

//! Whether a dataset's labels are boxes at all.

use std::collections::HashMap;

/// Of the lines, from which on they are boxes.
const MOSTLY_BOXES: f64 = 0.7;
/// Of the lines, from which on they are all of another form.
const MOSTLY_OTHER: f64 = 0.5;

/// What else the labels are, where nearly all of them agree in it; broken boxes are no other task.
pub(super) fn other_task(lines_by_fields: &HashMap<usize, u64>) -> Option<String> {
    let total: u64 = lines_by_fields.values().sum();
    let share = |count: u64| count as f64 / total as f64;
    let boxes = lines_by_fields.get(&5).copied().unwrap_or(0);
    if total == 0 || share(boxes) >= MOSTLY_BOXES {
        return None;
    }
    let others = || lines_by_fields.iter().filter(|(fields, _)| **fields != 5);
    let (fields, count) = others().max_by_key(|(_, count)| **count)?;
    let extra = fields - 5;
    if share(*count) > MOSTLY_OTHER && (extra.is_multiple_of(3) || extra.is_multiple_of(2)) {
        return Some(match fields {
            9 => "'class' and four corners on most lines (a turned box, or an outline)".into(),
            fields if fields % 2 == 1 => "an outline on most lines (segmentation)".into(),
            _ => "keypoints on most lines (pose)".into(),
        });
    }
    let outlines: u64 = others()
        .filter(|(fields, _)| **fields >= 7 && *fields % 2 == 1)
        .map(|(_, count)| count)
        .sum();
    (share(outlines) > MOSTLY_OTHER).then(|| "an outline on most lines (segmentation)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(lines: &[(usize, u64)]) -> Option<&'static str> {
        let task = other_task(&lines.iter().copied().collect())?;
        ["segmentation", "pose", "turned"]
            .into_iter()
            .find(|kind| task.contains(kind))
    }

    #[test]
    fn a_form_that_most_lines_share_is_another_task() {
        for (lines, expected) in [
            (&[][..], None),
            (&[(5, 70), (11, 30)], None),
            (&[(5, 60), (11, 40)], None),
            (&[(5, 40), (11, 60)], Some("segmentation")),
            (&[(9, 10)], Some("turned")),
            (&[(8, 10)], Some("pose")),
            (&[(56, 10)], Some("pose")),
            (&[(7, 4), (9, 4), (11, 3)], Some("segmentation")),
            (&[(6, 10)], None),
            (&[(6, 3), (12, 3), (7, 3)], None),
        ] {
            assert_eq!(kind(lines), expected, "{lines:?}");
        }
    }
}

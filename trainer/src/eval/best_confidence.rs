//! The confidence at which F1 is best.

use super::matching::{Fate, Matches};

/// The threshold on the score with the best F1 at IoU 0.50 over all classes together, and that F1.
///
/// Both are 0 when nothing right was found. Of equally good thresholds the highest is taken.
pub(super) fn best_confidence<'a>(classes: impl Iterator<Item = &'a [Matches]>) -> (f64, f64) {
    let mut found: Vec<(f32, bool)> = Vec::new();
    let mut boxes = 0;
    for image in classes.flatten() {
        boxes += image.boxes[0];
        let counted = |fate: &Fate| fate.ignored & 1 == 0;
        let fates = image
            .scores
            .iter()
            .zip(&image.fates[0])
            .filter(|(_, fate)| counted(fate));
        found.extend(fates.map(|(score, fate)| (*score, fate.matched & 1 == 1)));
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut right, mut best) = (0, (0.0, 0.0));
    for (index, (score, is_right)) in found.iter().enumerate() {
        right += usize::from(*is_right);
        // Detections of one score stand or fall together.
        if found.get(index + 1).is_some_and(|next| next.0 == *score) {
            continue;
        }
        let f1 = 2.0 * right as f64 / (index + 1 + boxes) as f64;
        if f1 > best.1 {
            best = (f64::from(*score), f1);
        }
    }
    best
}

//! Names for runs.

/// Digits and lower-case letters that can't be taken for one another when read aloud.
const LETTERS: &[u8] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// An id no run anywhere has: 50 random bits, because several ledgers may share one account at a provider, where the
/// id is part of the box's label. It starts with a letter, so that it is never taken for a number.
pub(crate) fn new_run_id() -> String {
    let first = fastrand::usize(10..LETTERS.len());
    let rest = std::iter::repeat_with(|| fastrand::usize(..LETTERS.len()));
    std::iter::once(first)
        .chain(rest)
        .take(10)
        .map(|letter| char::from(LETTERS[letter]))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_differ_and_fit_into_a_label() {
        let ids: BTreeSet<String> = (0..1000).map(|_| new_run_id()).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            assert!(
                id.len() == 10 && id.starts_with(|first: char| first.is_ascii_lowercase()),
                "{id}"
            );
            assert!(id.bytes().all(|byte| LETTERS.contains(&byte)), "{id}");
        }
    }
}

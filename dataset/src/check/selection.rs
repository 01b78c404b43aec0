//! Which checks run.

use super::catalog::{CATALOG, Check};

/// The checks to run: all, or some by name (`labels.tiny_object`) or by family (`labels`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSelection {
    ids: Vec<&'static str>,
}

/// Why checks can't be selected so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A name that no check and no family has.
    #[error(
        "there is no check or family of checks called '{name}'; {}",
        suggestion(name)
    )]
    Unknown {
        /// As it was written.
        name: String,
    },
    /// Everything was left out.
    #[error("no check is left to run; leave fewer of them out")]
    Nothing,
}

impl Default for CheckSelection {
    /// All of them.
    fn default() -> Self {
        Self {
            ids: CATALOG.iter().map(|check| check.id).collect(),
        }
    }
}

impl CheckSelection {
    /// Those of `only`, or all where it is empty, without those of `skip`.
    ///
    /// # Errors
    /// A name that is none; and when nothing is left.
    pub fn of(only: &[String], skip: &[String]) -> Result<Self, SelectionError> {
        for name in only.iter().chain(skip) {
            if !CATALOG.iter().any(|check| matches(check.id, name)) {
                return Err(SelectionError::Unknown { name: name.clone() });
            }
        }
        let any = |names: &[String], id| names.iter().any(|name| matches(id, name));
        Self {
            ids: CATALOG
                .iter()
                .map(|check| check.id)
                .filter(|id| (only.is_empty() || any(only, id)) && !any(skip, id))
                .collect(),
        }
        .not_empty()
    }

    /// Without the checks that read images, which take the time.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn without_images(mut self) -> Result<Self, SelectionError> {
        self.ids.retain(|id| {
            CATALOG
                .iter()
                .all(|check| check.id != *id || !check.needs_images)
        });
        self.not_empty()
    }

    fn not_empty(self) -> Result<Self, SelectionError> {
        if self.ids.is_empty() {
            return Err(SelectionError::Nothing);
        }
        Ok(self)
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = &'static Check> {
        CATALOG.iter().filter(|check| self.ids.contains(&check.id))
    }

    /// Sorted by name.
    pub(super) fn skipped(&self) -> Vec<&'static str> {
        let ids = CATALOG.iter().map(|check| check.id);
        let mut skipped: Vec<_> = ids.filter(|id| !self.ids.contains(id)).collect();
        skipped.sort_unstable();
        skipped
    }
}

fn matches(id: &str, name: &str) -> bool {
    let rest = id.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn suggestion(name: &str) -> String {
    let (family, _) = name.split_once('.').unwrap_or((name, ""));
    let of_family: Vec<&str> = CATALOG
        .iter()
        .map(|check| check.id)
        .filter(|id| matches(id, family))
        .collect();
    if of_family.is_empty() {
        return "the families are balance, config, files, images, labels and splits".into();
    }
    format!("of that family there are {}", of_family.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(only: &[&str], skip: &[&str]) -> Result<Vec<&'static str>, SelectionError> {
        let owned =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.into()).collect() };
        CheckSelection::of(&owned(only), &owned(skip)).map(|selection| selection.ids)
    }

    #[test]
    fn by_name_and_by_family() {
        assert_eq!(CheckSelection::default().ids.len(), 36);
        assert_eq!(
            of(&["splits"], &["splits.leakage_near"]),
            Ok(vec!["splits.leakage_exact"])
        );
        assert_eq!(of(&[], &["images", "labels"]).map(|ids| ids.len()), Ok(18));
        assert_eq!(of(&["splits"], &["splits"]), Err(SelectionError::Nothing));
        let splits = CheckSelection::of(&["splits".into()], &[]).expect("a family");
        assert_eq!(splits.without_images(), Err(SelectionError::Nothing));
    }

    #[test]
    fn what_is_no_name_is_refused_with_those_that_are() {
        let refused = of(&["labels.tiny"], &[]).expect_err("no such check");
        assert!(
            refused.to_string().contains("labels.tiny_object"),
            "{refused}"
        );
        let refused = of(&[], &["label"]).expect_err("no such family");
        assert!(
            refused.to_string().contains("labels and splits"),
            "{refused}"
        );
    }
}

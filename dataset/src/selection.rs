//! Training on some of a dataset's classes, or on all of them as one.

/// Which classes count, and as what. The default changes nothing.
///
/// Both are LibreYOLO's settings `classes` and `single_cls`: classes that are kept keep their ids, and their
/// names, so that predictions need no translation; the others' boxes are left out as if they had never been drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassSelection {
    /// The ids that count; empty for all.
    pub classes: Vec<usize>,
    /// Whether those that count become one class with id 0.
    pub single: bool,
}

/// What the one class of [`ClassSelection::single`] is called.
pub(crate) const SINGLE_NAME: &str = "object";

impl ClassSelection {
    /// The id that a box of class `class` gets; none when it doesn't count.
    ///
    /// An id that is no class of the dataset passes through, for whoever knows the classes to refuse, but for this:
    /// as one class all ids from 0 are the same.
    pub(crate) fn map(&self, class: i64) -> Option<i64> {
        let counts = self.classes.is_empty()
            || usize::try_from(class).is_ok_and(|class| self.classes.contains(&class));
        match (counts, self.single && class >= 0) {
            (false, _) => None,
            (true, true) => Some(0),
            (true, false) => Some(class),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_classes_keep_their_ids() {
        let all = ClassSelection::default();
        assert_eq!(
            [-1, 0, 7].map(|class| all.map(class)),
            [Some(-1), Some(0), Some(7)]
        );
        let some = ClassSelection {
            classes: vec![0, 7],
            single: false,
        };
        assert_eq!(
            [-1, 0, 1, 7].map(|class| some.map(class)),
            [None, Some(0), None, Some(7)]
        );
    }

    #[test]
    fn one_class_has_id_0() {
        let one = ClassSelection {
            classes: vec![],
            single: true,
        };
        assert_eq!(
            [-1, 0, 99].map(|class| one.map(class)),
            [Some(-1), Some(0), Some(0)]
        );
        let some = ClassSelection {
            classes: vec![3],
            single: true,
        };
        assert_eq!([0, 3].map(|class| some.map(class)), [None, Some(0)]);
    }
}

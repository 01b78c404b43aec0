//! Which layers a fine-tune leaves as they are.

use std::str::FromStr;

use super::settings::Setting;
use crate::model::Family;

/// Selected layers. Their normalisations keep their statistics too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Freeze {
    text: String,
    /// Of the family's groups, the first so many.
    first: usize,
    selectors: Vec<Selector>,
}

/// One selected place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Number of one of the family's groups.
    Group(usize),
    /// A group's, module's or parameter's name: itself and all below it.
    Name(String),
}

impl Freeze {
    /// Whether nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.selectors.is_empty()
    }

    /// The prefixes of parameter names that each selector stands for in a family, with the selector as it was typed.
    ///
    /// # Errors
    /// When the family has no group of a number, with what it has.
    pub fn prefixes(&self, family: Family) -> Result<Vec<(String, Vec<String>)>, String> {
        let groups = family.layer_groups();
        if self.first > groups.len() {
            return Err(beyond(self.first, groups));
        }
        let prefixes = |selector: &Selector| match selector {
            Selector::Group(number) => {
                let group = groups.get(*number).ok_or_else(|| beyond(*number, groups))?;
                Ok((number.to_string(), vec![(*group).to_owned()]))
            }
            Selector::Name(name) => {
                let bare = name.strip_prefix("model.").unwrap_or(name);
                // A group is also known by its last segment.
                let groups = groups
                    .iter()
                    .filter(|group| group.rsplit('.').next() == Some(bare) || **group == bare);
                let mut all: Vec<String> = groups.map(|group| (*group).to_owned()).collect();
                all.push(if bare == "all" {
                    String::new()
                } else {
                    bare.to_owned()
                });
                Ok((name.clone(), all))
            }
        };
        let first: Vec<Selector> = (0..self.first).map(Selector::Group).collect();
        first.iter().chain(&self.selectors).map(prefixes).collect()
    }

    pub(super) fn setting(&self) -> Setting {
        match self.text.parse() {
            _ if self.is_empty() => Setting::Null,
            Ok(number) => Setting::Int(number),
            Err(_) => Setting::Text(self.text.clone()),
        }
    }
}

impl FromStr for Freeze {
    type Err = String;

    /// `10`, `backbone`, `[0, 1, head]`, `backbone.conv0,neck`; `none` is nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(
            text.to_ascii_lowercase().as_str(),
            "" | "none" | "null" | "false"
        ) {
            return Ok(Self::default());
        }
        if text.eq_ignore_ascii_case("true") {
            return Err("must say what: a number of groups, or names".to_owned());
        }
        if let Ok(number) = text.parse::<usize>() {
            return Ok(Self {
                text: text.to_owned(),
                first: number,
                selectors: vec![],
            });
        }
        let list = text.trim_matches(['[', ']', '(', ')']);
        let selectors = list
            .split(',')
            .map(|item| item.trim().trim_matches(['\'', '"']))
            .filter(|item| !item.is_empty())
            .map(|item| match item.parse::<i64>() {
                Ok(number) => {
                    let number =
                        usize::try_from(number).map_err(|_| format!("has no group {number}"))?;
                    Ok(Selector::Group(number))
                }
                Err(_) => Ok(Selector::Name(item.to_owned())),
            })
            .collect::<Result<_, String>>()?;
        Ok(Self {
            text: text.to_owned(),
            first: 0,
            selectors,
        })
    }
}

fn beyond(number: usize, groups: &[&str]) -> String {
    format!(
        "names group {number}, and there are {}: {}",
        groups.len(),
        groups.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(text: &str) -> Vec<String> {
        let freeze: Freeze = text.parse().unwrap();
        freeze
            .prefixes(Family::Yolo9)
            .unwrap()
            .into_iter()
            .flat_map(|(_, all)| all)
            .collect()
    }

    #[test]
    fn numbers_and_names_select() {
        assert!(prefixes("none").is_empty());
        assert_eq!(prefixes("2"), ["backbone.conv0", "backbone.conv1"]);
        assert_eq!(prefixes("[1]"), ["backbone.conv1"]);
        assert_eq!(prefixes("['neck']"), ["neck"]);
        assert_eq!(prefixes("spp"), ["backbone.spp", "spp"]);
        assert_eq!(prefixes("model.head"), ["head", "head"]);
        assert_eq!(prefixes("all"), [""]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["true", "-1"] {
            assert!(text.parse::<Freeze>().is_err(), "{text}");
        }
        for (text, family) in [
            ("20", Family::Yolo9),
            ("[19]", Family::Yolo9),
            ("3", Family::Yolox),
        ] {
            let freeze: Freeze = text.parse().unwrap();
            let error = freeze.prefixes(family).unwrap_err();
            assert!(error.contains("backbone"), "{text}: {error}");
        }
    }

    #[test]
    fn the_record_restores_it() {
        for text in ["", "10", "neck, head"] {
            let freeze: Freeze = text.parse().unwrap();
            let saved = match freeze.setting() {
                Setting::Null => String::new(),
                other => other.to_string(),
            };
            assert_eq!(saved.parse::<Freeze>().unwrap(), freeze);
        }
    }
}

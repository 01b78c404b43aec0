//! Which layers a fine-tune leaves as they are.

use std::str::FromStr;

use super::settings::Setting;

/// LibreYOLO's order of YOLO9's groups, which `freeze=N` takes the first N of.
const GROUPS: [&str; 19] = [
    "backbone.conv0",
    "backbone.conv1",
    "backbone.elan1",
    "backbone.down2",
    "backbone.elan2",
    "backbone.down3",
    "backbone.elan3",
    "backbone.down4",
    "backbone.elan4",
    "backbone.spp",
    "neck.elan_up1",
    "neck.elan_up2",
    "neck.down1",
    "neck.elan_down1",
    "neck.down2",
    "neck.elan_down2",
    "head",
    "aux",
    "aux_head",
];

/// Selected layers. Their normalisations keep their statistics too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Freeze {
    text: String,
    selectors: Vec<Selector>,
}

/// One selected place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// Number of one of `GROUPS`.
    Group(usize),
    /// A group's, module's or parameter's name: itself and all below it.
    Name(String),
}

impl Freeze {
    /// Whether nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.selectors.is_empty()
    }

    /// The prefixes of parameter names that each selector stands for, with the selector as it was typed.
    #[must_use]
    pub fn prefixes(&self) -> Vec<(String, Vec<String>)> {
        let prefixes = |selector: &Selector| match selector {
            Selector::Group(number) => {
                let group = GROUPS.get(*number).map(|group| (*group).to_owned());
                (number.to_string(), group.into_iter().collect())
            }
            Selector::Name(name) => {
                let bare = name.strip_prefix("model.").unwrap_or(name);
                // A group is also known by its last segment.
                let groups = GROUPS
                    .iter()
                    .filter(|group| group.rsplit('.').next() == Some(bare) || **group == bare);
                let mut all: Vec<String> = groups.map(|group| (*group).to_owned()).collect();
                all.push(if bare == "all" {
                    String::new()
                } else {
                    bare.to_owned()
                });
                (name.clone(), all)
            }
        };
        self.selectors.iter().map(prefixes).collect()
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
            in_range(number, GROUPS.len())?;
            return Ok(Self {
                text: text.to_owned(),
                selectors: (0..number).map(Selector::Group).collect(),
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
                    in_range(number, GROUPS.len() - 1)?;
                    Ok(Selector::Group(number))
                }
                Err(_) => Ok(Selector::Name(item.to_owned())),
            })
            .collect::<Result<_, String>>()?;
        Ok(Self {
            text: text.to_owned(),
            selectors,
        })
    }
}

fn in_range(number: usize, most: usize) -> Result<(), String> {
    if number <= most {
        return Ok(());
    }
    let groups = GROUPS.len();
    Err(format!(
        "names group {number}, and there are {groups}: {}",
        GROUPS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(text: &str) -> Vec<String> {
        let freeze: Freeze = text.parse().unwrap();
        freeze
            .prefixes()
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
        for text in ["true", "20", "-1", "[19]"] {
            assert!(text.parse::<Freeze>().is_err(), "{text}");
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

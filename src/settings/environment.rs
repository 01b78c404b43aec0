//! The environment as the settings see it: named variables, the home, the two well-known places.

use std::{collections::BTreeMap, path::PathBuf};

/// Where variables are looked up; a map in tests, the process elsewhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    fixed: Option<BTreeMap<String, String>>,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        Self { fixed: None }
    }

    /// Exactly these variables and no others.
    #[cfg(test)]
    pub(crate) fn fixed<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            fixed: Some(BTreeMap::from(owned)),
        }
    }

    #[cfg(test)]
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.fixed
            .get_or_insert_default()
            .insert(name.to_owned(), value.to_owned());
    }

    /// The variable's value; an empty one counts as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let value = match &self.fixed {
            Some(variables) => variables.get(name).cloned(),
            None => std::env::var(name).ok(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// The user's home directory; the root directory for a user who has none.
    pub(crate) fn home(&self) -> PathBuf {
        let known = match self.fixed {
            Some(_) => None,
            // The account's directory, where HOME isn't set.
            None => std::env::home_dir(),
        };
        self.variable("HOME")
            .map(PathBuf::from)
            .or(known)
            .unwrap_or_else(|| PathBuf::from("/"))
    }

    /// Where gpurun keeps its ledger, locks and local boxes: `$GPURUN_HOME`, else
    /// `$XDG_STATE_HOME/gpurun`, else `~/.local/state/gpurun`.
    pub(crate) fn state_directory(&self) -> PathBuf {
        if let Some(path) = self.variable("GPURUN_HOME") {
            return absolute(path);
        }
        self.base("XDG_STATE_HOME", ".local/state").join("gpurun")
    }

    /// The configuration: `$GPURUN_CONFIG`, else `$XDG_CONFIG_HOME/gpurun/config.toml`, else
    /// `~/.config/gpurun/config.toml`.
    pub(crate) fn config_file(&self) -> PathBuf {
        if let Some(path) = self.variable("GPURUN_CONFIG") {
            return absolute(path);
        }
        self.config_base().join("gpurun/config.toml")
    }

    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub(crate) fn config_base(&self) -> PathBuf {
        self.base("XDG_CONFIG_HOME", ".config")
    }

    /// An XDG base directory; relative ones are invalid by that specification and ignored.
    fn base(&self, variable: &str, below_home: &str) -> PathBuf {
        self.variable(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .unwrap_or_else(|| self.home().join(below_home))
    }
}

/// Made absolute, because what is remembered there must not depend on where the next call starts.
fn absolute(path: String) -> PathBuf {
    std::path::absolute(&path).unwrap_or_else(|_| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_variables_and_then_the_home() {
        let plain = Environment::fixed([("HOME", "/h")]);
        assert_eq!(
            plain.state_directory(),
            PathBuf::from("/h/.local/state/gpurun")
        );
        assert_eq!(
            plain.config_file(),
            PathBuf::from("/h/.config/gpurun/config.toml")
        );

        let xdg = Environment::fixed([
            ("HOME", "/h"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_CONFIG_HOME", "relative/is/ignored"),
        ]);
        assert_eq!(xdg.state_directory(), PathBuf::from("/s/gpurun"));
        assert_eq!(
            xdg.config_file(),
            PathBuf::from("/h/.config/gpurun/config.toml")
        );

        let own = Environment::fixed([("GPURUN_HOME", "/g"), ("GPURUN_CONFIG", "/c.toml")]);
        assert_eq!(own.state_directory(), PathBuf::from("/g"));
        assert_eq!(own.config_file(), PathBuf::from("/c.toml"));

        let empty = Environment::fixed([("HOME", "/h"), ("GPURUN_HOME", "")]);
        assert_eq!(
            empty.state_directory(),
            PathBuf::from("/h/.local/state/gpurun")
        );
    }
}

//! `bundle.json`: the programs that go to boxes, built together for one kind of machine.

use serde::{Deserialize, Serialize};

/// The file's name in the bundle's folder.
pub const FILE: &str = "bundle.json";
/// The only kind of machine there are programs for.
pub const SYSTEM: &str = "x86_64-linux";

/// What lies in a bundle's folder besides this file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    pub schema_version: u32,
    /// Of every program in it.
    pub version: String,
    /// [`SYSTEM`].
    pub system: String,
    pub programs: Vec<Program>,
}

/// One program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The file's name.
    pub name: String,
    /// In lower-case hexadecimal digits.
    pub sha256: String,
    pub bytes: u64,
    /// The oldest glibc it runs on.
    pub glibc: Glibc,
}

/// A version of the GNU C library, such as `2.28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glibc {
    pub major: u32,
    pub minor: u32,
}

impl Bundle {
    /// The folder's name, and that of its archive before the endings.
    #[must_use]
    pub fn folder(version: &str) -> String {
        format!("gpurun-{version}-{SYSTEM}")
    }
}

impl Glibc {
    /// The newest version that a program's symbols ask for; `None` when it asks for none.
    #[must_use]
    pub fn needed_by(program: &[u8]) -> Option<Self> {
        const SYMBOL: &[u8] = b"GLIBC_";
        let starts = program
            .windows(SYMBOL.len())
            .enumerate()
            .filter(|(_, window)| *window == SYMBOL);
        starts
            .filter_map(|(at, _)| {
                let rest = &program[at + SYMBOL.len()..];
                let end = rest
                    .iter()
                    .position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
                // A symbol's version is a whole string; anything else only looks like one.
                let name = (rest[end] == 0).then_some(&rest[..end])?;
                std::str::from_utf8(name).ok()?.parse().ok()
            })
            .max()
    }
}

impl std::fmt::Display for Glibc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl std::str::FromStr for Glibc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.trim().split('.').map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok(Self { major, minor }),
            _ => Err(format!("`{text}` is no version of glibc, such as 2.28")),
        }
    }
}

impl TryFrom<String> for Glibc {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Glibc> for String {
    fn from(version: Glibc) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides_which_c_library_is_needed() {
        let program = b"\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.9\0GLIBC_2.34x\0GLIBC_PRIVATE\0";
        let needed = Glibc::needed_by(program).expect("some are named");
        assert_eq!(needed.to_string(), "2.28");
        assert!(needed > "2.9".parse().expect("a version"));
        assert_eq!(Glibc::needed_by(b"static"), None);
    }

    #[test]
    fn a_bundle_reads_as_it_was_written() {
        let bundle = Bundle {
            schema_version: 1,
            version: "0.1.0".to_owned(),
            system: SYSTEM.to_owned(),
            programs: vec![Program {
                name: "gpurun".to_owned(),
                sha256: "ab".to_owned(),
                bytes: 2,
                glibc: Glibc {
                    major: 2,
                    minor: 28,
                },
            }],
        };
        let text = serde_json::to_string(&bundle).expect("JSON");
        assert!(text.contains(r#""glibc":"2.28""#), "{text}");
        assert_eq!(
            serde_json::from_str::<Bundle>(&text).expect("a bundle"),
            bundle
        );
        assert!(serde_json::from_str::<Glibc>("\"two\"").is_err());
    }
}

//! CUDA versions, as drivers and images name them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A version of CUDA: `12.8`. Later is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CudaVersion {
    pub major: u32,
    pub minor: u32,
}

/// Text that is no version of CUDA.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{asked}` is no CUDA version; write it as in 12.8")]
pub struct CudaVersionError {
    asked: String,
}

impl FromStr for CudaVersion {
    type Err = CudaVersionError;

    /// Takes `12.8`, `12`, and what follows a second dot is of no matter: `12.8.1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.trim().split('.');
        let mut number = |default: Option<u32>| {
            parts
                .next()
                .map_or(default, |part| part.parse().ok())
                .ok_or_else(|| CudaVersionError {
                    asked: text.to_owned(),
                })
        };
        Ok(Self {
            major: number(None)?,
            minor: number(Some(0))?,
        })
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

impl TryFrom<String> for CudaVersion {
    type Error = CudaVersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CudaVersion> for String {
    fn from(version: CudaVersion) -> Self {
        version.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        let version = |text: &str| text.parse::<CudaVersion>().expect("a version");
        assert!(version("12.10") > version("12.8"));
        assert_eq!(version("12"), version("12.0"));
        assert_eq!(version("12.8.1").to_string(), "12.8");
        for wrong in ["", "twelve", "12.x", "-1"] {
            assert!(wrong.parse::<CudaVersion>().is_err(), "{wrong}");
        }
    }
}

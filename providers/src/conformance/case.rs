//! What a case is.

use std::fmt;
use std::pin::Pin;

use super::harness::World;
use crate::capabilities::Capabilities;
use crate::error::Error;

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) applies: fn(&Capabilities) -> bool,
    pub(super) run: for<'a> fn(&'a dyn World) -> Running<'a>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// Why a case came to no good end.
#[derive(Debug)]
pub(super) enum Failure {
    /// The provider fell short, in words.
    Failed(String),
    /// This world can't bring about the trouble that the case is about.
    NotHere,
}

impl Failure {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => f.write_str(why),
            Self::NotHere => f.write_str("this can't be brought about here"),
        }
    }
}

macro_rules! case {
    ($name:literal, $function:path) => {
        case!($name, $function, |_| true)
    };
    ($name:literal, $function:path, $applies:expr) => {
        Case {
            name: $name,
            applies: $applies,
            run: |world| Box::pin($function(world)),
        }
    };
}

macro_rules! ensure {
    ($condition:expr, $($why:tt)+) => {
        if !$condition { return Err(Failure::new(format!($($why)+))); }
    };
}

pub(super) use {case, ensure};

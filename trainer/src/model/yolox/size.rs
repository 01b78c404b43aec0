//! The six sizes and their multiples.

use std::fmt;

use super::blocks::Kernel;

/// How large the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum YoloxSize {
    /// Nano: 0.9 million parameters, depthwise convolutions.
    N,
    /// Tiny: 5.1 million.
    T,
    /// Small: 9.0 million.
    S,
    /// Medium: 25.3 million.
    M,
    /// Large: 54.2 million.
    L,
    /// Extra large: 99.1 million.
    X,
}

/// Channels and repetitions of one size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Of the stem; every other width is a multiple of it.
    pub(super) width: i64,
    /// Bottlenecks in the shallow stages and in the neck; the deep stages have three times as many.
    pub(super) depth: usize,
    pub(super) kernel: Kernel,
}

impl YoloxSize {
    /// All sizes, smallest first.
    pub const ALL: [Self; 6] = [Self::N, Self::T, Self::S, Self::M, Self::L, Self::X];

    /// The name in checkpoints.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::N => "n",
            Self::T => "t",
            Self::S => "s",
            Self::M => "m",
            Self::L => "l",
            Self::X => "x",
        }
    }

    pub(super) fn layout(self) -> Layout {
        let layout = |width, depth| Layout {
            width,
            depth,
            kernel: Kernel::Dense,
        };
        match self {
            Self::N => Layout {
                kernel: Kernel::Depthwise,
                ..layout(16, 1)
            },
            Self::T => layout(24, 1),
            Self::S => layout(32, 1),
            Self::M => layout(48, 2),
            Self::L => layout(64, 3),
            Self::X => layout(80, 4),
        }
    }
}

impl fmt::Display for YoloxSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

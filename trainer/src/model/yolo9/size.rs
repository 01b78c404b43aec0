//! The four sizes and their channel counts.

use std::fmt;

/// How large the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Yolo9Size {
    /// Tiny: 2.0 million parameters.
    T,
    /// Small: 7.2 million.
    S,
    /// Medium: 20.1 million.
    M,
    /// Compact, the largest: 25.5 million.
    C,
}

impl Yolo9Size {
    /// All sizes, smallest first.
    pub const ALL: [Self; 4] = [Self::T, Self::S, Self::M, Self::C];

    /// The name in checkpoints.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::T => "t",
            Self::S => "s",
            Self::M => "m",
            Self::C => "c",
        }
    }
}

impl fmt::Display for Yolo9Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Width of an aggregation block: its output, and the `part` inside that is split in two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    pub(super) out: i64,
    pub(super) part: i64,
}

/// The first block behind the stem.
#[derive(Debug, Clone, Copy)]
pub(super) enum FirstBlock {
    Elan(Width),
    RepNcspElan(Width),
}

/// How a stage halves the resolution.
#[derive(Debug, Clone, Copy)]
pub(super) enum Down {
    AConv,
    ADown,
}

/// Channel counts of one size, in the order of the forward pass.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) stem: [i64; 2],
    pub(super) first: FirstBlock,
    pub(super) down: Down,
    /// Output of the downsampling, and the block after it, for strides 8, 16 and 32.
    pub(super) stages: [(i64, Width); 3],
    pub(super) spp: i64,
    /// Bottlenecks in each `RepNCSP`.
    pub(super) repeat: usize,
    /// `elan_up1` and `elan_up2`.
    pub(super) up: [Width; 2],
    /// `down1` with `elan_down1`, `down2` with `elan_down2`.
    pub(super) down_path: [(i64, Width); 2],
}

impl Layout {
    /// Channels of the three maps that the head sees.
    pub(super) fn head_channels(&self) -> [i64; 3] {
        [
            self.up[1].out,
            self.down_path[0].1.out,
            self.down_path[1].1.out,
        ]
    }
}

const fn width(out: i64, part: i64) -> Width {
    Width { out, part }
}

/// A block as wide inside as its output.
const fn even(out: i64) -> Width {
    width(out, out)
}

impl Yolo9Size {
    #[rustfmt::skip]
    pub(super) const fn layout(self) -> Layout {
        match self {
            Self::T => Layout {
                stem: [16, 32], first: FirstBlock::Elan(even(32)), down: Down::AConv,
                stages: [(64, even(64)), (96, even(96)), (128, even(128))],
                spp: 128, repeat: 3, up: [even(96), even(64)],
                down_path: [(48, even(96)), (64, even(128))],
            },
            Self::S => Layout {
                stem: [32, 64], first: FirstBlock::Elan(even(64)), down: Down::AConv,
                stages: [(128, even(128)), (192, even(192)), (256, even(256))],
                spp: 256, repeat: 3, up: [even(192), even(128)],
                down_path: [(96, even(192)), (128, even(256))],
            },
            Self::M => Layout {
                stem: [32, 64], first: FirstBlock::RepNcspElan(even(128)), down: Down::AConv,
                stages: [(240, even(240)), (360, even(360)), (480, even(480))],
                spp: 480, repeat: 1, up: [even(360), even(240)],
                down_path: [(184, even(360)), (240, even(480))],
            },
            Self::C => Layout {
                stem: [64, 128], first: FirstBlock::RepNcspElan(width(256, 128)), down: Down::ADown,
                stages: [(256, width(512, 256)), (512, even(512)), (512, even(512))],
                spp: 512, repeat: 1, up: [even(512), even(256)],
                down_path: [(256, even(512)), (512, even(512))],
            },
        }
    }
}

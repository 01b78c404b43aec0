//! How much disk a job needs. Disk is billed by what is allocated, and can't shrink or grow.

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde::Serialize;

use crate::Gigabytes;

/// Room beyond what is known to be needed, as a factor.
const HEADROOM: Decimal = dec!(1.3);

/// One thing that fills the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiskPart {
    /// In a word or two.
    pub what: String,
    pub bytes: u64,
    /// How the bytes come about, where there is more to say: `33 files x 36 MB`.
    pub sum: Option<String>,
}

/// What a job puts on its disk, and how large that disk should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiskNeed {
    pub parts: Vec<DiskPart>,
    /// Whole gigabytes: all parts, 30 % on top, and not less than the smallest disk there is.
    pub advised: Gigabytes,
}

impl DiskNeed {
    /// Adds the parts up. No disk is smaller than `smallest`.
    pub fn of(parts: Vec<DiskPart>, smallest: Gigabytes) -> Self {
        let advised = wanted(&parts).max(smallest);
        Self { parts, advised }
    }

    /// Whether a disk of this size is enough.
    pub fn fits(&self, disk: Gigabytes) -> bool {
        disk >= self.advised
    }

    /// How the advice comes about: `(data 1.2 GB + install 6.0 GB) x 1.3 = 10 GB`.
    pub fn sum(&self) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .filter(|part| part.bytes > 0)
            .map(|part| format!("{} {}", part.what, size(part.bytes)))
            .collect();
        if parts.is_empty() {
            return format!("{}, the smallest there is", self.advised);
        }
        let smallest = if wanted(&self.parts) < self.advised {
            ", the smallest there is"
        } else {
            ""
        };
        let parts = parts.join(" + ");
        format!("({parts}) x {HEADROOM} = {}{smallest}", self.advised)
    }
}

/// Whole gigabytes for all parts and the room beyond them.
fn wanted(parts: &[DiskPart]) -> Gigabytes {
    let used: Decimal = parts.iter().map(|part| Decimal::from(part.bytes)).sum();
    Gigabytes::new((used * HEADROOM / dec!(1_000_000_000)).ceil())
}

/// One decimal, in GB, or in MB where that would be nothing.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..100_000_000 => (dec!(1_000_000), "MB"),
        _ => (dec!(1_000_000_000), "GB"),
    };
    format!("{:.1} {name}", (Decimal::from(bytes) / unit).round_dp(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(bytes: &[u64], smallest: Decimal) -> DiskNeed {
        let part = |(index, bytes): (usize, &u64)| DiskPart {
            what: ["data", "checkpoints", "install"][index].to_owned(),
            bytes: *bytes,
            sum: None,
        };
        DiskNeed::of(
            bytes.iter().enumerate().map(part).collect(),
            Gigabytes::new(smallest),
        )
    }

    #[test]
    fn everything_counts_and_a_third_is_kept_free() {
        let need = need(&[43_000_000_000, 1_188_000_000, 6_000_000_000], dec!(10));
        assert_eq!(need.advised, Gigabytes::new(dec!(66)));
        assert_eq!(
            need.sum(),
            "(data 43.0 GB + checkpoints 1.2 GB + install 6.0 GB) x 1.3 = 66 GB"
        );
        assert!(need.fits(Gigabytes::new(dec!(66))) && !need.fits(Gigabytes::new(dec!(65.9))));
    }

    #[test]
    fn no_disk_is_smaller_than_the_smallest() {
        let small = need(&[20_000_000, 0, 1_000_000_000], dec!(10));
        assert_eq!(
            small.sum(),
            "(data 20.0 MB + install 1.0 GB) x 1.3 = 10 GB, the smallest there is"
        );
        assert_eq!(need(&[], dec!(1)).sum(), "1 GB, the smallest there is");
        assert_eq!(
            need(&[u64::MAX; 3], dec!(1)).advised.amount(),
            dec!(71942301888)
        );
    }
}

//! The machines that are there when a test names none.

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use crate::Machine;

/// Good ones, bad ones, and those that only their numbers tell apart.
pub(crate) fn machines(now: DateTime<Utc>) -> Vec<Machine> {
    let far = Some(now + TimeDelta::days(87));
    let mut machines = vec![
        Machine::new(40_001, "RTX 4090", 24_564, 8, dec!(0.35)),
        Machine {
            region: "Norway, NO".to_owned(),
            ..Machine::new(40_002, "RTX 4090", 24_564, 8, dec!(0.38))
        },
        // Modified cards with twice the memory bear the same name.
        Machine {
            region: "Hong Kong, HK".to_owned(),
            ..Machine::new(40_003, "RTX 4090", 49_140, 8, dec!(0.52))
        },
        Machine {
            verified: false,
            reliability: dec!(0.91),
            ..Machine::new(40_004, "RTX 4090", 24_564, 2, dec!(0.21))
        },
        // Cheap by the hour; its disk and its traffic are not.
        Machine {
            storage_monthly: dec!(1.2),
            inbound: dec!(0.04),
            outbound: dec!(0.04),
            ..Machine::new(40_005, "RTX 4090", 24_564, 4, dec!(0.29))
        },
        Machine {
            region: "Texas, US".to_owned(),
            ..Machine::new(40_006, "RTX 5090", 32_607, 4, dec!(0.48))
        },
        Machine::new(40_007, "RTX 3090", 24_576, 4, dec!(0.165)),
        Machine {
            datacenter: true,
            ..Machine::new(40_008, "A100 SXM4", 40_960, 8, dec!(0.76))
        },
        Machine {
            datacenter: true,
            ..Machine::new(40_009, "A100 SXM4", 81_920, 8, dec!(1.14))
        },
        Machine {
            datacenter: true,
            ..Machine::new(40_010, "A100 PCIE", 81_920, 4, dec!(0.87))
        },
        Machine {
            datacenter: true,
            ..Machine::new(40_011, "H100 SXM", 81_559, 8, dec!(2.40))
        },
        Machine {
            architecture: "arm64".to_owned(),
            ..Machine::new(40_012, "GH200 SXM", 97_871, 1, dec!(1.60))
        },
        Machine {
            disk_gb: dec!(40),
            ..Machine::new(40_013, "RTX 4090", 24_564, 1, dec!(0.30))
        },
        Machine {
            cuda: dec!(11.8),
            driver: "520.61.05".to_owned(),
            ..Machine::new(40_014, "RTX 4090", 24_564, 1, dec!(0.31))
        },
    ];
    for machine in &mut machines {
        machine.contract_end = far;
    }
    machines.push(Machine {
        contract_end: Some(now + TimeDelta::hours(6)),
        ..Machine::new(40_015, "RTX 4090", 24_564, 1, dec!(0.28))
    });
    machines
}

/// What an interruptible box costs an hour at least, dollars a GPU.
pub(crate) fn lowest_bid(machine: &Machine) -> Decimal {
    machine.gpu_hourly * dec!(0.6)
}

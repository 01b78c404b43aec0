//! The hosts that are there when a test names none.

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::json;

use crate::Machine;

/// Prices of 2026-11, dollars a GPU and hour.
pub(crate) fn machines() -> Vec<Machine> {
    let host = |id, model: &str, memory_mb, gpus, price, cloud: &str, place: &str| Machine {
        region: place.to_owned(),
        details: json!({"cloud": cloud})
            .as_object()
            .cloned()
            .unwrap_or_default(),
        storage_monthly: dec!(0.10),
        inbound: Decimal::ZERO,
        outbound: Decimal::ZERO,
        datacenter: cloud == "SECURE",
        ..Machine::new(id, model, memory_mb, gpus, price)
    };
    let (secure, community) = ("SECURE", "COMMUNITY");
    vec![
        host(
            1,
            "NVIDIA GeForce RTX 4090",
            24_564,
            8,
            dec!(0.74),
            secure,
            "US-KS-2",
        ),
        host(
            2,
            "NVIDIA GeForce RTX 4090",
            24_564,
            8,
            dec!(0.74),
            secure,
            "EU-RO-1",
        ),
        host(
            3,
            "NVIDIA GeForce RTX 4090",
            24_564,
            4,
            dec!(0.34),
            community,
            "CA-MTL-3",
        ),
        host(
            4,
            "NVIDIA A100 80GB PCIe",
            81_920,
            8,
            dec!(1.79),
            secure,
            "US-KS-2",
        ),
        host(
            5,
            "NVIDIA A100-SXM4-80GB",
            81_920,
            8,
            dec!(1.79),
            secure,
            "EU-RO-1",
        ),
        host(
            6,
            "NVIDIA H100 80GB HBM3",
            81_559,
            8,
            dec!(3.99),
            secure,
            "EU-RO-1",
        ),
        host(
            7,
            "NVIDIA H100 PCIe",
            81_559,
            4,
            dec!(2.89),
            secure,
            "US-KS-2",
        ),
        host(8, "NVIDIA H200", 143_771, 8, dec!(4.59), secure, "EU-RO-1"),
        host(9, "NVIDIA L40S", 46_068, 4, dec!(1.09), secure, "US-KS-2"),
    ]
}

/// `SECURE` or `COMMUNITY`.
pub(crate) fn cloud_of(machine: &Machine) -> &str {
    machine.details["cloud"].as_str().unwrap_or("SECURE")
}

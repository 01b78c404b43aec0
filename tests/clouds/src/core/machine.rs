use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde::Serialize;
use serde_json::Map;

/// A host with GPUs, or a vendor's pool of them.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The vendor's number of the machine; its offers are named by it.
    pub id: u64,
    /// Who owns it.
    pub host: u64,
    /// The GPU (or type of box) as the vendor spells it.
    pub model: String,
    /// Memory of one GPU, MB.
    pub memory_mb: u32,
    /// GPUs built in.
    pub gpus: u32,
    /// GPUs that nobody has rented.
    pub free: u32,
    /// The vendor's name of the place.
    pub region: String,
    /// Dollars per GPU and hour.
    pub gpu_hourly: Decimal,
    /// Dollars per GB and month.
    pub storage_monthly: Decimal,
    /// Dollars per GB into the box.
    pub inbound: Decimal,
    /// Dollars per GB out of the box.
    pub outbound: Decimal,
    /// GB that can be rented.
    pub disk_gb: Decimal,
    /// Mbit/s into the box.
    pub down: Decimal,
    /// Mbit/s out of the box.
    pub up: Decimal,
    /// Share of the time that it was up, 0 to 1.
    pub reliability: Decimal,
    /// Whether the vendor checked it.
    pub verified: bool,
    /// Whether it stands in a data centre.
    pub datacenter: bool,
    /// The newest CUDA that its driver carries.
    pub cuda: Decimal,
    /// The driver's version.
    pub driver: String,
    /// `amd64` or `arm64`.
    pub architecture: String,
    /// When the owner takes it off the market.
    pub contract_end: Option<DateTime<Utc>>,
    /// Whether it answers at all.
    pub online: bool,
    /// Whatever else the vendor tells of it.
    pub details: Map<String, serde_json::Value>,
}

impl Machine {
    /// A good verified machine in Sweden; set what differs.
    #[must_use]
    pub fn new(id: u64, model: &str, memory_mb: u32, gpus: u32, gpu_hourly: Decimal) -> Self {
        Self {
            id,
            host: 50_000 + id % 1000,
            model: model.to_owned(),
            memory_mb,
            gpus,
            free: gpus,
            region: "Sweden, SE".to_owned(),
            gpu_hourly,
            storage_monthly: dec!(0.15),
            inbound: dec!(0.003),
            outbound: dec!(0.004),
            disk_gb: dec!(2000),
            down: dec!(5120),
            up: dec!(2960),
            reliability: dec!(0.997),
            verified: true,
            datacenter: false,
            cuda: dec!(12.8),
            driver: "570.124.06".to_owned(),
            architecture: "amd64".to_owned(),
            contract_end: None,
            online: true,
            details: Map::new(),
        }
    }
}

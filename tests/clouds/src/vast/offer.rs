//! One offer, as the search shows it.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::market::lowest_bid;
use super::vendor::MONTH;
use crate::{Machine, number, per_hour_of_month};

/// A share of a machine that can be rented.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) gpus: u32,
}

impl<'a> Ask<'a> {
    /// The number that a create names.
    pub(crate) fn id(self) -> u64 {
        self.machine.id * 100 + u64::from(self.gpus)
    }

    /// The ask of a number, whether its GPUs are free or not.
    pub(crate) fn find(machines: &'a [Machine], id: u64) -> Option<Self> {
        let machine = machines.iter().find(|machine| machine.id == id / 100)?;
        let gpus = u32::try_from(id % 100).ok()?;
        shares(machine)
            .contains(&gpus)
            .then_some(Self { machine, gpus })
    }

    /// Everything on offer: 1, 2, 4, … GPUs of each machine, and all of them.
    pub(crate) fn all(machines: &'a [Machine]) -> Vec<Self> {
        let asks = machines
            .iter()
            .filter(|machine| machine.online)
            .flat_map(|machine| {
                shares(machine)
                    .into_iter()
                    .map(move |gpus| Self { machine, gpus })
            });
        asks.filter(|ask| ask.is_free()).collect()
    }

    pub(crate) fn is_free(self) -> bool {
        self.machine.online && self.machine.free >= self.gpus
    }

    /// GPUs on demand, dollars an hour.
    pub(crate) fn base(self) -> Decimal {
        self.machine.gpu_hourly * Decimal::from(self.gpus)
    }

    /// The lowest bid for all of it, dollars an hour.
    pub(crate) fn lowest_bid(self) -> Decimal {
        lowest_bid(self.machine) * Decimal::from(self.gpus)
    }

    /// So much disk, dollars an hour.
    pub(crate) fn disk(self, gigabytes: Decimal) -> Decimal {
        per_hour_of_month(self.machine.storage_monthly * gigabytes, MONTH)
    }

    /// As JSON, priced with a disk of so many GB, on demand or interruptible.
    pub(crate) fn view(
        self,
        disk_gb: Decimal,
        is_bid: bool,
        now: DateTime<Utc>,
    ) -> Map<String, Value> {
        let it = self.machine;
        let base = if is_bid {
            self.lowest_bid()
        } else {
            self.base()
        };
        let disk = self.disk(disk_gb);
        let total = base + disk;
        let share = Decimal::from(self.gpus) / Decimal::from(it.gpus.max(1));
        let cores = dec!(128);
        let left = it.contract_end.map(|end| (end - now).num_seconds());
        let object = json!({
            "id": self.id(), "ask_contract_id": self.id(), "bundle_id": 900_000_000 + it.id,
            "bundled_results": null, "machine_id": it.id, "host_id": it.host, "hostname": null,
            "hosting_type": u8::from(it.datacenter),
            "gpu_name": it.model, "num_gpus": self.gpus, "gpu_frac": number(share), "gpu_arch": "nvidia",
            "gpu_ram": it.memory_mb, "gpu_total_ram": u64::from(it.memory_mb) * u64::from(self.gpus),
            "gpu_mem_bw": 908.2, "gpu_lanes": 16, "gpu_max_power": 450, "gpu_max_temp": 90,
            "gpu_display_active": false, "compute_cap": 890, "cuda_max_good": number(it.cuda),
            "driver_version": it.driver, "driver_vers": driver_number(&it.driver), "bw_nvlink": 0,
            "pcie_bw": 24.1, "pci_gen": 4.0, "total_flops": 82.5 * f64::from(self.gpus),
            "cpu_name": "AMD EPYC 7543 32-Core", "cpu_arch": it.architecture, "cpu_cores": 128,
            "cpu_cores_effective": number(cores * share), "cpu_ghz": 2.8, "cpu_ram": 515_000, "has_avx": 1,
            "mobo_name": "ROME2D32GM", "os_version": "22.04",
            "disk_space": number(it.disk_gb), "disk_name": "SAMSUNG MZQL21T9", "disk_bw": 4210.0,
            "inet_down": number(it.down), "inet_up": number(it.up),
            "inet_down_cost": number(it.inbound), "inet_up_cost": number(it.outbound),
            "storage_cost": number(it.storage_monthly), "storage_total_cost": number(disk),
            "dph_base": number(base), "dph_total": number(total), "dph_total_adj": number(total),
            "discounted_dph_total": number(total), "discounted_hourly": 0.0, "discount_rate": null,
            "min_bid": number(self.lowest_bid()), "is_bid": is_bid,
            "search": costs(base, disk), "instance": costs(Decimal::ZERO, disk),
            "dlperf": 101.5 * f64::from(self.gpus), "dlperf_per_dphtotal": number(dec!(101.5) * Decimal::from(self.gpus) / total),
            "flops_per_dphtotal": number(dec!(82.5) * Decimal::from(self.gpus) / total), "score": number(dec!(100) / total),
            "reliability": number(it.reliability), "reliability2": number(it.reliability),
            "expected_reliability": number(it.reliability),
            "rentable": true, "rented": false, "external": null,
            "verification": if it.verified { "verified" } else { "unverified" },
            "static_ip": true, "direct_port_count": 499, "public_ipaddr": "127.0.0.1",
            "geolocation": it.region, "geolocode": 43, "vms_enabled": false, "is_vm_deverified": false,
            "resource_type": "gpu", "cluster_id": null,
            "start_date": now.timestamp(), "end_date": it.contract_end.map(|end| end.timestamp()),
            "duration": left, "time_remaining": "", "time_remaining_isbid": "",
            "gpu_ids": (1..=self.gpus).collect::<Vec<_>>(), "vericode": u8::from(it.verified), "reliability_mult": 0.98,
            "credit_discount_max": 0.1, "vram_costperhour": 0.0017, "logo": "/static/logos/x.png",
            "internet_up_cost_per_tb": number(it.outbound * dec!(1024)),
            "internet_down_cost_per_tb": number(it.inbound * dec!(1024)),
            "avail_vol_ask_id": null, "avail_vol_dph": null, "avail_vol_size": null,
            "nw_disk_min_bw": null, "nw_disk_max_bw": null, "nw_disk_avg_bw": null, "rn": 1, "webpage": null,
        });
        match object {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// The sub-objects `search` and `instance`.
pub(crate) fn costs(base: Decimal, disk: Decimal) -> Value {
    json!({
        "gpuCostPerHour": number(base), "diskHour": number(disk), "totalHour": number(base + disk),
        "discountTotalHour": 0, "discountedTotalPerHour": number(base + disk),
    })
}

fn shares(machine: &Machine) -> Vec<u32> {
    let mut shares: Vec<u32> = [1, 2, 4, 8]
        .into_iter()
        .filter(|gpus| *gpus < machine.gpus)
        .collect();
    shares.push(machine.gpus);
    shares
}

/// `535.86.05` is 535086005.
fn driver_number(version: &str) -> u64 {
    let parts = version
        .split('.')
        .map(|part| part.parse::<u64>().unwrap_or(0));
    parts
        .chain([0, 0])
        .take(3)
        .fold(0, |number, part| number * 1000 + part)
}

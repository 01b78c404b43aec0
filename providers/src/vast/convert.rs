//! From its instances to ours; pure.

use gpurun_pricing::{Gigabytes, HourlyRate};
use serde_json::Value;

use super::api::Contract;
use crate::instance::{Access, Instance, InstanceState, SshAccess, SshEndpoint, SshEndpointKind};
use crate::wire;

/// An instance as the contract sees it.
pub(super) fn instance(contract: &Contract) -> Instance {
    let (state, message) = state(contract);
    let running = state == InstanceState::Running;
    // GPUs are billed while it runs; loading is free, and the disk is billed as long as it exists.
    let price = match state {
        InstanceState::Creating | InstanceState::Stopped => contract.storage_total_cost,
        _ => contract.dph_total,
    };
    Instance {
        id: contract.id.clone(),
        label: contract.label.clone().filter(|label| !label.is_empty()),
        state,
        created_at: contract.start_date.and_then(wire::from_epoch),
        state_since: None,
        access: if running { access(contract) } else { None },
        gpus: contract.num_gpus.filter(|_| running),
        disk: contract.disk_space.map(Gigabytes::new),
        price: price.map(HourlyRate::new),
        message,
    }
}

/// Four fields together are a state: what is wanted, what the machine reports, and what the vendor's book says.
fn state(contract: &Contract) -> (InstanceState, Option<String>) {
    let word = |field: &Option<String>| field.clone().unwrap_or_default();
    let (actual, current) = (word(&contract.actual_status), word(&contract.cur_state));
    let said = contract
        .status_msg
        .clone()
        .filter(|text| !text.trim().is_empty());
    let quoted = |why: &str| match &said {
        Some(said) => Some(format!("{why}: {}", said.trim())),
        None => Some(why.to_owned()),
    };
    let failed = said.as_deref().is_some_and(|text| {
        text.contains("OCI runtime create failed")
            || text.trim_start().to_lowercase().starts_with("error")
    });
    if failed {
        return (InstanceState::Broken, quoted("the host can't start it"));
    }
    if word(&contract.intended_status) == "stopped" {
        return if current == "stopped" || actual == "exited" {
            (InstanceState::Stopped, said)
        } else {
            (InstanceState::Stopping, said)
        };
    }
    match actual.as_str() {
        "offline" | "unknown" | "frozen" => {
            (InstanceState::Broken, quoted("its host doesn't answer"))
        }
        "running" if current == "running" => (InstanceState::Running, None),
        _ if current == "stopped" => {
            let why = "it waits for GPUs that another renter has";
            (InstanceState::Creating, Some(why.to_owned()))
        }
        "exited" => (InstanceState::Broken, quoted("its container has ended")),
        "" | "created" | "loading" | "running" | "rebooting" | "recycling" => {
            (InstanceState::Creating, said)
        }
        new => (InstanceState::Broken, quoted(&format!("it is {new}"))),
    }
}

/// The host's own port where it has one mapped, then the vendor's proxy.
fn access(contract: &Contract) -> Option<Access> {
    let direct = contract.public_ipaddr.as_deref().map(str::trim);
    let direct = direct.filter(|host| !host.is_empty()).and_then(|host| {
        Some(SshEndpoint {
            host: host.to_owned(),
            port: mapped_port(contract.ports.as_ref()?)?,
            kind: SshEndpointKind::Direct,
        })
    });
    // A notebook has the first port of the proxy's pair.
    let notebook = contract.image_runtype.as_deref();
    let shift = u16::from(notebook.is_some_and(|runtype| runtype.contains("jupyter")));
    let proxy = contract.ssh_host.clone().and_then(|host| {
        Some(SshEndpoint {
            host,
            port: contract.ssh_port?.checked_add(shift)?,
            kind: SshEndpointKind::Proxy,
        })
    });
    let endpoints: Vec<SshEndpoint> = direct.into_iter().chain(proxy).collect();
    (!endpoints.is_empty()).then(|| {
        Access::Ssh(SshAccess {
            user: "root".to_owned(),
            endpoints,
        })
    })
}

fn mapped_port(ports: &Value) -> Option<u16> {
    let port = &ports["22/tcp"][0]["HostPort"];
    match port {
        Value::String(text) => text.parse().ok(),
        other => u16::try_from(other.as_u64()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn contract(fields: Value) -> Instance {
        let mut whole = json!({
            "id": 24500001, "label": "gpurun-1", "actual_status": "running", "intended_status": "running",
            "cur_state": "running", "next_state": "running", "status_msg": "success, running x/ssh",
            "ssh_host": "ssh4.vast.ai", "ssh_port": 14321, "public_ipaddr": " 203.0.113.42\n",
            "ports": {"22/tcp": [{"HostIp": "0.0.0.0", "HostPort": "41022"}]}, "image_runtype": "ssh_direct",
            "start_date": 1796087000.1, "num_gpus": 8, "dph_total": 2.7899, "storage_total_cost": 0.0208333,
            "disk_space": 100.0,
        });
        for (name, value) in fields.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        instance(&serde_json::from_value(whole).expect("an instance"))
    }

    #[test]
    fn a_running_instance_is_reached_directly_first() {
        let found = contract(json!({}));
        assert_eq!((found.state, found.gpus), (InstanceState::Running, Some(8)));
        assert_eq!(
            found.price.map(HourlyRate::figure).as_deref(),
            Some("2.7899")
        );
        let Some(Access::Ssh(access)) = found.access else {
            panic!("no way in")
        };
        let ways: Vec<String> = access
            .endpoints
            .iter()
            .map(|way| format!("{}:{}", way.host, way.port))
            .collect();
        assert_eq!(ways, ["203.0.113.42:41022", "ssh4.vast.ai:14321"]);
        let notebook = json!({"image_runtype": "jupyter_direc ssh_proxy", "ports": null});
        let Some(Access::Ssh(access)) = contract(notebook).access else {
            panic!("no way in")
        };
        assert_eq!(
            (access.endpoints.len(), access.endpoints[0].port),
            (1, 14322)
        );
    }

    #[test]
    fn four_fields_are_one_state() {
        use InstanceState::{Broken, Creating, Running, Stopped, Stopping};
        let of = |actual: Value, intended: &str, current: &str, said: &str| {
            let fields = json!({
                "actual_status": actual, "intended_status": intended, "cur_state": current,
                "status_msg": said,
            });
            contract(fields).state
        };
        assert_eq!(of(json!(null), "running", "unloaded", ""), Creating);
        assert_eq!(of(json!("loading"), "running", "running", "Pull"), Creating);
        assert_eq!(
            of(json!("running"), "running", "running", "success"),
            Running
        );
        assert_eq!(of(json!("exited"), "stopped", "stopped", ""), Stopped);
        assert_eq!(of(json!("running"), "stopped", "running", ""), Stopping);
        assert_eq!(
            of(json!("exited"), "running", "stopped", ""),
            Creating,
            "waits"
        );
        assert_eq!(of(json!("offline"), "running", "running", ""), Broken);
        let oci = "OCI runtime create failed: nvidia-container-cli";
        assert_eq!(of(json!("created"), "running", "running", oci), Broken);
        assert_eq!(
            of(json!("loading"), "running", "running", "Error: no space"),
            Broken
        );
    }

    #[test]
    fn a_stopped_instance_costs_its_disk_and_shows_no_gpu() {
        let fields = json!({"actual_status": "exited", "intended_status": "stopped", "cur_state": "stopped"});
        let found = contract(fields);
        assert_eq!((found.gpus, found.access), (None, None));
        assert_eq!(
            found.price.map(HourlyRate::figure).as_deref(),
            Some("0.0208")
        );
        let none = contract(json!({"num_gpus": 0}));
        assert_eq!(none.gpus, Some(0), "a resume without GPUs is seen");
    }
}

//! `POST /v2/pods`.

use chrono::TimeDelta;
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::market::cloud_of;
use super::refuse::{invalid, no_capacity, refuse};
use super::{view, volumes};
use crate::{Call, Fault, Order, Rate, Reply, When, World, decimal, per_hour_of_month};

/// Everything that a create may say; another name is refused.
const FIELDS: [&str; 16] = [
    "name",
    "image",
    "gpu",
    "cpu",
    "cloud",
    "dataCenterIds",
    "disk",
    "mounts",
    "ports",
    "env",
    "args",
    "registry",
    "templateId",
    "startSsh",
    "startJupyter",
    "globalNetworking",
];
const GPU_FIELDS: [&str; 6] = [
    "id",
    "count",
    "minCudaVersion",
    "allowedCudaVersions",
    "minRamPerGpu",
    "minVcpuCountPerGpu",
];

/// Hours of its month: a twelfth of a year.
pub(crate) const MONTH: u32 = 730;

/// A create that has been checked.
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) gpus: u32,
    /// `None`: either.
    pub(crate) cloud: Option<String>,
    pub(crate) places: Vec<String>,
    pub(crate) disk: Decimal,
    /// A volume of the pod's own, GB.
    pub(crate) own_volume: Decimal,
    /// Network volumes: id and path.
    pub(crate) volumes: Vec<(String, String)>,
    pub(crate) ports: Vec<String>,
    pub(crate) env: Map<String, Value>,
    pub(crate) start_ssh: bool,
    pub(crate) image: String,
    pub(crate) args: String,
    pub(crate) mounts: Value,
}

pub(crate) fn answer(world: &mut World, call: &Call<'_>) -> Reply {
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    let wanted = match read(&call.request.body) {
        Ok(wanted) => wanted,
        Err(refusal) => return refusal,
    };
    match rent(world, call, &wanted) {
        Err(refusal) => refusal,
        Ok(_) if call.faults.contains(&Fault::FailedCreateLeavesBox) => {
            refuse(500, "Something went wrong. Please try again later.")
        }
        Ok(id) => world
            .rental(&id)
            .map_or_else(super::refuse::no_pod, |rental| {
                Reply::json(201, &view::pod(world, rental))
            }),
    }
}

/// Makes the pod on a host that has room.
pub(crate) fn rent(world: &mut World, call: &Call<'_>, wanted: &Wanted) -> Result<String, Reply> {
    if world.balance() <= Decimal::ZERO {
        return Err(refuse(402, "Insufficient balance."));
    }
    let place = volumes::place_of(world, &wanted.volumes)?;
    let fits = |machine: &&crate::Machine| {
        machine.model == wanted.model
            && machine.online
            && machine.free >= wanted.gpus
            && wanted
                .cloud
                .as_deref()
                .is_none_or(|cloud| cloud_of(machine) == cloud)
            && (wanted.places.is_empty() || wanted.places.contains(&machine.region))
            && place.as_ref().is_none_or(|place| machine.region == *place)
    };
    let machine = world.machines.iter().find(fits);
    let Some(machine) = machine.filter(|_| !call.faults.contains(&Fault::OfferGone)) else {
        return Err(no_capacity());
    };
    let (machine, hourly) = (machine.id, machine.gpu_hourly);
    let id = make(world, call, wanted, (machine, hourly));
    if call.faults.contains(&Fault::DuplicateLabel) {
        make(world, call, wanted, (machine, hourly));
    }
    Ok(id)
}

fn make(
    world: &mut World,
    call: &Call<'_>,
    wanted: &Wanted,
    (machine, hourly): (u64, Decimal),
) -> String {
    let id = format!("p{:013x}", world.next_number() + 0x00ab_cdef_0000);
    let disk = |monthly: Decimal, gigabytes| per_hour_of_month(monthly * gigabytes, MONTH);
    let rate = |item, hourly, when| Rate { item, hourly, when };
    let own = wanted.own_volume;
    let mut environment: Vec<(String, String)> = wanted
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    environment.push(("RUNPOD_POD_ID".to_owned(), id.clone()));
    let order = Order {
        id: id.clone(),
        label: Some(wanted.name.clone()),
        machine,
        gpus: wanted.gpus,
        disk_gb: wanted.disk,
        rates: vec![
            rate("gpu", hourly * Decimal::from(wanted.gpus), When::Rented),
            rate("disk", disk(dec!(0.10), wanted.disk), When::Rented),
            rate("volume", disk(dec!(0.10), own), When::Rented),
            rate("volume_stopped", disk(dec!(0.20), own), When::Stopped),
        ],
        granularity: TimeDelta::seconds(1),
        keys: keys(world, wanted),
        user: "root",
        environment,
        bid: None,
        volumes: wanted.volumes.clone(),
        details: json!({
            "image": wanted.image, "args": wanted.args, "ports": wanted.ports,
            "env": wanted.env, "mounts": wanted.mounts,
        }),
    };
    world.rent(order, call.faults);
    id
}

/// The account's own keys, and what the image's start script finds in its environment; a command of one's own replaces
/// that script, and then nobody starts an sshd.
fn keys(world: &World, wanted: &Wanted) -> Vec<String> {
    if !wanted.args.is_empty() {
        return Vec::new();
    }
    // What the request sets itself is left as it is.
    if let Some(own) = wanted.env.get("PUBLIC_KEY").and_then(Value::as_str) {
        return own.lines().map(str::to_owned).collect();
    }
    let account = world.keys.iter().map(|key| key.line.clone());
    account.filter(|_| wanted.start_ssh).collect()
}

fn read(body: &Value) -> Result<Wanted, Reply> {
    let Some(fields) = body.as_object() else {
        return Err(invalid("$: must be an object"));
    };
    let known = |name: &str| FIELDS.contains(&name);
    if let Some(unknown) = fields.keys().find(|name| !known(name)) {
        return Err(invalid(format!(
            "$: additional properties '{unknown}' not allowed"
        )));
    }
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    for name in ["name", "image"] {
        if text(name).is_empty() && !(name == "image" && body["templateId"].is_string()) {
            return Err(invalid(format!("$: missing property '{name}'")));
        }
    }
    let (model, gpus) = gpu(&body["gpu"])?;
    let cloud = body["cloud"].as_str();
    if let Some(cloud) = cloud
        && !["SECURE", "COMMUNITY"].contains(&cloud)
    {
        return Err(invalid(
            "$.cloud: value must be one of 'SECURE', 'COMMUNITY'",
        ));
    }
    let strings = |name: &str| -> Vec<String> {
        let items = body[name].as_array().into_iter().flatten();
        items
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect()
    };
    let (own_volume, volumes) = mounts(&body["mounts"])?;
    Ok(Wanted {
        name: text("name"),
        model,
        gpus,
        cloud: Some(cloud.unwrap_or("SECURE").to_owned()),
        places: strings("dataCenterIds"),
        disk: body.get("disk").and_then(decimal).unwrap_or(dec!(50)),
        own_volume,
        volumes,
        ports: strings("ports"),
        env: body["env"].as_object().cloned().unwrap_or_default(),
        start_ssh: body["startSsh"] == true,
        image: text("image"),
        args: text("args"),
        mounts: body["mounts"].clone(),
    })
}

fn gpu(body: &Value) -> Result<(String, u32), Reply> {
    let Some(fields) = body.as_object() else {
        return Err(invalid("$: missing property 'gpu'"));
    };
    if let Some(unknown) = fields
        .keys()
        .find(|name| !GPU_FIELDS.contains(&name.as_str()))
    {
        return Err(invalid(format!(
            "$.gpu: additional properties '{unknown}' not allowed"
        )));
    }
    let Some(model) = body["id"].as_str() else {
        return Err(invalid("$.gpu: missing property 'id'"));
    };
    let count = body["count"].as_u64().unwrap_or(1);
    match u32::try_from(count) {
        Ok(count) if count > 0 => Ok((model.to_owned(), count)),
        _ => Err(invalid("$.gpu.count: must be >= 1")),
    }
}

/// A volume of its own or network volumes, never both.
fn mounts(body: &Value) -> Result<(Decimal, Vec<(String, String)>), Reply> {
    let Some(fields) = body.as_object() else {
        return Ok((Decimal::ZERO, Vec::new()));
    };
    if fields.len() != 1 {
        return Err(invalid(
            "$.mounts: exactly one of 'persistent', 'network' is allowed",
        ));
    }
    if let Some(own) = fields.get("persistent") {
        let size = own.get("size").and_then(decimal).unwrap_or_default();
        if size < dec!(10) || !own["path"].is_string() {
            return Err(invalid(
                "$.mounts.persistent: size >= 10 and path are required",
            ));
        }
        return Ok((size, Vec::new()));
    }
    let mut volumes = Vec::new();
    for mount in body["network"].as_array().into_iter().flatten() {
        let (Some(id), Some(path)) = (mount["volumeId"].as_str(), mount["path"].as_str()) else {
            return Err(invalid("$.mounts.network: volumeId and path are required"));
        };
        volumes.push((id.to_owned(), path.to_owned()));
    }
    Ok((Decimal::ZERO, volumes))
}

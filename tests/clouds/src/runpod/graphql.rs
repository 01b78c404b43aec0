//! `POST /graphql`, as the SDK sends it: arguments inside of the text, never as variables. What is asked for is answered
//! whole, whatever fields were selected.

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::catalog::short;
use super::create::{self, Wanted};
use super::market::cloud_of;
use super::refuse::NO_GPUS;
use super::{pods, view, volumes};
use crate::{Call, Machine, Operation, Rental, Reply, Started, World, number};

/// What a query is about, by the name of its one field.
pub(crate) fn operation(query: &str) -> Operation {
    let says = |name: &str| query.contains(name);
    match query {
        _ if says("podFindAndDeployOnDemand") || says("podRentInterruptable") => Operation::Create,
        _ if says("podStop") => Operation::Stop,
        _ if says("podResume") => Operation::Start,
        _ if says("podTerminate") => Operation::Destroy,
        _ if says("gpuTypes") => Operation::Search,
        _ if says("pod(") => Operation::Show,
        _ if says("pods {") || says("pods{") => Operation::List,
        _ => Operation::Account,
    }
}

pub(crate) fn answer(world: &mut World, call: &Call<'_>) -> Reply {
    let query = call.request.body["query"].as_str().unwrap_or_default();
    let pod = text(query, "podId").unwrap_or_default();
    match operation(query) {
        Operation::Create => deploy(world, call, query),
        Operation::Stop if world.rental(&pod).is_none() => error("pod not found"),
        Operation::Stop => {
            pods::stop(world, &pod);
            named(world, "podStop", &pod)
        }
        Operation::Start => match world.start(&pod) {
            Started::NoGpus => error(NO_GPUS),
            Started::Unknown => error("pod not found"),
            _ => named(world, "podResume", &pod),
        },
        Operation::Destroy if world.rental(&pod).is_none() => error("pod not found to terminate"),
        Operation::Destroy => match pods::terminate(world, call, &pod).status {
            204 => data("podTerminate", Value::Null),
            _ => error("Something went wrong. Please try again later or contact support."),
        },
        Operation::Search => data("gpuTypes", gpu_types(world, query)),
        Operation::Show => named(world, "pod", &pod),
        Operation::List => {
            let pods = world
                .listed()
                .into_iter()
                .map(|rental| shown(world, rental));
            data("myself", json!({"pods": Value::from_iter(pods)}))
        }
        _ => data("myself", myself(world)),
    }
}

fn deploy(world: &mut World, call: &Call<'_>, query: &str) -> Reply {
    let number_of = |name: &str| {
        let word = word(query, name)?;
        word.parse::<Decimal>().ok()
    };
    let count = number_of("gpuCount").and_then(|count| u32::try_from(count).ok());
    let cloud = word(query, "cloudType").filter(|cloud| *cloud != "ALL");
    let ports = text(query, "ports").unwrap_or_default();
    let wanted = Wanted {
        name: text(query, "name").unwrap_or_default(),
        model: text(query, "gpuTypeId").unwrap_or_default(),
        gpus: count.unwrap_or(1),
        cloud: cloud.map(str::to_owned),
        places: text(query, "dataCenterId").into_iter().collect(),
        disk: number_of("containerDiskInGb").unwrap_or(dec!(10)),
        own_volume: number_of("volumeInGb").unwrap_or_default(),
        volumes: Vec::new(),
        ports: ports
            .split(',')
            .filter(|port| !port.is_empty())
            .map(str::to_owned)
            .collect(),
        env: environment(query),
        start_ssh: word(query, "startSsh") == Some("true"),
        image: text(query, "imageName").unwrap_or_default(),
        args: text(query, "dockerArgs").unwrap_or_default(),
        mounts: Value::Null,
    };
    match create::rent(world, call, &wanted) {
        Ok(id) => named(world, "podFindAndDeployOnDemand", &id),
        Err(refusal) => error(refusal.value()["detail"].as_str().unwrap_or("refused")),
    }
}

/// `name: "…"`.
fn text(query: &str, name: &str) -> Option<String> {
    let rest = argument(query, name)?.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some(value),
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    None
}

/// `name: word`.
fn word<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let rest = argument(query, name)?;
    let end = rest.find([',', ' ', '\n', '}', ')']).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn argument<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.match_indices(name).find_map(|(at, _)| {
        let begins = !query[..at].ends_with(|before: char| before.is_alphanumeric());
        let rest = query[at + name.len()..].strip_prefix(':')?;
        begins.then(|| rest.trim_start())
    })
}

/// `env: [{ key: "A", value: "1" }]`.
fn environment(query: &str) -> Map<String, Value> {
    let Some(list) = argument(query, "env") else {
        return Map::new();
    };
    let end = list.find(']').unwrap_or(list.len());
    let pairs = list[..end].split('}');
    pairs
        .filter_map(|pair| Some((text(pair, "key")?, Value::from(text(pair, "value")?))))
        .collect()
}

fn gpu_types(world: &World, query: &str) -> Value {
    let asked = text(query, "id");
    let mut models: Vec<&str> = world.machines.iter().map(|it| it.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    let wanted = models
        .into_iter()
        .filter(|model| asked.as_ref().is_none_or(|asked| asked == model));
    Value::from_iter(wanted.map(|model| gpu_type(world, model)))
}

fn gpu_type(world: &World, model: &str) -> Value {
    let hosts: Vec<&Machine> = world
        .machines
        .iter()
        .filter(|it| it.model == model)
        .collect();
    let price = |cloud: &str| {
        let mut of = hosts.iter().filter(|it| cloud_of(it) == cloud);
        of.next().map(|it| number(it.gpu_hourly))
    };
    let lowest = hosts.iter().map(|it| it.gpu_hourly).min();
    json!({
        "id": model, "displayName": short(model), "manufacturer": "Nvidia",
        "memoryInGb": hosts.first().map(|it| it.memory_mb / 1000),
        "maxGpuCount": hosts.iter().map(|it| it.gpus).max(), "cudaCores": 0,
        "secureCloud": price("SECURE").is_some(), "communityCloud": price("COMMUNITY").is_some(),
        "securePrice": price("SECURE"), "communityPrice": price("COMMUNITY"),
        "oneMonthPrice": null, "threeMonthPrice": null, "oneWeekPrice": null,
        "communitySpotPrice": null, "secureSpotPrice": null,
        "lowestPrice": {"minimumBidPrice": null, "uninterruptablePrice": lowest.map(number), "stockStatus": "High"},
    })
}

fn named(world: &World, field: &str, id: &str) -> Reply {
    let pod = world.listed().into_iter().find(|rental| rental.id() == id);
    data(
        field,
        pod.map_or(Value::Null, |rental| shown(world, rental)),
    )
}

fn shown(world: &World, rental: &Rental) -> Value {
    let details = &rental.order.details;
    let machine = world.machine(rental.order.machine);
    let status = match view::status(rental) {
        "EXITED" => "EXITED",
        _ => "RUNNING",
    };
    let runtime = rental.ssh.as_ref().map(|ssh| {
        json!({"uptimeInSeconds": 1, "ports": [{"ip": ssh.host, "isIpPublic": true, "privatePort": 22, "publicPort": ssh.port, "type": "tcp"}]})
    });
    let environment: Vec<String> = details["env"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    json!({
        "id": rental.id(), "name": rental.order.label, "imageName": details["image"],
        "containerDiskInGb": number(rental.order.disk_gb), "costPerHr": number(rental.rate_of("gpu")),
        "desiredStatus": status, "dockerArgs": details["args"], "dockerId": null, "env": environment,
        "gpuCount": rental.gpus_now, "lastStatusChange": "Rented by User", "machineId": rental.order.machine.to_string(),
        "memoryInGb": 62, "podType": "RESERVED", "port": null, "ports": details["ports"], "uptimeSeconds": 0,
        "vcpuCount": 16, "volumeInGb": 0, "volumeMountPath": "/workspace", "runtime": runtime,
        "machine": {"podHostId": format!("{}-64411eb2", rental.id()), "gpuDisplayName": machine.map(|it| short(&it.model))},
    })
}

fn myself(world: &World) -> Value {
    let keys: Vec<&str> = world.keys.iter().map(|key| key.line.as_str()).collect();
    let volumes = volumes::alive(world).map(volumes::shown);
    json!({
        "id": "user_synthetic", "pubKey": keys.join("\n"), "networkVolumes": Value::from_iter(volumes),
        "clientBalance": number(world.balance().round_dp(4)), "currentSpendPerHr": number(world.burn().round_dp(4)),
        "spendLimit": 80,
    })
}

fn data(field: &str, value: Value) -> Reply {
    Reply::json(200, &json!({"data": {field: value}}))
}

/// Errors are 200.
pub(crate) fn error(message: &str) -> Reply {
    let errors = json!([{"message": message, "locations": [], "path": [], "extensions": {"code": "RUNPOD"}}]);
    Reply::json(200, &json!({"errors": errors, "data": null}))
}

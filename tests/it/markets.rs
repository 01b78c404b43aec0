//! All marketplaces at once, each on its own wire.

use crate::world::World;
use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::{Armed, ClockKind, Cloud, Fault, Operation, SimConfig};
use serde_json::Value;

struct Markets {
    world: World,
    vast: Cloud,
    runpod: Cloud,
    _lambda: Cloud,
}

fn markets() -> Markets {
    let config = || SimConfig {
        clock: ClockKind::Real,
        ..SimConfig::default()
    };
    let vast = Vast::start(config()).expect("a free port");
    let runpod = RunPod::start(config()).expect("a free port");
    let lambda = Lambda::start(config()).expect("a free port");
    let mut world = World::new();
    world.set("GPURUN_RATE_LIMITS", "off");
    for (cloud, url, key) in [
        (&vast, "VAST_URL", "VAST_API_KEY"),
        (&runpod, "RUNPOD_API_URL", "RUNPOD_API_KEY"),
        (&lambda, "LAMBDA_CLOUD_BASE_URL", "LAMBDA_API_KEY"),
    ] {
        world.set(url, cloud.url());
        world.set(key, cloud.key());
    }
    world.set("RUNPOD_API_BASE_URL", runpod.url());
    Markets {
        world,
        vast,
        runpod,
        _lambda: lambda,
    }
}

fn ids(found: &Value) -> Vec<(&str, &str)> {
    let offers = found["offers"].as_array().expect("a list");
    let word = |offer: &'_ Value, name: &str| offer["offer"][name].as_str().map(str::len);
    offers
        .iter()
        .filter(|offer| word(offer, "id").is_some())
        .map(|offer| {
            let of = |name: &str| offer["offer"][name].as_str().unwrap_or_default();
            (of("provider"), of("id"))
        })
        .collect()
}

#[test]
fn the_whole_jobs_cost_ranks_offers_of_all_providers() {
    let markets = markets();
    let ask = |hours: &str| {
        markets.world.json(&[
            "offers",
            "--gpu",
            "4090x4",
            "--disk",
            "250",
            "--hours",
            hours,
            "--inbound",
            "43GB",
        ])
    };
    let found = ask("20");
    let order = ids(&found);
    assert_eq!(order[0], ("vast", "4000104"));
    assert_eq!(order.last().map(|(provider, _)| *provider), Some("runpod"));
    // $1.40 + 250 GB x $0.15 / 720 h for 20 h, and 43 GB x $0.003.
    assert_eq!(found["offers"][0]["job_cost"], 29.170_667);
    // Cheap by the hour; its disk and its traffic are not: the dearer hour wins, and more so the shorter the job.
    let place = |found: &Value, id: &str| ids(found).iter().position(|(_, it)| *it == id);
    assert!(place(&found, "4000504") > place(&found, "4000204"));
    assert!(place(&ask("1"), "4000504") > place(&ask("1"), "4000204"));
    let cheapest_hour = &found["offers"][2]["offer"]["card"]["running"];
    assert_eq!(
        (ids(&found)[2].1, cheapest_hour),
        ("4000504", &Value::from("1.16"))
    );
}

#[test]
fn what_will_not_do_is_explained() {
    let markets = markets();
    let found = markets.world.json(&[
        "offers",
        "--gpu",
        "4090x1",
        "--disk",
        "100",
        "--hours",
        "10",
        "--cuda",
        "12.0",
        "--explain",
    ]);
    let rejected = found["rejected"].as_array().expect("a list");
    let why = |id: &str| {
        let found = rejected.iter().find(|one| one["offer"]["id"] == id);
        found.map(|one| one["reason"].as_str().expect("text").to_owned())
    };
    assert_eq!(why("4001401").as_deref(), Some("its driver runs CUDA 11.8"));
    assert_eq!(
        why("4001501").as_deref(),
        Some("its host is let for 6 h of 10 h")
    );
    let unverified = why("4000401").expect("it is left out");
    assert!(unverified.contains("doesn't vouch"), "{unverified}");
    let taken = markets
        .world
        .json(&["offers", "--gpu", "4090x1", "--unverified"]);
    assert!(ids(&taken).contains(&("vast", "4000401")));
    let spot = markets.world.json(&["offers", "--gpu", "4090x1", "--spot"]);
    assert!(ids(&spot).iter().all(|(provider, _)| *provider == "vast"));
    let nothing = markets
        .world
        .fails(5, &["offers", "--gpu", "h100x8", "--max-price", "1"]);
    assert!(nothing.contains("over $1.0000/h"), "{nothing}");
}

#[test]
fn a_dead_provider_is_named_and_holds_nobody_up() {
    let markets = markets();
    let broken = Armed {
        count: None,
        ..Armed::once(Fault::AuthExpired).on(Operation::Search)
    };
    markets.runpod.arm(broken);
    let found = markets.world.json(&["offers", "--gpu", "4090x8"]);
    assert_eq!(ids(&found).len(), 2, "the other's are there");
    let failed = found["failed"][0].as_str().expect("a reason");
    assert!(
        failed.starts_with("runpod: ") && failed.contains("credentials"),
        "{failed}"
    );
}

#[test]
fn providers_tell_their_keys_and_accounts() {
    let mut markets = markets();
    let all = markets.world.json(&["providers"]);
    let row = |all: &Value, name: &str| {
        let rows = all["providers"].as_array().expect("a list");
        rows.iter()
            .find(|row| row["name"] == name)
            .cloned()
            .expect("a row")
    };
    let vast = row(&all, "vast");
    assert_eq!(
        (&vast["key"], &vast["account"]),
        (&"$VAST_API_KEY".into(), &"ok".into())
    );
    assert_eq!(vast["balance"], 100.0);
    assert_eq!(row(&all, "runpod")["spend_limit_per_hour"], 80.0);
    assert!(
        row(&all, "modal")["missing"]
            .as_str()
            .expect("where")
            .contains("MODAL_TOKEN_ID")
    );
    markets.world.set("VAST_API_KEY", "a-wrong-key-123456");
    let output = markets.world.run(&["providers", "--json"]);
    assert_eq!(output.status.code(), Some(5));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("Invalid user key") && !text.contains("a-wrong-key-123456"),
        "{text}"
    );
    assert!(
        markets
            .vast
            .requests()
            .iter()
            .all(|request| { !format!("{request:?}").contains("a-wrong-key") })
    );
}

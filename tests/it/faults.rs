//! What goes wrong at a marketplace, through a whole run there: one box at most, none that the ledger doesn't know, no
//! false word of its end, and the vendor's bill. `GPURUN_TEST_FULL` adds the faults that take minutes, and all vendors.

use crate::rented::{Rented, rented_at};
use crate::world::text;
use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::verda::Verda;
use gpurun_clouds::{Armed, Fault, Operation, TooMany};
use rust_decimal::Decimal;
use serde_json::Value;

/// A cent is then what a box costs in seconds: a bill that is off by those would show.
const DEAR: u32 = 4_900;

type Rent = fn() -> Option<Rented>;

fn vast() -> Option<Rented> {
    rented_at(Vast::start, ["VAST_URL", "VAST_API_KEY"], "4090x1")
}

fn runpod() -> Option<Rented> {
    rented_at(
        RunPod::start,
        ["RUNPOD_API_URL", "RUNPOD_API_KEY"],
        "4090x1",
    )
}

fn lambda() -> Option<Rented> {
    let names = ["LAMBDA_CLOUD_BASE_URL", "LAMBDA_API_KEY"];
    rented_at(Lambda::start, names, "a10x1")
}

fn verda() -> Option<Rented> {
    let names = ["VERDA_BASE_URL", "VERDA_CLIENT_SECRET"];
    let mut rented = rented_at(Verda::start, names, "h100x1")?;
    let id = gpurun_clouds::verda::CLIENT_ID;
    rented.world.set("VERDA_CLIENT_ID", id);
    Some(rented)
}

fn dear(rent: Rent) -> Option<Rented> {
    let rented = rent()?;
    rented.cloud.with(|world| world.raise_prices(DEAR));
    Some(rented)
}

fn is_full() -> bool {
    std::env::var_os("GPURUN_TEST_FULL").is_some()
}

/// What strikes a create, and how soon it is over.
fn at_create() -> Vec<Armed> {
    let quick = [
        Fault::ErrorAfterCommit { status: 500 },
        Fault::OfferGone,
        Fault::PriceChange { percent: 30 },
        Fault::BrokenHost,
        Fault::SshRefused,
        Fault::GpuMissing,
        Fault::DuplicateLabel,
    ];
    // Found or given up only after what a listing may lag by, or what a host may take.
    let slow = [
        Fault::DropBeforeCommit,
        Fault::DropAfterCommit,
        Fault::ErrorBeforeCommit { status: 503 },
        Fault::ListingLag { seconds: 5 },
        Fault::StuckLoading,
        Fault::DiskFullOnPull,
        Fault::FailedCreateLeavesBox,
        Fault::KeyMissing,
        Fault::BrokenGpu,
        Fault::LostGpu,
        Fault::AuthExpired,
        Fault::TooManyRequests {
            form: TooMany::Text,
        },
        Fault::TooManyRequests {
            form: TooMany::Json,
        },
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
    ];
    let more = slow.into_iter().filter(|_| is_full());
    let faults = quick.into_iter().chain(more);
    faults
        .map(|fault| Armed::once(fault).on(Operation::Create))
        .collect()
}

fn at_destroy() -> Vec<Armed> {
    let quick = [
        Fault::DropAfterCommit,
        Fault::ErrorBeforeCommit { status: 500 },
        Fault::DestroyRefused,
        Fault::DeletePersists { seconds: None },
    ];
    let slow = [
        Fault::DropBeforeCommit,
        Fault::ErrorAfterCommit { status: 502 },
        Fault::SuccessFalse,
        Fault::AuthExpired,
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
        Fault::TooManyRequests {
            form: TooMany::Text,
        },
    ];
    let more = slow.into_iter().filter(|_| is_full());
    let faults = quick.into_iter().chain(more);
    faults
        .map(|fault| Armed::always(fault).on(Operation::Destroy))
        .collect()
}

/// What makes a list unreadable, or a lie.
fn at_looks() -> Vec<Armed> {
    let faults = [
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
        Fault::SuccessFalse,
        Fault::AuthExpired,
        Fault::ErrorBeforeCommit { status: 500 },
    ];
    let wanted = if is_full() { faults.len() } else { 3 };
    let faults = faults.into_iter().take(wanted);
    faults.map(Armed::always).collect()
}

/// The run, twice looked at since: what must be true of it then.
fn settle(rented: &Rented, what: &str) {
    for _ in 0..2 {
        rented.world.run(&["reap"]);
    }
    assert!(rented.living() <= 1, "{what}: {:?}", rented.cloud.state());
    let orphans = rented.world.ok(&["orphans"]);
    assert!(orphans.contains("no orphans"), "{what}: {orphans}");
    says_nothing_false(rented, what);
}

fn runs(rented: &Rented) -> Vec<Value> {
    let all = rented.world.json(&["status", "--all"]);
    all["runs"].as_array().cloned().unwrap_or_default()
}

/// A run that is closed has no box.
fn says_nothing_false(rented: &Rented, what: &str) {
    let runs = runs(rented);
    let closed = runs.iter().all(|run| run["phase"] == "ended");
    assert!(
        !closed || rented.living() == 0,
        "{what}: {runs:?} and {:?}",
        rented.cloud.state().boxes
    );
}

/// Ends whatever is left, and compares the bills.
fn ends_and_pays(rented: &Rented, what: &str) {
    if rented.living() > 0 {
        let ended = rented.world.run(&["destroy", "cells", "--force", "--yes"]);
        assert!(ended.status.success(), "{what}: {}", text(&ended));
    }
    assert_eq!(rented.living(), 0, "{what}");
    let sum = |key: &str| {
        let figures = runs(rented).into_iter().map(|run| run[key].to_string());
        figures
            .map(|figure| figure.parse::<Decimal>().expect("a number"))
            .sum::<Decimal>()
    };
    let (ours, estimated) = (sum("so_far"), sum("estimated"));
    let theirs = rented.cloud.state().bill;
    let cent = Decimal::new(1, 2);
    // Between an order and the vendor's entry of it lies a request each way, up to a second.
    let second = Decimal::from(DEAR + 100) / Decimal::from(100) * Decimal::new(2, 4);
    let above = ours - theirs;
    assert!(
        above >= -cent && above <= estimated + cent + second * Decimal::from(2),
        "{what}: ours {ours}, of it estimated {estimated}; theirs {theirs}"
    );
}

fn creates(rent: Rent) {
    for armed in at_create() {
        let Some(rented) = dear(rent) else { return };
        let what = format!("{armed:?}");
        rented.cloud.arm(armed);
        let more = ["--boot-deadline", "3s", "--accept-price"];
        let launched = rented.launch(&more);
        says_nothing_false(&rented, &what);
        settle(&rented, &what);
        let kept = launched.status.success();
        assert!(!kept || rented.living() == 1, "{what}: {}", text(&launched));
        ends_and_pays(&rented, &what);
    }
}

fn destroys(rent: Rent) {
    let Some(rented) = dear(rent) else { return };
    for armed in at_destroy() {
        let what = format!("{armed:?}");
        let launched = rented.launch(&[]);
        assert!(launched.status.success(), "{what}: {}", text(&launched));
        rented.cloud.arm(armed);
        let ended = rented
            .world
            .run(&["destroy", "cells", "--force", "--yes", "--timeout", "3s"]);
        let gone = rented.living() == 0;
        assert!(gone || !ended.status.success(), "{what}: {}", text(&ended));
        says_nothing_false(&rented, &what);
        rented.cloud.disarm();
        // What was accepted and not done is ordered again.
        rented.world.run(&["destroy", "cells", "--force", "--yes"]);
        settle(&rented, &what);
        ends_and_pays(&rented, &what);
    }
}

fn looks(rent: Rent) {
    let Some(rented) = dear(rent) else { return };
    let launched = rented.launch(&[]);
    assert!(launched.status.success(), "{}", text(&launched));
    for armed in at_looks() {
        let what = format!("{armed:?}");
        for operation in [Operation::List, Operation::Show] {
            rented.cloud.arm(armed.clone().on(operation));
        }
        rented.world.run(&["reap"]);
        let run = rented.world.status("cells");
        assert_eq!(run["phase"], "launched", "{what}: {run}");
        assert_eq!(run["instance_state"], "unseen", "{what}: {run}");
        assert_eq!(rented.cloud.count(Operation::Create), 1, "{what}");
        rented.cloud.disarm();
        settle(&rented, &what);
        assert_eq!(rented.living(), 1, "{what}");
    }
    ends_and_pays(&rented, "after all");
}

/// What happens to a box without anybody's doing.
fn happenings(rent: Rent) {
    for fault in [Fault::HostDeath, Fault::ContractEnd, Fault::CreditExhausted] {
        let Some(rented) = dear(rent) else { return };
        let what = format!("{fault:?}");
        let launched = rented.launch(&[]);
        assert!(launched.status.success(), "{what}: {}", text(&launched));
        rented.cloud.strike(&fault, None);
        settle(&rented, &what);
        ends_and_pays(&rented, &what);
    }
}

#[test]
fn faults_of_a_create_at_vast() {
    creates(vast);
}

#[test]
fn faults_of_a_destroy_at_vast() {
    destroys(vast);
}

#[test]
fn lists_that_cant_be_read_at_vast() {
    looks(vast);
}

#[test]
fn what_befalls_a_box_at_vast() {
    happenings(vast);
}

#[test]
fn faults_at_runpod() {
    if is_full() {
        creates(runpod);
        looks(runpod);
        happenings(runpod);
    }
    destroys(runpod);
}

#[test]
fn faults_at_lambda() {
    if is_full() {
        creates(lambda);
        looks(lambda);
        happenings(lambda);
    }
    destroys(lambda);
}

#[test]
fn faults_at_verda() {
    if is_full() {
        creates(verda);
        looks(verda);
        happenings(verda);
    }
    destroys(verda);
}

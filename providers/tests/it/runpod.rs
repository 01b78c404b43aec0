//! RunPod's adapter where things go wrong, over its simulator.

use std::sync::Arc;

use gpurun_clouds::runpod::RunPod as Simulator;
use gpurun_clouds::{Armed, Cloud, Fault, Operation, TooMany, Why};
use gpurun_pricing::{Gigabytes, Offer, StopSupport};
use gpurun_providers::runpod::RunPod;
use gpurun_providers::{
    CloudConfig, ErrorKind, InstanceState, OfferRequest, Provider, RentRequest, VolumeMount,
    VolumeRequest,
};
use rust_decimal::Decimal;

use crate::harness::{self, SimTime};

const LINE: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD gpurun-1";

struct Bench {
    cloud: Arc<Cloud>,
    runpod: RunPod,
}

impl Bench {
    fn new() -> Self {
        let cloud = Arc::new(Simulator::start(harness::strict()).expect("a free port"));
        let runpod = RunPod::new(&SimTime::config(&cloud));
        Self { cloud, runpod }
    }

    async fn offers(&self, gpu: &str) -> Vec<Offer> {
        let request = OfferRequest::new(gpu.parse().expect("a GPU"), disk());
        self.runpod.search(&request).await.expect("offers")
    }

    /// In the vendor's own data centre.
    async fn request(&self, label: &str) -> RentRequest {
        let offers = self.offers("4090x1").await;
        let offer = offers.into_iter().find(|it| it.region.is_some());
        let mut request = RentRequest::new(label, offer.expect("a secure one"), disk());
        request.ssh_public_key = Some(LINE.to_owned());
        request
    }

    async fn rent(&self, label: &str) -> String {
        let request = self.request(label).await;
        self.runpod.rent(&request).await.expect("a box").id
    }
}

fn disk() -> Gigabytes {
    Gigabytes::new(Decimal::from(73))
}

#[tokio::test]
async fn offers_are_types_in_places() {
    let bench = Bench::new();
    let offers = bench.offers("4090x4").await;
    let ids: Vec<&str> = offers.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "NVIDIA GeForce RTX 4090x4@COMMUNITY",
            "NVIDIA GeForce RTX 4090x4@SECURE/US-KS-2",
            "NVIDIA GeForce RTX 4090x4@SECURE/EU-RO-1",
        ]
    );
    assert_eq!(offers[0].card.stop, StopSupport::None);
    assert_eq!(offers[1].card.running.figure(), "2.9600");
    // $0.10 x 73 GB / 730 h.
    assert_eq!(offers[1].card.running_rate(disk()).figure(), "2.9700");
    assert_eq!(
        bench.offers("4090x8").await.len(),
        2,
        "no community machine has eight"
    );
    let names: Vec<String> = bench
        .offers("h100x1")
        .await
        .iter()
        .map(|offer| offer.gpu.to_string())
        .collect();
    assert_eq!(names, ["h100-pciex1", "h100-sxmx1"]);
    bench.cloud.with(|world| world.raise_prices(20));
    let now = bench.runpod.rate_card(&offers[1]).await.expect("prices");
    assert_eq!(now.running.figure(), "3.5520");
}

#[tokio::test]
async fn a_create_says_nothing_that_the_schema_does_not_know() {
    let bench = Bench::new();
    bench.rent("gpurun-1").await;
    let seen = bench.cloud.requests();
    let create = seen.iter().find(|it| it.operation == Operation::Create);
    let body = &create.expect("a create").body;
    assert_eq!(body["ports"], serde_json::json!(["22/tcp"]));
    assert_eq!(body["env"]["PUBLIC_KEY"], LINE);
    assert_eq!(body["dataCenterIds"].as_array().map(Vec::len), Some(1));
    let keys = bench
        .cloud
        .with(|world| world.rentals[0].order.keys.clone());
    assert_eq!(keys, [LINE], "the image's start script lets it in");
    assert!(
        bench.cloud.with(|world| world.keys.is_empty()),
        "the account's own list is untouched"
    );
}

#[tokio::test]
async fn no_capacity_and_no_credit_are_told_apart() {
    let bench = Bench::new();
    let request = bench.request("gpurun-1").await;
    bench.cloud.arm(Fault::OfferGone);
    let error = bench.runpod.rent(&request).await.expect_err("gone");
    assert_eq!(error.kind, ErrorKind::NoCapacity, "{error}");
    bench.cloud.strike(&Fault::CreditExhausted, None);
    let error = bench.runpod.rent(&request).await.expect_err("no money");
    assert_eq!(error.kind, ErrorKind::Credit, "{error}");
    assert!(bench.cloud.state().alive().is_empty());
}

#[tokio::test]
async fn a_create_is_sent_once_whatever_comes_back() {
    let bench = Bench::new();
    for fault in [
        Fault::DropAfterCommit,
        Fault::ErrorAfterCommit { status: 500 },
        Fault::FailedCreateLeavesBox,
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
    ] {
        let request = bench.request("gpurun-1").await;
        let before = bench.cloud.count(Operation::Create);
        bench
            .cloud
            .arm(Armed::once(fault.clone()).on(Operation::Create));
        let error = bench
            .runpod
            .rent(&request)
            .await
            .expect_err("no good reply");
        assert!(error.kind.may_have_acted(), "{fault:?}: {error}");
        assert_eq!(
            bench.cloud.count(Operation::Create),
            before + 1,
            "{fault:?}"
        );
    }
    let listed = bench.runpod.list_mine().await.expect("a list");
    assert_eq!(listed.len(), 6, "each is found by its label");
}

#[tokio::test]
async fn absence_is_proven_and_a_failed_read_proves_nothing() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    let config = CloudConfig {
        key: vec!["wrong-key-123456".into()],
        ..SimTime::config(&bench.cloud)
    };
    let stranger = RunPod::new(&config);
    for error in [
        stranger.describe(&id).await.err(),
        stranger.list_mine().await.err(),
        stranger.destroy(&id).await.err(),
        stranger.account().await.err(),
    ] {
        let error = error.expect("refused");
        assert_eq!(error.kind, ErrorKind::Credentials, "{error}");
        assert!(!format!("{error:?}{stranger:?}").contains("wrong-key-123456"));
    }
    for fault in [
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
        Fault::SuccessFalse,
    ] {
        for operation in [Operation::List, Operation::Show] {
            let forever = Armed {
                count: None,
                ..Armed::once(fault.clone()).on(operation)
            };
            bench.cloud.arm(forever);
        }
        bench.runpod.list_mine().await.expect_err("garbled");
        bench.runpod.describe(&id).await.expect_err("garbled");
        bench.cloud.disarm();
    }
    bench.runpod.destroy(&id).await.expect("accepted");
    assert_eq!(bench.runpod.describe(&id).await, Ok(None));
    bench.runpod.destroy(&id).await.expect("gone is success");
}

#[tokio::test]
async fn a_refused_destroy_is_told_and_a_slow_one_is_seen() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.cloud.arm(Fault::DestroyRefused);
    bench.runpod.destroy(&id).await.expect_err("500");
    // 200 with a body is not the 204 of a delete.
    bench
        .cloud
        .arm(Armed::once(Fault::SuccessFalse).on(Operation::Destroy));
    bench.cloud.arm(Fault::DeletePersists { seconds: None });
    bench.runpod.destroy(&id).await.expect_err("not a yes");
    let found = bench.runpod.describe(&id).await.expect("read");
    assert!(found.is_some(), "it is still there, and still costs");
}

#[tokio::test]
async fn reads_wait_when_they_are_told_to() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    for form in [TooMany::Text, TooMany::Json, TooMany::RetryAfter] {
        bench
            .cloud
            .arm(Armed::once(Fault::TooManyRequests { form }).on(Operation::Show));
        let found = bench.runpod.describe(&id).await.expect("read");
        assert_eq!(found.expect("there").state, InstanceState::Running);
    }
}

#[tokio::test]
async fn a_stop_is_not_offered_and_one_from_outside_is_seen() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    let error = bench.runpod.stop(&id).await.expect_err("no stop");
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    bench.cloud.with(|world| world.stop(&id, Why::Credit));
    let found = bench
        .runpod
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!(found.state, InstanceState::Stopped);
    bench.cloud.arm(Fault::ZeroGpuResume);
    let started = bench.cloud.ask(
        "POST",
        &format!("/v2/pods/{id}/action"),
        &serde_json::json!({"action": "start"}),
    );
    assert_eq!(started.map(|reply| reply.status), Some(200));
    let found = bench
        .runpod
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!((found.state, found.gpus), (InstanceState::Running, Some(0)));
}

#[tokio::test]
async fn network_volumes_outlive_pods() {
    let bench = Bench::new();
    let volumes = bench.runpod.volumes().expect("it has volumes");
    let mut request = bench.request("gpurun-1").await;
    let wanted = VolumeRequest {
        name: "runs".to_owned(),
        size: Gigabytes::new(Decimal::from(100)),
        place: request.offer.region.clone().expect("a data centre"),
    };
    let made = volumes.create(&wanted).await.expect("a volume");
    assert_eq!(made.price, volumes.rate(&wanted).await.expect("a price"));
    request.volume = Some(VolumeMount {
        id: made.id.clone(),
        path: "/root/runs".to_owned(),
    });
    let id = bench.runpod.rent(&request).await.expect("a box").id;
    volumes.delete(&made.id).await.expect_err("mounted");
    bench.runpod.destroy(&id).await.expect("accepted");
    assert_eq!(
        volumes.list().await.expect("a list"),
        std::slice::from_ref(&made)
    );
    let community = bench.offers("4090x1").await.swap_remove(0);
    assert_eq!(community.region, None);
    request.offer = community;
    let error = bench.runpod.rent(&request).await.expect_err("not there");
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    volumes.delete(&made.id).await.expect("accepted");
    volumes.delete(&made.id).await.expect("gone is success");
}

#[tokio::test]
async fn the_balance_comes_from_the_old_api_while_it_lasts() {
    let bench = Bench::new();
    let account = bench.runpod.account().await.expect("an account");
    assert_eq!(
        account.balance.map(|money| money.figure()).as_deref(),
        Some("100.00")
    );
    assert_eq!(
        account.spend_limit.map(|rate| rate.figure()).as_deref(),
        Some("80.0000")
    );
    bench.cloud.arm(Armed {
        count: None,
        ..Armed::once(Fault::ErrorBeforeCommit { status: 410 }).on(Operation::Account)
    });
    let account = bench
        .runpod
        .account()
        .await
        .expect("the key still opens it");
    assert_eq!(account.balance, None);
}

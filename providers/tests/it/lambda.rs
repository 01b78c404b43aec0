//! Lambda's adapter where things go wrong, over its simulator.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use gpurun_clouds::lambda::Lambda as Simulator;
use gpurun_clouds::{Armed, Cloud, Fault, Operation, TooMany};
use gpurun_pricing::{Gigabytes, Offer, StopSupport};
use gpurun_providers::lambda::Lambda;
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
    lambda: Lambda,
}

impl Bench {
    fn new() -> Self {
        let cloud = Arc::new(Simulator::start(harness::strict()).expect("a free port"));
        let lambda = Lambda::new(&SimTime::config(&cloud));
        Self { cloud, lambda }
    }

    async fn offers(&self, gpu: &str) -> Vec<Offer> {
        let request = OfferRequest::new(gpu.parse().expect("a GPU"), disk());
        self.lambda.search(&request).await.expect("offers")
    }

    async fn request(&self, label: &str) -> RentRequest {
        let offer = self.offers("a10x1").await.swap_remove(0);
        let mut request = RentRequest::new(label, offer, disk());
        request.ssh_public_key = Some(LINE.to_owned());
        request
    }

    async fn rent(&self, label: &str) -> String {
        let request = self.request(label).await;
        self.lambda.rent(&request).await.expect("a box").id
    }

    fn keys(&self) -> Vec<String> {
        let names = |world: &mut gpurun_clouds::World| {
            world.keys.iter().map(|key| key.name.clone()).collect()
        };
        self.cloud.with(names)
    }
}

fn disk() -> Gigabytes {
    Gigabytes::new(Decimal::from(100))
}

#[tokio::test]
async fn offers_are_types_in_regions_without_a_stop() {
    let bench = Bench::new();
    let offer = bench.offers("a10x1").await.swap_remove(0);
    assert!(offer.id.starts_with("gpu_1x_a10@"), "{}", offer.id);
    assert_eq!(offer.card.stop, StopSupport::None);
    assert_eq!(offer.card.running.figure(), "1.2900");
    assert_eq!(offer.card.quantum_seconds.get(), 60);
    let large = OfferRequest::new(
        "a10x1".parse().expect("a GPU"),
        Gigabytes::new(Decimal::from(5000)),
    );
    assert_eq!(bench.lambda.search(&large).await, Ok(Vec::new()));
    let again = bench.lambda.rate_card(&offer).await.expect("prices");
    assert_eq!(again.running, offer.card.running);
}

#[tokio::test]
async fn the_runs_key_comes_and_goes_with_its_box() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    assert_eq!(bench.keys(), ["gpurun-1"]);
    bench
        .cloud
        .arm(Armed::once(Fault::ErrorBeforeCommit { status: 500 }).on(Operation::Keys));
    bench.lambda.destroy(&id).await.expect("accepted");
    assert_eq!(bench.keys(), ["gpurun-1"], "its removal failed, no more");
    let ending = bench.lambda.describe(&id).await.expect("read");
    assert_eq!(ending.expect("listed").state, InstanceState::Destroying);
    bench.lambda.destroy(&id).await.expect("twice is success");
    bench.cloud.advance(Duration::from_secs(50));
    assert_eq!(bench.lambda.describe(&id).await, Ok(None), "terminated");
    assert_eq!(bench.lambda.list_mine().await, Ok(Vec::new()));
    assert!(bench.keys().is_empty(), "nothing is left in the account");
    bench.cloud.advance(Duration::from_secs(600));
    assert_eq!(bench.lambda.describe(&id).await, Ok(None), "not listed");
    bench.lambda.destroy(&id).await.expect("gone is success");
}

#[tokio::test]
async fn the_key_is_gone_even_if_nobody_sees_its_box_end() {
    let bench = Bench::new();
    let mine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOTHERotherOTHERotherOTHERotherOTHERother1";
    bench.cloud.with(|world| world.add_key("laptop", mine));
    let id = bench.rent("gpurun-1").await;
    let request = RentRequest {
        ssh_public_key: None,
        ..bench.request("gpurun-2").await
    };
    let other = bench.lambda.rent(&request).await.expect("a box").id;
    for id in [&id, &other] {
        bench.lambda.destroy(id).await.expect("accepted");
    }
    bench.cloud.advance(Duration::from_secs(600));
    assert_eq!(bench.lambda.describe(&id).await, Ok(None), "not listed");
    assert_eq!(bench.keys(), ["laptop"], "which is somebody's");
}

#[tokio::test]
async fn no_two_calls_come_within_a_second() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.rent("gpurun-2").await;
    bench.lambda.describe(&id).await.expect("read");
    bench.lambda.destroy(&id).await.expect("accepted");
    bench.lambda.list_mine().await.expect("a list");
    let seen = bench.cloud.requests();
    for pair in seen.windows(2) {
        let apart = pair[1].at - pair[0].at;
        assert!(apart >= TimeDelta::seconds(1), "{pair:?}");
    }
    let launches: Vec<_> = seen
        .iter()
        .filter(|it| it.operation == Operation::Create)
        .collect();
    assert!(launches[1].at - launches[0].at >= TimeDelta::seconds(12));
}

#[tokio::test]
async fn a_refused_launch_leaves_no_key() {
    let bench = Bench::new();
    let request = bench.request("gpurun-1").await;
    bench.cloud.arm(Fault::OfferGone);
    let error = bench.lambda.rent(&request).await.expect_err("no room");
    assert_eq!(error.kind, ErrorKind::NoCapacity, "{error}");
    assert!(bench.keys().is_empty());
    let clash = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOTHERotherOTHERotherOTHERotherOTHERother1";
    bench.cloud.with(|world| world.add_key("gpurun-1", clash));
    let error = bench.lambda.rent(&request).await.expect_err("another key");
    assert_eq!(error.kind, ErrorKind::InvalidRequest, "{error}");
    assert_eq!(bench.keys(), ["gpurun-1"], "somebody's stays");
}

#[tokio::test]
async fn a_lost_reply_leaves_one_box_that_its_label_finds() {
    let bench = Bench::new();
    let request = bench.request("gpurun-1").await;
    bench
        .cloud
        .arm(Armed::once(Fault::DropAfterCommit).on(Operation::Create));
    let error = bench.lambda.rent(&request).await.expect_err("no reply");
    assert!(error.kind.may_have_acted(), "{error}");
    assert_eq!(bench.cloud.count(Operation::Create), 1);
    let listed = bench.lambda.list_mine().await.expect("a list");
    assert_eq!(listed[0].label.as_deref(), Some("gpurun-1"));
    assert_eq!(bench.keys(), ["gpurun-1"], "its box may need it");
}

#[tokio::test]
async fn a_rate_limit_after_the_launch_loses_nothing() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    for form in [TooMany::Text, TooMany::Json, TooMany::RetryAfter] {
        bench
            .cloud
            .arm(Armed::once(Fault::TooManyRequests { form }).on(Operation::Show));
        let found = bench.lambda.describe(&id).await.expect("read");
        assert_eq!(found.expect("there").state, InstanceState::Running);
    }
}

#[tokio::test]
async fn a_failed_read_proves_nothing() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    for fault in [Fault::EmptyBody, Fault::HtmlBody, Fault::TruncatedBody] {
        for operation in [Operation::List, Operation::Show] {
            let forever = Armed {
                count: None,
                ..Armed::once(fault.clone()).on(operation)
            };
            bench.cloud.arm(forever);
        }
        bench.lambda.list_mine().await.expect_err("garbled");
        bench.lambda.describe(&id).await.expect_err("garbled");
        bench.cloud.disarm();
    }
    let config = CloudConfig {
        key: vec!["wrong-key-123456".into()],
        ..SimTime::config(&bench.cloud)
    };
    let stranger = Lambda::new(&config);
    let error = stranger.describe(&id).await.expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Credentials);
    assert!(!format!("{error:?}{stranger:?}").contains("wrong-key-123456"));
    let error = stranger.account().await.expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Credentials);
    bench.lambda.account().await.expect("an account");
}

#[tokio::test]
async fn a_refused_destroy_is_told() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.cloud.arm(Fault::DestroyRefused);
    let error = bench.lambda.destroy(&id).await.expect_err("500");
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(bench.cloud.state().alive().len(), 1);
    let error = bench.lambda.stop(&id).await.expect_err("no stop");
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
}

#[tokio::test]
async fn file_systems_are_volumes_of_a_region() {
    let bench = Bench::new();
    let volumes = bench.lambda.volumes().expect("it has volumes");
    let mut request = bench.request("gpurun-1").await;
    let wanted = VolumeRequest {
        name: "runs".to_owned(),
        size: disk(),
        place: request.offer.region.clone().expect("a region"),
    };
    assert_eq!(
        volumes.rate(&wanted).await,
        Ok(None),
        "billed by what is on it"
    );
    let made = volumes.create(&wanted).await.expect("a volume");
    assert_eq!(made.place.as_ref(), Some(&wanted.place));
    request.volume = Some(VolumeMount {
        id: made.id.clone(),
        path: "/home/ubuntu/runs".to_owned(),
    });
    let id = bench.lambda.rent(&request).await.expect("a box").id;
    volumes.delete(&made.id).await.expect_err("mounted");
    assert!(
        !volumes.list().await.expect("a list")[0]
            .attached_to
            .is_empty()
    );
    bench.lambda.destroy(&id).await.expect("accepted");
    bench.cloud.advance(Duration::from_secs(600));
    volumes.delete(&made.id).await.expect("accepted");
    volumes.delete(&made.id).await.expect("gone is success");
}

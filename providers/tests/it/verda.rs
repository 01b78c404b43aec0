//! Verda's adapter where things go wrong, over its simulator.

use std::sync::Arc;
use std::time::Duration;

use gpurun_clouds::verda::{CLIENT_ID, Verda as Simulator};
use gpurun_clouds::{Armed, Cloud, Fault, Operation};
use gpurun_pricing::{Gigabytes, HourlyRate, Offer, StopSupport};
use gpurun_providers::verda::Verda;
use gpurun_providers::{
    CloudConfig, ErrorKind, InstanceState, OfferRequest, Provider, RentRequest,
};
use rust_decimal::Decimal;

use crate::harness::{self, SimTime};

const LINE: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD gpurun-1";

struct Bench {
    cloud: Arc<Cloud>,
    verda: Verda,
}

impl Bench {
    fn new() -> Self {
        let cloud = Arc::new(Simulator::start(harness::strict()).expect("a free port"));
        let verda = Verda::new(&config(&cloud, CLIENT_ID));
        Self { cloud, verda }
    }

    async fn offers(&self, gpu: &str) -> Vec<Offer> {
        let request = OfferRequest::new(gpu.parse().expect("a GPU"), disk());
        self.verda.search(&request).await.expect("offers")
    }

    async fn rent(&self, label: &str) -> Result<String, gpurun_providers::Error> {
        let offer = self.offers("h100x1").await.swap_remove(0);
        let mut request = RentRequest::new(label, offer, disk());
        request.ssh_public_key = Some(LINE.to_owned());
        self.verda.rent(&request).await.map(|rented| rented.id)
    }

    fn living_volumes(&self) -> usize {
        let volumes = self.cloud.state().volumes;
        volumes.iter().filter(|it| it.deleted_at.is_none()).count()
    }

    fn tokens_bought(&self) -> usize {
        let requests = self.cloud.requests();
        requests
            .iter()
            .filter(|request| request.path == "/oauth2/token")
            .count()
    }
}

fn config(cloud: &Arc<Cloud>, id: &str) -> CloudConfig {
    let config = SimTime::config(cloud);
    CloudConfig {
        key: vec![id.into(), cloud.key().into()],
        ..config
    }
}

fn disk() -> Gigabytes {
    Gigabytes::new(Decimal::from(365))
}

#[tokio::test]
async fn offers_are_types_in_locations_with_a_disk_of_their_own() {
    let bench = Bench::new();
    let offer = bench.offers("a100-80-sxmx8").await.swap_remove(0);
    assert_eq!(offer.id, "8A100.176V@FIN-01");
    assert_eq!(offer.card.stop, StopSupport::None);
    // $10.32/h, and 365 GB x $0.20 / 730 h.
    assert_eq!(offer.card.running_rate(disk()).figure(), "10.4200");
}

#[tokio::test]
async fn a_destroyed_box_leaves_no_disk_and_no_key_behind() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await.expect("a box");
    assert_eq!((bench.living_volumes(), bench.cloud.state().keys), (1, 1));
    bench.cloud.advance(Duration::from_secs(1));
    let seen = bench.verda.describe(&id).await.expect("read").expect("it");
    assert_eq!((seen.state, seen.gpus), (InstanceState::Running, Some(1)));
    assert_eq!(seen.disk, Some(disk()));
    assert_eq!(
        seen.price.map(HourlyRate::figure).as_deref(),
        Some("2.3900"),
        "its disk included"
    );
    bench.verda.destroy(&id).await.expect("accepted");
    assert_eq!((bench.living_volumes(), bench.cloud.state().keys), (0, 0));
    assert_eq!(bench.verda.describe(&id).await, Ok(None), "discontinued");
    bench.verda.destroy(&id).await.expect("gone is success");
    bench.cloud.advance(Duration::from_secs(3600));
    assert_eq!(bench.verda.describe(&id).await, Ok(None), "404");
    bench.verda.destroy(&id).await.expect("gone is success");
    assert_eq!(bench.cloud.count(Operation::Destroy), 1);
    // Ten minutes of the machine; its disk for as long as it was there.
    let hours = Decimal::from(600) / Decimal::from(3600);
    let machine = Decimal::new(229, 2) * hours;
    assert!(bench.cloud.state().bill - machine < Decimal::new(1, 3));
}

#[tokio::test]
async fn a_token_is_bought_once_an_hour_and_anew_where_it_is_refused() {
    let bench = Bench::new();
    for _ in 0..3 {
        bench.verda.list_mine().await.expect("a list");
    }
    assert_eq!(bench.tokens_bought(), 1);
    bench.cloud.advance(Duration::from_secs(3599));
    bench.verda.list_mine().await.expect("a list");
    assert_eq!(bench.tokens_bought(), 2, "not in its last minute");
    bench
        .cloud
        .arm(Armed::once(Fault::AuthExpired).on(Operation::List));
    bench.verda.list_mine().await.expect("with another token");
    assert_eq!(bench.tokens_bought(), 3);
    // What may have acted is never sent twice, whatever the reason.
    let refused = Armed::once(Fault::AuthExpired).on(Operation::Create);
    bench.cloud.arm(refused);
    let error = bench.rent("gpurun-2").await.expect_err("refused");
    assert_eq!(error.kind, ErrorKind::Credentials);
    assert_eq!(bench.cloud.count(Operation::Create), 1);
}

#[tokio::test]
async fn a_wrong_half_of_the_key_is_no_absence() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await.expect("a box");
    let stranger = Verda::new(&config(&bench.cloud, "another-id"));
    let error = stranger.describe(&id).await.expect_err("nothing is told");
    assert_eq!(error.kind, ErrorKind::Credentials);
    let half = CloudConfig {
        key: vec![bench.cloud.key().into()],
        ..config(&bench.cloud, CLIENT_ID)
    };
    let error = Verda::new(&half).list_mine().await.expect_err("half a key");
    assert_eq!(error.kind, ErrorKind::Credentials);
}

#[tokio::test]
async fn sold_out_is_no_capacity_and_a_failure_after_the_order_is_broken() {
    let bench = Bench::new();
    bench.cloud.arm(Fault::OfferGone);
    let error = bench.rent("gpurun-1").await.expect_err("gone");
    assert_eq!(error.kind, ErrorKind::NoCapacity);
    assert_eq!(bench.cloud.state().keys, 0, "its key is taken out again");
    bench.cloud.arm(Fault::BrokenHost);
    let id = bench.rent("gpurun-1").await.expect("ordered");
    let seen = bench.verda.describe(&id).await.expect("read").expect("it");
    assert_eq!(seen.state, InstanceState::Broken);
    assert_eq!(seen.message.as_deref(), Some("it is error"));
}

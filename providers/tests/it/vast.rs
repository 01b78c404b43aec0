//! Vast.ai's adapter where things go wrong, over its simulator.

use std::sync::Arc;

use gpurun_clouds::vast::Vast as Simulator;
use gpurun_clouds::{Absence, Armed, Cloud, Fault, Operation, TooMany};
use gpurun_pricing::{Gigabytes, HourlyRate, Market, Offer};
use gpurun_providers::vast::Vast;
use gpurun_providers::{
    CloudConfig, ErrorKind, InstanceState, OfferRequest, Provider, RentRequest, VolumeMount,
    VolumeRequest,
};
use rust_decimal::Decimal;

use crate::harness::{self, SimTime};

struct Bench {
    cloud: Arc<Cloud>,
    vast: Vast,
}

impl Bench {
    fn new() -> Self {
        let cloud = Arc::new(Simulator::start(harness::strict()).expect("a free port"));
        let vast = Vast::new(&SimTime::config(&cloud));
        Self { cloud, vast }
    }

    async fn offers(&self, gpu: &str) -> Vec<Offer> {
        let request = OfferRequest::new(gpu.parse().expect("a GPU"), disk());
        self.vast.search(&request).await.expect("offers")
    }

    async fn request(&self, label: &str) -> RentRequest {
        let offer = self.offers("4090x1").await.swap_remove(0);
        RentRequest::new(label, offer, disk())
    }

    async fn rent(&self, label: &str) -> String {
        let request = self.request(label).await;
        self.vast.rent(&request).await.expect("a box").id
    }

    async fn labels(&self) -> Vec<String> {
        let listed = self.vast.list_mine().await.expect("a list");
        listed.into_iter().filter_map(|one| one.label).collect()
    }
}

fn disk() -> Gigabytes {
    Gigabytes::new(Decimal::from(20))
}

#[tokio::test]
async fn offers_are_priced_with_the_disk_that_will_be_rented() {
    let bench = Bench::new();
    let offers = bench.offers("4090x8").await;
    let hosts: Vec<_> = offers.iter().filter_map(|it| it.host.as_deref()).collect();
    assert_eq!(hosts, ["40001", "40002"], "48 GB cards bear the same name");
    let card = &offers[0].card;
    assert_eq!(card.hours_per_month.amount(), Decimal::from(720));
    let seen = bench.cloud.requests();
    let search = seen
        .iter()
        .find(|request| request.operation == Operation::Search)
        .expect("a search");
    assert_eq!(search.body["allocated_storage"], 20);
    assert!(
        bench
            .offers("a100-40x1")
            .await
            .iter()
            .all(|offer| offer.gpu.to_string() == "a100-40-sxmx1")
    );
    assert_eq!(bench.offers("cpu").await, []);
}

#[tokio::test]
async fn prices_can_be_asked_again() {
    let bench = Bench::new();
    let offer = bench.offers("4090x8").await.swap_remove(0);
    bench.cloud.with(|world| world.raise_prices(20));
    let now = bench.vast.rate_card(&offer).await.expect("prices");
    assert_eq!(
        now.running.amount(),
        offer.card.running.amount() * Decimal::new(12, 1)
    );
    bench.cloud.with(|world| world.machines[0].free = 0);
    let gone = bench.vast.rate_card(&offer).await.expect_err("taken");
    assert_eq!(gone.kind, ErrorKind::NoCapacity);
}

#[tokio::test]
async fn a_create_is_sent_once_and_never_leaves_a_waiting_contract() {
    let bench = Bench::new();
    let request = bench.request("gpurun-1").await;
    bench
        .cloud
        .arm(Armed::once(Fault::DropAfterCommit).on(Operation::Create));
    let lost = bench.vast.rent(&request).await.expect_err("no reply");
    assert!(lost.kind.may_have_acted() && lost.temporary, "{lost}");
    assert_eq!(bench.cloud.count(Operation::Create), 1);
    assert_eq!(bench.labels().await, ["gpurun-1"], "found by its label");
    for fault in [
        Fault::ErrorAfterCommit { status: 500 },
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
    ] {
        let request = bench.request("gpurun-1").await;
        bench
            .cloud
            .arm(Armed::once(fault.clone()).on(Operation::Create));
        let error = bench.vast.rent(&request).await.expect_err("no good reply");
        assert!(error.kind.may_have_acted(), "{fault:?}: {error}");
    }
    let seen = bench.cloud.requests();
    let creates = seen.iter().filter(|it| it.operation == Operation::Create);
    assert!(creates.clone().all(|it| it.body["cancel_unavail"] == true));
    assert_eq!(creates.count(), 5);
}

#[tokio::test]
async fn an_offer_that_is_gone_is_no_capacity() {
    let bench = Bench::new();
    let request = bench.request("gpurun-1").await;
    bench.cloud.arm(Fault::OfferGone);
    let error = bench.vast.rent(&request).await.expect_err("gone");
    assert_eq!(error.kind, ErrorKind::NoCapacity, "{error}");
    assert!(bench.cloud.state().alive().is_empty());
}

#[tokio::test]
async fn what_a_failed_create_leaves_is_ended() {
    let bench = Bench::new();
    let request = bench.request("gpurun-1").await;
    bench.cloud.arm(Fault::FailedCreateLeavesBox);
    let error = bench.vast.rent(&request).await.expect_err("bid too low");
    assert_eq!(error.kind, ErrorKind::NoCapacity, "{error}");
    assert!(bench.cloud.state().alive().is_empty(), "nothing is billed");
    bench.cloud.arm(Fault::FailedCreateLeavesBox);
    bench
        .cloud
        .arm(Armed::once(Fault::DestroyRefused).on(Operation::Destroy));
    let error = bench.vast.rent(&request).await.expect_err("bid too low");
    assert!(error.kind.may_have_acted(), "the caller must look: {error}");
    assert_eq!(bench.labels().await, ["gpurun-1"]);
}

#[tokio::test]
async fn a_wrong_key_is_never_something_gone() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    let config = CloudConfig {
        key: vec!["wrong-key-123456".into()],
        ..SimTime::config(&bench.cloud)
    };
    let stranger = Vast::new(&config);
    let errors = [
        stranger.describe(&id).await.err(),
        stranger.list_mine().await.err(),
        stranger.destroy(&id).await.err(),
        stranger.stop(&id).await.err(),
        stranger.account().await.err(),
        stranger.rent(&bench.request("gpurun-2").await).await.err(),
    ];
    for error in errors {
        let error = error.expect("refused");
        assert_eq!(error.kind, ErrorKind::Credentials, "{error}");
        assert!(!format!("{error:?}").contains("wrong-key-123456"));
    }
    assert!(!format!("{stranger:?}").contains("wrong-key-123456"));
    let keyless = CloudConfig {
        key: Vec::new(),
        ..SimTime::config(&bench.cloud)
    };
    let keyless = Vast::new(&keyless);
    let request = OfferRequest::new("4090x1".parse().expect("a GPU"), disk());
    assert!(!keyless.search(&request).await.expect("a market").is_empty());
    let error = keyless.list_mine().await.expect_err("no key");
    assert!(error.remedy.contains("VAST_API_KEY"), "{error}");
    assert_eq!(bench.cloud.state().alive().len(), 1, "nobody ended it");
}

#[tokio::test]
async fn every_form_of_gone_is_gone() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.vast.destroy(&id).await.expect("accepted");
    for shape in [Absence::Null, Absence::EmptyList, Absence::NotFound] {
        bench.cloud.arm(Fault::GoneAs { shape });
        assert_eq!(bench.vast.describe(&id).await, Ok(None), "{shape:?}");
    }
    // Expired while we ask: the 404 of the show proves nothing any more.
    bench.cloud.arm(Fault::GoneAs {
        shape: Absence::NotFound,
    });
    bench
        .cloud
        .arm(Armed::once(Fault::AuthExpired).on(Operation::Account));
    let error = bench.vast.describe(&id).await.expect_err("unproven");
    assert_eq!(error.kind, ErrorKind::Credentials);
}

#[tokio::test]
async fn a_garbled_list_is_never_an_empty_one() {
    let bench = Bench::new();
    bench.rent("gpurun-1").await;
    for fault in [
        Fault::EmptyBody,
        Fault::HtmlBody,
        Fault::TruncatedBody,
        Fault::SuccessFalse,
    ] {
        let forever = Armed {
            count: None,
            ..Armed::once(fault.clone()).on(Operation::List)
        };
        bench.cloud.arm(forever);
        let error = bench.vast.list_mine().await.expect_err("garbled");
        assert_eq!(error.kind, ErrorKind::Unknown, "{fault:?}: {error}");
        bench.cloud.disarm();
    }
    assert_eq!(bench.labels().await, ["gpurun-1"]);
}

#[tokio::test]
async fn lists_are_read_to_their_end() {
    let bench = Bench::new();
    // More boxes than the market has GPUs: each is stopped at once, which gives its GPU back.
    let request = bench.request("gpurun-1").await;
    for number in 0..53 {
        let mut request = request.clone();
        request.label = format!("gpurun-{number}");
        let id = bench.vast.rent(&request).await.expect("a box").id;
        bench.vast.stop(&id).await.expect("accepted");
    }
    assert_eq!(bench.labels().await.len(), 53);
    assert_eq!(bench.cloud.count(Operation::List), 3);
}

#[tokio::test]
async fn reads_wait_when_they_are_told_to() {
    let bench = Bench::new();
    for form in [TooMany::Text, TooMany::Json, TooMany::RetryAfter] {
        bench
            .cloud
            .arm(Armed::once(Fault::TooManyRequests { form }).on(Operation::List));
        assert_eq!(bench.labels().await.len(), 0, "{form:?}");
    }
    assert_eq!(bench.cloud.count(Operation::List), 6);
    let request = bench.request("gpurun-1").await;
    let text = TooMany::Text;
    bench
        .cloud
        .arm(Armed::once(Fault::TooManyRequests { form: text }).on(Operation::Create));
    let error = bench.vast.rent(&request).await.expect_err("too often");
    assert_eq!(error.kind, ErrorKind::RateLimited);
    assert_eq!(
        bench.cloud.count(Operation::Create),
        1,
        "no write is repeated"
    );
}

#[tokio::test]
async fn a_refused_destroy_is_told() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.cloud.arm(Fault::DestroyRefused);
    let error = bench.vast.destroy(&id).await.expect_err("success: false");
    assert!(error.temporary, "{error}");
    bench
        .cloud
        .arm(Armed::once(Fault::ErrorBeforeCommit { status: 500 }).on(Operation::Destroy));
    bench.vast.destroy(&id).await.expect_err("500");
    assert_eq!(bench.cloud.state().alive().len(), 1);
    bench.vast.destroy(&id).await.expect("accepted");
    bench.vast.destroy(&id).await.expect("gone is success");
    assert_eq!(bench.vast.describe("123").await, Ok(None));
}

#[tokio::test]
async fn a_resume_without_gpus_is_seen() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.vast.stop(&id).await.expect("accepted");
    bench.cloud.arm(Fault::ZeroGpuResume);
    bench.vast.start(&id).await.expect("accepted");
    let found = bench
        .vast
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!((found.state, found.gpus), (InstanceState::Running, Some(0)));
}

#[tokio::test]
async fn taken_gpus_are_told() {
    let bench = Bench::new();
    let id = bench.rent("gpurun-1").await;
    bench.cloud.arm(Fault::GpusTakenAfterStop);
    bench.vast.stop(&id).await.expect("accepted");
    bench.vast.start(&id).await.expect("accepted, and waits");
    let found = bench
        .vast
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!(found.state, InstanceState::Creating);
    assert!(found.message.expect("a reason").contains("another renter"));
}

#[tokio::test]
async fn broken_hosts_are_broken() {
    let bench = Bench::new();
    bench.cloud.arm(Fault::BrokenHost);
    let id = bench.rent("gpurun-1").await;
    let found = bench
        .vast
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!(found.state, InstanceState::Broken, "{found:?}");
    let id = bench.rent("gpurun-2").await;
    bench.cloud.strike(&Fault::HostDeath, Some(&id));
    let found = bench
        .vast
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!(found.state, InstanceState::Broken, "{found:?}");
}

#[tokio::test]
async fn bids_are_interruptible_boxes() {
    let bench = Bench::new();
    let request = OfferRequest {
        market: Market::Interruptible,
        ..OfferRequest::new("4090x1".parse().expect("a GPU"), disk())
    };
    let offer = bench
        .vast
        .search(&request)
        .await
        .expect("bids")
        .swap_remove(0);
    assert_eq!(offer.market, Market::Interruptible);
    let rented = RentRequest::new("gpurun-1", offer.clone(), disk());
    let id = bench.vast.rent(&rented).await.expect("a box").id;
    let price = bench
        .vast
        .describe(&id)
        .await
        .expect("read")
        .expect("there")
        .price;
    assert_eq!(
        price.map(HourlyRate::figure),
        Some(offer.card.running_rate(disk()).figure())
    );
    bench.cloud.strike(&Fault::Outbid, Some(&id));
    let found = bench
        .vast
        .describe(&id)
        .await
        .expect("read")
        .expect("there");
    assert_eq!(found.state, InstanceState::Stopped);
}

#[tokio::test]
async fn the_runs_key_comes_in_with_the_box_or_later() {
    let bench = Bench::new();
    let line =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD gpurun-1";
    let keys = |bench: &Bench| {
        bench
            .cloud
            .with(|world| world.rentals[0].order.keys.clone())
    };
    let mut request = bench.request("gpurun-1").await;
    request.ssh_public_key = Some(line.to_owned());
    bench
        .cloud
        .arm(Armed::once(Fault::ErrorBeforeCommit { status: 503 }).on(Operation::Keys));
    let id = bench.vast.rent(&request).await.expect("a box").id;
    assert!(keys(&bench).is_empty(), "the attach failed");
    assert_eq!(bench.vast.authorize(&id, line).await, Ok(true));
    assert_eq!(keys(&bench), [line]);
    assert!(
        bench.cloud.with(|world| world.keys.is_empty()),
        "nothing is left in the account"
    );
}

#[tokio::test]
async fn volumes_live_on_one_machine_and_are_billed() {
    let bench = Bench::new();
    let volumes = bench.vast.volumes().expect("it has volumes");
    let offer = bench.offers("4090x1").await.swap_remove(0);
    let wanted = VolumeRequest {
        name: "runs".to_owned(),
        size: Gigabytes::new(Decimal::from(20)),
        place: offer.host.clone().expect("a machine"),
    };
    let rate = volumes
        .rate(&wanted)
        .await
        .expect("a price")
        .expect("billed by size");
    let made = volumes.create(&wanted).await.expect("a volume");
    let listed = volumes.list().await.expect("a list");
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0].id, listed[0].place.as_ref()),
        (&made.id, Some(&wanted.place))
    );
    assert_eq!(listed[0].price.map(HourlyRate::figure), Some(rate.figure()));
    let mut request = RentRequest::new("gpurun-1", offer, disk());
    request.volume = Some(VolumeMount {
        id: made.id.clone(),
        path: "/root/runs".to_owned(),
    });
    let id = bench.vast.rent(&request).await.expect("a box").id;
    let in_use = volumes.delete(&made.id).await.expect_err("mounted");
    assert_eq!(in_use.kind, ErrorKind::InvalidRequest);
    assert_eq!(
        volumes.list().await.expect("a list")[0].attached_to,
        std::slice::from_ref(&id)
    );
    bench.vast.destroy(&id).await.expect("accepted");
    volumes.delete(&made.id).await.expect("accepted");
    volumes.delete(&made.id).await.expect("gone is success");
    assert_eq!(volumes.list().await, Ok(Vec::new()));
}

#[tokio::test]
async fn the_account_tells_its_money() {
    let bench = Bench::new();
    let account = bench.vast.account().await.expect("an account");
    assert_eq!(
        account.balance.map(|money| money.figure()).as_deref(),
        Some("100.00")
    );
    assert_eq!(account.id.as_deref(), Some("1"));
    bench.cloud.arm(Fault::CreditExhausted);
    let request = bench.request("gpurun-1").await;
    bench.cloud.strike(&Fault::CreditExhausted, None);
    let error = bench.vast.rent(&request).await.expect_err("no money");
    assert_eq!(error.kind, ErrorKind::Credit, "{error}");
}

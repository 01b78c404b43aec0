//! The account's key goes to the vendor in one header, or buys a token in one body, and goes nowhere else: over every
//! adapter, in every trouble.

use std::io;
use std::sync::{Arc, Mutex};

use gpurun_clouds::{Armed, Cloud, Fault, Operation, Relay, TooMany};
use gpurun_pricing::{Gigabytes, Offer};
use gpurun_providers::{
    CloudConfig, OfferRequest, Provider, RentRequest, Result, VolumeRequest, Volumes,
};
use rust_decimal::Decimal;
use tracing::Level;

use crate::harness::{SIMULATED, SimTime, Simulated, strict};

const LINE: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD gpurun-1";

const OPERATIONS: [Operation; 12] = [
    Operation::Search,
    Operation::Create,
    Operation::Show,
    Operation::List,
    Operation::Start,
    Operation::Stop,
    Operation::Destroy,
    Operation::Manage,
    Operation::Account,
    Operation::Keys,
    Operation::Volumes,
    Operation::Other,
];

const FAULTS: [Fault; 11] = [
    Fault::AuthExpired,
    Fault::DropBeforeCommit,
    Fault::DropAfterCommit,
    Fault::ErrorBeforeCommit { status: 500 },
    Fault::ErrorAfterCommit { status: 502 },
    Fault::TooManyRequests {
        form: TooMany::Text,
    },
    Fault::TooManyRequests {
        form: TooMany::Json,
    },
    Fault::EmptyBody,
    Fault::HtmlBody,
    Fault::TruncatedBody,
    Fault::SuccessFalse,
];

/// All that a client said, in every form a caller may write down.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    fn add(&self, text: &str) {
        let mut all = self.0.lock().expect("no panic");
        all.extend_from_slice(text.as_bytes());
        all.push(b'\n');
    }

    fn result<T: std::fmt::Debug>(&self, result: Result<T>) -> Option<T> {
        self.add(&format!("{result:?}"));
        if let Err(error) = &result {
            self.add(&format!("{error} {}", error.remedy));
        }
        result.ok()
    }

    fn text(&self) -> String {
        let all = self.0.lock().expect("no panic");
        String::from_utf8_lossy(&all).into_owned()
    }
}

impl io::Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Everything that is logged on this thread, whatever its level.
fn listening(said: &Said) -> tracing::subscriber::DefaultGuard {
    let writer = said.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_default(subscriber)
}

fn disk() -> Gigabytes {
    Gigabytes::new(Decimal::from(20))
}

fn search(vendor: Simulated) -> OfferRequest {
    OfferRequest::new(vendor.gpu.parse().expect("a GPU"), disk())
}

/// Every call of the contract. Returns the box it rented, if it did.
async fn everything(client: &dyn Provider, offer: &Offer, label: &str, said: &Said) {
    let wanted = OfferRequest::new(offer.gpu.clone(), disk());
    said.result(client.search(&wanted).await);
    said.result(client.rate_card(offer).await);
    said.result(client.account().await);
    if let Some(volumes) = client.volumes() {
        every_volume(volumes, offer, label, said).await;
    }
    let mut request = RentRequest::new(label, offer.clone(), disk());
    request.ssh_public_key = Some(LINE.to_owned());
    let rented = said.result(client.rent(&request).await);
    let listed = said.result(client.list_mine().await).unwrap_or_default();
    let found = listed.into_iter().chain(rented).next();
    let id = found.map_or_else(|| "1".to_owned(), |found| found.id);
    said.result(client.describe(&id).await);
    said.result(client.authorize(&id, LINE).await);
    said.result(client.stop(&id).await);
    said.result(client.start(&id).await);
    said.result(client.destroy(&id).await);
    said.result(client.describe(&id).await);
}

async fn every_volume(volumes: &dyn Volumes, offer: &Offer, name: &str, said: &Said) {
    let place = offer.region.clone().or(offer.host.clone());
    let wanted = VolumeRequest {
        name: name.to_owned(),
        size: disk(),
        place: place.unwrap_or_default(),
    };
    said.result(volumes.rate(&wanted).await);
    let made = said.result(volumes.create(&wanted).await);
    said.result(volumes.list().await);
    if let Some(made) = made {
        said.result(volumes.delete(&made.id).await);
    }
}

/// A client that reaches the simulator through the relay.
fn through(relay: &Relay, cloud: &Arc<Cloud>) -> CloudConfig {
    CloudConfig {
        base_url: Some(relay.url()),
        second_url: Some(relay.url()),
        ..SimTime::config(cloud)
    }
}

/// All that was sent but the one header that may hold the key, and the one body that buys a token with it.
fn without_authorization(heard: &str) -> (String, usize) {
    let may_hold_it = |line: &&str| {
        let header = line.get(..15);
        header.is_some_and(|name| name.eq_ignore_ascii_case("authorization: "))
            || (line.contains("\"grant_type\":") && line.contains("\"client_secret\":"))
    };
    let (credentials, rest): (Vec<_>, Vec<_>) = heard.lines().partition(may_hold_it);
    (rest.join("\n"), credentials.len())
}

fn assert_unsaid(vendor: &str, what: &str, text: &str, key: &str) {
    let at = text.find(key);
    let line = at.map(|at| {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        text[start..at].to_owned()
    });
    assert_eq!(line, None, "{vendor}: the key is in {what} after this");
}

#[tokio::test]
async fn the_key_is_in_one_header_and_nowhere_else() {
    for vendor in SIMULATED {
        let cloud = Arc::new((vendor.start)(strict()).expect("a free port"));
        let relay = Relay::to(&cloud).expect("a free port");
        let config = through(&relay, &cloud);
        let said = Said::default();
        let logged = listening(&said);
        let client = (vendor.client)(&config);
        said.add(&format!("{config:?}"));
        let offers = client.search(&search(vendor)).await.expect("offers");
        everything(client.as_ref(), &offers[0], "gpurun-0", &said).await;
        // Everything at once; and the one call whose failure is only logged.
        for (number, fault) in FAULTS.iter().enumerate() {
            for (round, struck) in [&OPERATIONS[..], &[Operation::Keys]].iter().enumerate() {
                for operation in *struck {
                    cloud.arm(Armed::always(fault.clone()).on(*operation));
                }
                let label = format!("gpurun-{}-{round}", number + 1);
                everything(client.as_ref(), &offers[0], &label, &said).await;
                cloud.disarm();
            }
        }
        drop(logged);

        let name = client.name();
        let said = said.text();
        for word in [
            "failed (credentials)",
            "failed (unavailable)",
            "failed (unknown)",
            "TRACE",
        ] {
            assert!(said.contains(word), "{name} never said `{word}`");
        }
        assert_unsaid(name, "what was said", &said, cloud.key());
        let heard = relay.heard().join("\n");
        assert!(heard.contains(cloud.key()), "{name} sent no key");
        let (rest, credentials) = without_authorization(&heard);
        assert!(credentials >= cloud.requests().len() / 2, "{name}");
        assert_unsaid(name, "what was sent", &rest, cloud.key());
    }
}

#[tokio::test]
async fn a_vendor_that_repeats_the_key_is_not_quoted() {
    for vendor in SIMULATED {
        let cloud = Arc::new((vendor.start)(strict()).expect("a free port"));
        let ours = (vendor.client)(&SimTime::config(&cloud));
        let offer = ours.search(&search(vendor)).await.expect("offers");
        let mut is_repeated = false;
        for status in [200, 302, 400, 401, 404, 409, 422, 429, 500, 503] {
            let parrot = Relay::repeating(status).expect("a free port");
            let said = Said::default();
            let logged = listening(&said);
            let client = (vendor.client)(&through(&parrot, &cloud));
            everything(client.as_ref(), &offer[0], "gpurun-1", &said).await;
            drop(logged);
            let heard = parrot.heard().join("\n");
            assert!(heard.contains(cloud.key()), "{status}: no key was sent");
            let name = client.name();
            assert_unsaid(name, "what was said", &said.text(), cloud.key());
            is_repeated |= said.text().contains("***");
        }
        assert!(is_repeated, "{}: nothing was repeated", ours.name());
    }
}

#[tokio::test]
async fn a_key_that_is_none_is_not_quoted() {
    for vendor in SIMULATED {
        let cloud = Arc::new((vendor.start)(strict()).expect("a free port"));
        let key = "half-a-key-\n-123456";
        let config = CloudConfig {
            key: vec![key.into()],
            ..SimTime::config(&cloud)
        };
        let said = Said::default();
        let client = (vendor.client)(&config);
        said.result(client.list_mine().await);
        assert!(said.text().contains("failed (credentials)"));
        for half in ["half-a-key", "123456"] {
            assert_unsaid(client.name(), "what was said", &said.text(), half);
        }
    }
}

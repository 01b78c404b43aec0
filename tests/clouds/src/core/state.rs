//! What `GET /_sim/state` shows.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use serde::Serialize;

use super::{Phase, Rental, SimVolume, World};

/// The whole world at one moment; amounts are decimal strings, dollars.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// The simulator's time.
    pub now: DateTime<Utc>,
    /// All boxes that ever were, oldest first.
    pub boxes: Vec<RentalState>,
    /// All volumes that ever were.
    pub volumes: Vec<SimVolume>,
    /// What everything cost.
    pub bill: Decimal,
    /// What everything costs an hour.
    pub burn: Decimal,
    /// What is left on the account.
    pub balance: Decimal,
    /// Keys on the account.
    pub keys: usize,
    /// Requests so far, those of `/_sim/` aside.
    pub requests: usize,
    /// What went wrong with the boxes themselves.
    pub mishaps: Vec<String>,
}

/// One box.
#[derive(Debug, Clone, Serialize)]
pub struct RentalState {
    /// The vendor's id.
    pub id: String,
    /// Its renter's name for it.
    pub label: Option<String>,
    /// Where it is in its life.
    #[serde(flatten)]
    pub phase: Phase,
    /// Since when.
    pub since: DateTime<Utc>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// The machine it is on.
    pub machine: u64,
    /// GPUs it really has.
    pub gpus: u32,
    /// Where its sshd answers: `127.0.0.1:40022`.
    pub ssh: Option<String>,
    /// What it costs an hour now.
    pub hourly: Decimal,
    /// What it cost, item by item.
    pub bill: BTreeMap<&'static str, Decimal>,
    /// The sum.
    pub total: Decimal,
}

impl State {
    /// Boxes that aren't gone.
    #[must_use]
    pub fn alive(&self) -> Vec<&RentalState> {
        self.boxes
            .iter()
            .filter(|it| it.phase != Phase::Gone)
            .collect()
    }

    pub(crate) fn of(world: &World) -> Self {
        let now = world.now();
        Self {
            now,
            boxes: world
                .rentals
                .iter()
                .map(|rental| RentalState::of(rental, now))
                .collect(),
            volumes: world.volumes.clone(),
            bill: world.total(),
            burn: world.burn(),
            balance: world.balance(),
            keys: world.keys.len(),
            requests: world.log.len(),
            mishaps: world.mishaps.clone(),
        }
    }
}

impl RentalState {
    fn of(rental: &Rental, now: DateTime<Utc>) -> Self {
        Self {
            id: rental.id().to_owned(),
            label: rental.order.label.clone(),
            phase: rental.phase().clone(),
            since: rental.phase_since(),
            created_at: rental.created_at,
            machine: rental.order.machine,
            gpus: rental.gpus_now,
            ssh: rental
                .ssh
                .as_ref()
                .map(|ssh| format!("{}:{}", ssh.host, ssh.port)),
            hourly: rental.hourly_now(),
            bill: rental.bill(now).into_iter().collect(),
            total: rental.total(now),
        }
    }
}

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use serde_json::Value;

use super::bill::{self, Moment};
use super::{Charge, Phase, Rate};
use crate::boxes::{Gpus, SshAddress};

/// What a vendor's create asks the world for.
#[derive(Debug, Clone)]
pub struct Order {
    /// The vendor's id of the box.
    pub id: String,
    /// Its renter's name for it.
    pub label: Option<String>,
    /// On which machine.
    pub machine: u64,
    /// How many of its GPUs.
    pub gpus: u32,
    /// Root disk, GB.
    pub disk_gb: Decimal,
    /// What it costs.
    pub rates: Vec<Rate>,
    /// The unit in which time is billed.
    pub granularity: TimeDelta,
    /// Keys that may log in, OpenSSH lines.
    pub keys: Vec<String>,
    /// The login's name.
    pub user: &'static str,
    /// Environment variables of its processes.
    pub environment: Vec<(String, String)>,
    /// The bid, dollars an hour for the whole box, of an interruptible one.
    pub bid: Option<Decimal>,
    /// Volumes mounted: id and path.
    pub volumes: Vec<(String, String)>,
    /// Whatever else the vendor keeps of the request.
    pub details: Value,
}

/// A box that is rented, or was.
#[derive(Debug, Clone)]
pub struct Rental {
    /// As ordered; the vendor changes label, keys and details when its user does.
    pub order: Order,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// GPUs that it really has now.
    pub gpus_now: u32,
    /// What `nvidia-smi` on the box says.
    pub gpu_state: Gpus,
    /// Where its sshd answers, while it runs.
    pub ssh: Option<SshAddress>,
    /// Not in lists, nor found by id, before this moment.
    pub hidden_until: Option<DateTime<Utc>>,
    /// Its sshd doesn't answer although it runs.
    pub ssh_refused: bool,
    /// A delete was accepted, and it will come true only then.
    pub doomed_at: Option<DateTime<Utc>>,
    /// What was charged once.
    pub charges: Vec<Charge>,
    /// Others take its GPUs as soon as it stops.
    pub(crate) gpus_wanted: bool,
    /// Others have them: a start waits, whatever else is free on the machine.
    pub(crate) gpus_taken: bool,
    /// Its next start gives it a machine without GPUs.
    pub(crate) next_start_without_gpus: bool,
    pub(crate) history: Vec<Moment>,
}

impl Rental {
    pub(crate) fn new(order: Order, phase: Phase, now: DateTime<Utc>) -> Self {
        let first = Moment {
            at: now,
            phase,
            rates: order.rates.clone(),
        };
        Self {
            gpus_now: order.gpus,
            order,
            created_at: now,
            gpu_state: Gpus::Good,
            ssh: None,
            hidden_until: None,
            ssh_refused: false,
            doomed_at: None,
            charges: Vec::new(),
            gpus_wanted: false,
            gpus_taken: false,
            next_start_without_gpus: false,
            history: vec![first],
        }
    }

    /// The vendor's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.order.id
    }

    /// Where it is in its life.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        self.history
            .last()
            .map_or(&Phase::Gone, |moment| &moment.phase)
    }

    /// Since when it is there.
    #[must_use]
    pub fn phase_since(&self) -> DateTime<Utc> {
        self.history
            .last()
            .map_or(self.created_at, |moment| moment.at)
    }

    /// What it costs an hour as it is now, dollars.
    #[must_use]
    pub fn hourly_now(&self) -> Decimal {
        let phase = self.phase();
        self.rates()
            .iter()
            .filter(|rate| rate.when.covers(phase))
            .map(|rate| rate.hourly)
            .sum()
    }

    /// The rates in force.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        self.history.last().map_or(&[], |moment| &moment.rates)
    }

    /// The rate in force of one item, dollars an hour.
    #[must_use]
    pub fn rate_of(&self, item: &str) -> Decimal {
        let rate = self.rates().iter().find(|rate| rate.item == item);
        rate.map_or(Decimal::ZERO, |rate| rate.hourly)
    }

    /// What it cost until `now`, item by item, dollars.
    #[must_use]
    pub fn bill(&self, now: DateTime<Utc>) -> Vec<(&'static str, Decimal)> {
        let mut items = bill::cost(&self.history, self.order.granularity, now);
        for charge in &self.charges {
            match items.iter_mut().find(|(item, _)| *item == charge.item) {
                Some((_, amount)) => *amount += charge.amount,
                None => items.push((charge.item, charge.amount)),
            }
        }
        items
    }

    /// The sum of [`Rental::bill`].
    #[must_use]
    pub fn total(&self, now: DateTime<Utc>) -> Decimal {
        self.bill(now).into_iter().map(|(_, amount)| amount).sum()
    }

    /// Other prices from `at` on.
    pub fn reprice(&mut self, rates: Vec<Rate>, at: DateTime<Utc>) {
        let phase = self.phase().clone();
        self.history.push(Moment { at, phase, rates });
    }

    pub(crate) fn turn(&mut self, phase: Phase, at: DateTime<Utc>) {
        let rates = self.rates().to_vec();
        self.history.push(Moment { at, phase, rates });
    }
}

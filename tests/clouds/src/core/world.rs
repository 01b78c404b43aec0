//! The world behind an API: machines, boxes, money. Time passes in it when it is asked.

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    Arms, Clock, Fault, Logged, Machine, Order, Phase, Rate, Rental, SimConfig, SimVolume, Why,
};
use crate::boxes::Boxes;

/// A public key on the account.
#[derive(Debug, Clone, Serialize)]
pub struct AccountKey {
    /// The vendor's id.
    pub id: String,
    /// Its name, where the vendor names keys.
    pub name: String,
    /// The OpenSSH line.
    pub line: String,
    /// When it was added.
    pub created_at: DateTime<Utc>,
}

/// What came of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It boots.
    Booting,
    /// Nobody on the host gives it GPUs.
    NoGpus,
    /// It wasn't stopped.
    NotStopped,
    /// There is no such box.
    Unknown,
}

/// Everything that a simulated vendor knows.
pub struct World {
    /// As it was put up.
    pub config: SimConfig,
    /// Its time.
    pub clock: Clock,
    /// The market.
    pub machines: Vec<Machine>,
    /// All boxes that ever were, oldest first.
    pub rentals: Vec<Rental>,
    /// All volumes that ever were.
    pub volumes: Vec<SimVolume>,
    /// Keys of the account.
    pub keys: Vec<AccountKey>,
    /// What shall go wrong.
    pub faults: Arms,
    /// Every request so far.
    pub log: Vec<Logged>,
    /// Dollars put in so far.
    pub credit: Decimal,
    /// What went wrong with the boxes themselves, for whoever debugs a test.
    pub mishaps: Vec<String>,
    counter: u64,
    /// The moment that is being made up for, while time passes.
    pub(super) moment: Option<DateTime<Utc>>,
    /// Everything due before has happened.
    pub(super) settled_at: DateTime<Utc>,
    pub(crate) boxes: Box<dyn Boxes>,
}

impl World {
    pub(crate) fn new(config: SimConfig, machines: Vec<Machine>, boxes: Box<dyn Boxes>) -> Self {
        let clock = Clock::new(config.clock);
        Self {
            settled_at: clock.now(),
            moment: None,
            clock,
            credit: config.credit,
            config,
            machines,
            rentals: Vec::new(),
            volumes: Vec::new(),
            keys: Vec::new(),
            faults: Arms::default(),
            log: Vec::new(),
            mishaps: Vec::new(),
            counter: 0,
            boxes,
        }
    }

    /// The time there.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.moment.unwrap_or_else(|| self.clock.now())
    }

    /// 1, 2, 3, …: what ids are made of.
    pub fn next_number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// A machine of the market.
    #[must_use]
    pub fn machine(&self, id: u64) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.id == id)
    }

    /// A box that isn't gone, hidden or not.
    #[must_use]
    pub fn rental(&self, id: &str) -> Option<&Rental> {
        let mut all = self.rentals.iter();
        all.find(|rental| rental.id() == id && *rental.phase() != Phase::Gone)
    }

    /// The same, to change it.
    pub fn rental_mut(&mut self, id: &str) -> Option<&mut Rental> {
        let mut all = self.rentals.iter_mut();
        all.find(|rental| rental.id() == id && *rental.phase() != Phase::Gone)
    }

    /// The boxes that the API shows now, oldest first.
    #[must_use]
    pub fn listed(&self) -> Vec<&Rental> {
        let now = self.now();
        self.rentals
            .iter()
            .filter(|rental| *rental.phase() != Phase::Gone)
            .filter(|rental| rental.hidden_until.is_none_or(|until| until <= now))
            .collect()
    }

    /// Rents. The caller has seen that the machine has the GPUs. `faults`: those of the create that strike the box.
    pub fn rent(&mut self, order: Order, faults: &[Fault]) {
        let now = self.now();
        self.take_gpus(order.machine, order.gpus);
        let boot = TimeDelta::from_std(self.config.boot).unwrap_or(TimeDelta::MAX);
        let mut rental = Rental::new(
            order,
            Phase::Booting {
                ready_at: Some(now + boot),
            },
            now,
        );
        for fault in faults {
            rental.afflict(fault, now);
        }
        self.rentals.push(rental);
        self.settle();
    }

    /// Keeps the disk, gives the GPUs back.
    pub fn stop(&mut self, id: &str, why: Why) -> bool {
        let now = self.now();
        let Some(rental) = self.rental_mut(id) else {
            return false;
        };
        let held = rental.phase().holds_gpus();
        if !held && *rental.phase() != Phase::Waiting {
            return false;
        }
        let (machine, gpus, wanted) = (rental.order.machine, rental.order.gpus, rental.gpus_wanted);
        rental.ssh = None;
        rental.gpus_taken = wanted && held;
        rental.turn(Phase::Stopped { why }, now);
        if held && !wanted {
            self.give_gpus(machine, gpus);
        }
        self.halt(id);
        true
    }

    /// Starts a stopped box, on its own machine. Without free GPUs it stays as it is.
    pub fn start(&mut self, id: &str) -> Started {
        let now = self.now();
        let boot = TimeDelta::from_std(self.config.boot).unwrap_or(TimeDelta::MAX);
        let Some(rental) = self.rental(id) else {
            return Started::Unknown;
        };
        if !matches!(rental.phase(), Phase::Stopped { .. } | Phase::Waiting) {
            return Started::NotStopped;
        }
        let (machine, gpus) = (rental.order.machine, rental.order.gpus);
        let (without, taken) = (rental.next_start_without_gpus, rental.gpus_taken);
        let free = self
            .machine(machine)
            .filter(|it| it.online && it.contract_end.is_none_or(|end| end > now))
            .is_some_and(|it| it.free >= gpus);
        if !without && (taken || !free) {
            return Started::NoGpus;
        }
        if !without {
            self.take_gpus(machine, gpus);
        }
        if let Some(rental) = self.rental_mut(id) {
            rental.gpus_now = if without { 0 } else { gpus };
            rental.next_start_without_gpus = false;
            rental.turn(
                Phase::Booting {
                    ready_at: Some(now + boot),
                },
                now,
            );
        }
        self.settle();
        Started::Booting
    }

    /// Asked to run, but the GPUs are gone: it waits for them.
    pub fn wait_for_gpus(&mut self, id: &str) {
        let now = self.now();
        if let Some(rental) = self.rental_mut(id) {
            rental.turn(Phase::Waiting, now);
        }
    }

    /// Ends a box at `gone_at` (`None`: never); until then it is billed or not.
    pub fn destroy(&mut self, id: &str, gone_at: Option<DateTime<Utc>>, billed: bool) -> bool {
        let now = self.now();
        let Some(rental) = self.rental_mut(id) else {
            return false;
        };
        let held = rental.phase().holds_gpus();
        let (machine, gpus) = (rental.order.machine, rental.order.gpus);
        rental.ssh = None;
        rental.turn(Phase::Ending { gone_at, billed }, now);
        if held {
            self.give_gpus(machine, gpus);
        }
        self.halt(id);
        self.settle();
        true
    }

    /// Starts a running box anew; its disk stays.
    pub fn reboot(&mut self, id: &str) -> bool {
        let now = self.now();
        let boot = TimeDelta::from_std(self.config.boot).unwrap_or(TimeDelta::MAX);
        let Some(rental) = self.rental_mut(id) else {
            return false;
        };
        if !matches!(rental.phase(), Phase::Running | Phase::Booting { .. }) {
            return false;
        }
        rental.turn(
            Phase::Booting {
                ready_at: Some(now + boot),
            },
            now,
        );
        self.halt(id);
        self.settle();
        true
    }

    /// Puts an SSH key into the account, as its owner does in the vendor's console.
    pub fn add_key(&mut self, name: &str, line: &str) {
        let key = AccountKey {
            id: format!("{:032x}", self.next_number()),
            name: name.to_owned(),
            line: line.to_owned(),
            created_at: self.now(),
        };
        self.keys.push(key);
    }

    /// Other public keys for a box, running or not.
    pub fn set_keys(&mut self, id: &str, keys: Vec<String>) -> bool {
        let Some(rental) = self.rental_mut(id) else {
            return false;
        };
        rental.order.keys.clone_from(&keys);
        let user = rental.order.user;
        if let Err(error) = self.boxes.set_keys(id, user, &keys) {
            self.mishaps.push(error.to_string());
        }
        true
    }

    /// All machines cost so much more from now on, percent; boxes rented already don't.
    pub fn raise_prices(&mut self, percent: u32) {
        let factor = Decimal::ONE + Decimal::new(i64::from(percent), 2);
        for machine in &mut self.machines {
            machine.gpu_hourly *= factor;
        }
    }

    /// What the account has left, dollars.
    #[must_use]
    pub fn balance(&self) -> Decimal {
        self.credit - self.total()
    }

    /// What everything cost so far, dollars.
    #[must_use]
    pub fn total(&self) -> Decimal {
        self.total_at(self.now())
    }

    pub(super) fn total_at(&self, at: DateTime<Utc>) -> Decimal {
        let boxes: Decimal = self.rentals.iter().map(|rental| rental.total(at)).sum();
        let volumes: Decimal = self.volumes.iter().map(|volume| volume.cost(at)).sum();
        boxes + volumes
    }

    /// What everything costs an hour now, dollars.
    #[must_use]
    pub fn burn(&self) -> Decimal {
        let boxes: Decimal = self.rentals.iter().map(Rental::hourly_now).sum();
        let alive = self
            .volumes
            .iter()
            .filter(|volume| volume.deleted_at.is_none());
        boxes + alive.map(|volume| volume.hourly).sum::<Decimal>()
    }

    /// Other rates for a box from now on.
    pub fn reprice(&mut self, id: &str, rates: Vec<Rate>) {
        let now = self.now();
        if let Some(rental) = self.rental_mut(id) {
            rental.reprice(rates, now);
        }
    }

    pub(crate) fn halt(&mut self, id: &str) {
        if let Err(error) = self.boxes.stop(id) {
            self.mishaps.push(error.to_string());
        }
    }

    /// Removes what is on a box's disk; a start makes it anew.
    pub(crate) fn wipe(&mut self, id: &str) {
        if let Err(error) = self.boxes.destroy(id) {
            self.mishaps.push(error.to_string());
        }
    }

    pub(super) fn take_gpus(&mut self, machine: u64, gpus: u32) {
        if let Some(machine) = self.machines.iter_mut().find(|it| it.id == machine) {
            machine.free = machine.free.saturating_sub(gpus);
        }
    }

    pub(crate) fn give_gpus(&mut self, machine: u64, gpus: u32) {
        if let Some(machine) = self.machines.iter_mut().find(|it| it.id == machine) {
            machine.free = (machine.free + gpus).min(machine.gpus);
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("World")
            .field("now", &self.now())
            .field("rentals", &self.rentals)
            .field("mishaps", &self.mishaps)
            .finish_non_exhaustive()
    }
}

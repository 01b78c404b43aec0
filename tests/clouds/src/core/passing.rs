//! How time passes: everything that is due happens, at the moment it was due.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::{Phase, Why, World};
use crate::boxes::BoxSpec;

/// Something that happens by itself.
enum Event {
    /// A box is up.
    Ready(usize),
    /// A box is no more.
    Gone(usize),
    /// The owner of a box's machine takes it back.
    ContractEnds(String),
    /// The account is empty.
    Broke,
}

impl World {
    /// Lets everything happen that is due, in order, each at its own moment.
    pub fn settle(&mut self) {
        let now = self.now();
        let outer = self.moment;
        while let Some((at, event)) = self.next_due(now) {
            self.moment = Some(at);
            self.settled_at = at;
            match event {
                Event::Ready(index) => self.run(index, at),
                Event::Gone(index) => self.remove(index, at),
                Event::ContractEnds(id) => {
                    self.stop(&id, Why::ContractEnd);
                }
                Event::Broke => self.stop_all(),
            }
        }
        self.moment = outer;
        self.settled_at = now;
        self.start_waiting();
    }

    /// Lets time pass, and everything happen that falls into it.
    pub fn advance(&mut self, by: Duration) {
        self.settle();
        self.clock.advance(by);
        self.settle();
    }

    /// The earliest thing that isn't later than `now`.
    fn next_due(&self, now: DateTime<Utc>) -> Option<(DateTime<Utc>, Event)> {
        let mut due: Vec<(DateTime<Utc>, Event)> = Vec::new();
        for (index, rental) in self.rentals.iter().enumerate() {
            match rental.phase() {
                Phase::Booting { ready_at: Some(at) } => due.push((*at, Event::Ready(index))),
                Phase::Ending {
                    gone_at: Some(at), ..
                } => due.push((*at, Event::Gone(index))),
                _ => {}
            }
            if let Some(at) = rental.doomed_at.filter(|_| rental.phase().is_alive()) {
                due.push((at, Event::Gone(index)));
            }
            let machine = self.machine(rental.order.machine);
            if let Some(at) = machine.and_then(|machine| machine.contract_end)
                && rental.phase().holds_gpus()
            {
                due.push((at, Event::ContractEnds(rental.id().to_owned())));
            }
        }
        due.extend(self.broke_at().map(|at| (at, Event::Broke)));
        due.retain(|(at, _)| *at <= now);
        due.into_iter().min_by_key(|(at, _)| *at)
    }

    /// When the account will be empty, if a box runs that could be stopped then.
    fn broke_at(&self) -> Option<DateTime<Utc>> {
        if !self
            .rentals
            .iter()
            .any(|rental| rental.phase().holds_gpus())
        {
            return None;
        }
        let left = self.credit - self.total_at(self.settled_at);
        if left <= Decimal::ZERO {
            return Some(self.settled_at);
        }
        let hours = left.checked_div(self.burn())?;
        let milliseconds = (hours * dec!(3600000)).trunc().mantissa();
        let span = TimeDelta::try_milliseconds(i64::try_from(milliseconds).ok()?)?;
        self.settled_at.checked_add_signed(span)
    }

    fn run(&mut self, index: usize, at: DateTime<Utc>) {
        let spec = {
            let rental = &self.rentals[index];
            let machine = self.machine(rental.order.machine);
            BoxSpec::new(rental, machine)
        };
        let started = if self.rentals[index].ssh_refused {
            Ok(self.boxes.refusing())
        } else {
            self.boxes.start(&spec)
        };
        let ssh = match started {
            Ok(ssh) => Some(ssh),
            Err(error) => {
                self.mishaps.push(error.to_string());
                None
            }
        };
        let rental = &mut self.rentals[index];
        rental.ssh = ssh;
        rental.turn(Phase::Running, at);
    }

    fn remove(&mut self, index: usize, at: DateTime<Utc>) {
        let rental = &mut self.rentals[index];
        let id = rental.id().to_owned();
        let held = rental.phase().holds_gpus();
        let (machine, gpus) = (rental.order.machine, rental.order.gpus);
        rental.ssh = None;
        rental.turn(Phase::Gone, at);
        if held {
            self.give_gpus(machine, gpus);
        }
        if let Err(error) = self.boxes.destroy(&id) {
            self.mishaps.push(error.to_string());
        }
    }

    fn stop_all(&mut self) {
        let running = self
            .rentals
            .iter()
            .filter(|rental| rental.phase().holds_gpus());
        let ids: Vec<String> = running.map(|rental| rental.id().to_owned()).collect();
        for id in ids {
            self.stop(&id, Why::Credit);
        }
    }

    fn start_waiting(&mut self) {
        let waiting = self
            .rentals
            .iter()
            .filter(|rental| *rental.phase() == Phase::Waiting);
        let ids: Vec<String> = waiting.map(|rental| rental.id().to_owned()).collect();
        for id in ids {
            self.start(&id);
        }
    }
}

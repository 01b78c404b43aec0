//! How time passes: everything that is due happens, at the moment it was due.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use super::{Phase, Why, World};
use crate::boxes::BoxSpec;

impl World {
    /// Lets everything happen that is due, each at its own time.
    pub fn settle(&mut self) {
        let now = self.now();
        for index in 0..self.rentals.len() {
            let phase = self.rentals[index].phase().clone();
            match phase {
                Phase::Booting { ready_at: Some(at) } if at <= now => self.run(index, at),
                Phase::Ending {
                    gone_at: Some(at), ..
                } if at <= now => self.remove(index, at),
                Phase::Waiting => {
                    let id = self.rentals[index].id().to_owned();
                    self.start(&id);
                }
                _ => {}
            }
        }
        for index in 0..self.rentals.len() {
            let rental = &self.rentals[index];
            if let Some(at) = rental.doomed_at.filter(|at| *at <= now)
                && rental.phase().is_alive()
            {
                self.remove(index, at);
            }
        }
        self.end_contracts(now);
        self.stop_if_broke();
    }

    /// Lets time pass, and everything happen that falls into it.
    pub fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
        self.settle();
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
            Ok(ssh) => ssh,
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

    fn end_contracts(&mut self, now: DateTime<Utc>) {
        let ended: Vec<u64> = self
            .machines
            .iter()
            .filter(|machine| machine.contract_end.is_some_and(|end| end <= now))
            .map(|machine| machine.id)
            .collect();
        let struck: Vec<String> = self
            .rentals
            .iter()
            .filter(|rental| rental.phase().holds_gpus() && ended.contains(&rental.order.machine))
            .map(|rental| rental.id().to_owned())
            .collect();
        for id in struck {
            self.stop(&id, Why::ContractEnd);
        }
    }

    fn stop_if_broke(&mut self) {
        if self.balance() > Decimal::ZERO {
            return;
        }
        let running = self
            .rentals
            .iter()
            .filter(|rental| rental.phase().holds_gpus());
        let ids: Vec<String> = running.map(|rental| rental.id().to_owned()).collect();
        for id in ids {
            self.stop(&id, Why::Credit);
        }
    }
}

//! Faults that strike boxes and accounts, whoever the vendor.

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;

use super::{Fault, Phase, Rental, Why, World};
use crate::boxes::Gpus;

impl World {
    /// Lets a fault happen now: to the box named, or else to all boxes. What isn't such a fault does nothing.
    pub fn strike(&mut self, fault: &Fault, target: Option<&str>) {
        if *fault == Fault::CreditExhausted {
            self.credit -= self.balance().max(Decimal::ZERO);
            self.settle();
            return;
        }
        let struck: Vec<String> = self
            .rentals
            .iter()
            .filter(|rental| target.is_none_or(|id| rental.id() == id))
            .filter(|rental| rental.phase().is_alive())
            .map(|rental| rental.id().to_owned())
            .collect();
        for id in struck {
            self.strike_box(fault, &id);
        }
    }

    fn strike_box(&mut self, fault: &Fault, id: &str) {
        let now = self.now();
        match fault {
            Fault::HostDeath => {
                let machine = self.rental_mut(id).map(|rental| {
                    rental.ssh = None;
                    rental.turn(Phase::Lost, now);
                    rental.order.machine
                });
                let dead = self.machines.iter_mut().find(|it| Some(it.id) == machine);
                if let Some(machine) = dead {
                    machine.online = false;
                }
                self.halt(id);
            }
            Fault::Outbid => {
                let bids = self
                    .rental(id)
                    .is_some_and(|rental| rental.order.bid.is_some());
                if bids && let Some(rental) = self.rental_mut(id) {
                    rental.gpus_wanted = true;
                    self.stop(id, Why::Outbid);
                }
            }
            Fault::ContractEnd => {
                self.stop(id, Why::ContractEnd);
            }
            Fault::GpusTakenAfterStop => self.lose_gpus(id),
            Fault::ZeroGpuResume => {
                if let Some(rental) = self.rental_mut(id) {
                    rental.next_start_without_gpus = true;
                }
            }
            Fault::PriceChange { percent } => self.raise(id, *percent),
            _ => {}
        }
    }

    /// Others take the box's GPUs as soon as it is stopped, or now if it is.
    fn lose_gpus(&mut self, id: &str) {
        let Some(rental) = self.rental_mut(id) else {
            return;
        };
        rental.gpus_wanted = true;
        if matches!(rental.phase(), Phase::Stopped { .. } | Phase::Waiting) && !rental.gpus_taken {
            rental.gpus_taken = true;
            let (machine, gpus) = (rental.order.machine, rental.order.gpus);
            self.take_gpus(machine, gpus);
        }
    }

    /// Whoever has the GPUs of a stopped box gives them back; if it waits for them, it starts.
    pub fn release_gpus(&mut self, id: &str) {
        let Some(rental) = self.rental_mut(id) else {
            return;
        };
        rental.gpus_wanted = false;
        let (machine, gpus) = (rental.order.machine, rental.order.gpus);
        if std::mem::take(&mut rental.gpus_taken) {
            self.give_gpus(machine, gpus);
        }
        self.settle();
    }

    fn raise(&mut self, id: &str, percent: u32) {
        let factor = Decimal::ONE + Decimal::new(i64::from(percent), 2);
        let Some(rental) = self.rental(id) else {
            return;
        };
        let mut rates = rental.rates().to_vec();
        for rate in &mut rates {
            rate.hourly *= factor;
        }
        self.reprice(id, rates);
    }
}

impl Rental {
    /// What a create's faults do to the box it makes.
    pub(crate) fn afflict(&mut self, fault: &Fault, now: DateTime<Utc>) {
        match fault {
            Fault::StuckLoading => self.turn(Phase::Booting { ready_at: None }, now),
            Fault::BrokenHost => self.turn(
                Phase::Broken {
                    message: "Error: OCI runtime create failed: nvidia-container-cli: device error"
                        .to_owned(),
                },
                now,
            ),
            Fault::DiskFullOnPull => self.turn(
                Phase::Broken {
                    message: "Error: failed to register layer: no space left on device".to_owned(),
                },
                now,
            ),
            Fault::SshRefused => self.ssh_refused = true,
            Fault::KeyMissing => self.order.keys.clear(),
            Fault::BrokenGpu => self.gpu_state = Gpus::Broken,
            Fault::LostGpu => self.gpu_state = Gpus::Lost,
            Fault::GpuMissing => self.gpus_now = self.gpus_now.saturating_sub(1),
            Fault::ListingLag { seconds } => {
                let lag = i64::try_from(*seconds).unwrap_or(i64::MAX / 1000);
                self.hidden_until = Some(now + TimeDelta::seconds(lag));
            }
            _ => {}
        }
    }
}

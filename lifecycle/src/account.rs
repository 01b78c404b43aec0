//! What a run has cost, burns and has used, over all its boxes.

use chrono::{DateTime, Utc};
use gpurun_pricing::{
    BilledState, HourlyRate, Hours, Money, Offer, RateCard, RunCost, Usage, run_cost,
};

use crate::run::{Account, RunRecord};

impl RunRecord {
    /// The bill of each box at `now`, the run's own last and the newest of them at the end.
    #[must_use]
    pub fn costs(&self, now: DateTime<Utc>) -> Vec<RunCost> {
        let all = self.spares.iter().chain(&self.accounts);
        all.map(|account| run_cost(&self.usage(account), &account.rate_card, now))
            .collect()
    }

    /// All that was spent until `now`. A run without a box costs nothing.
    #[must_use]
    pub fn spent(&self, now: DateTime<Utc>) -> Money {
        self.costs(now).iter().map(|cost| cost.so_far).sum()
    }

    /// What one box has cost until `now`.
    #[must_use]
    pub fn spent_on(&self, instance: &str, now: DateTime<Utc>) -> Money {
        let its = |account: &&Account| account.instance == instance;
        let accounts = self.accounts.iter().filter(its);
        accounts
            .map(|account| run_cost(&self.usage(account), &account.rate_card, now).so_far)
            .sum()
    }

    /// Of what was [spent](Self::spent): what ends that nobody timed may have been too late by.
    #[must_use]
    pub fn estimated(&self, now: DateTime<Utc>) -> Money {
        self.costs(now).iter().map(|cost| cost.estimated).sum()
    }

    /// What it costs per hour as things stand.
    #[must_use]
    pub fn burn(&self, now: DateTime<Utc>) -> HourlyRate {
        self.costs(now).iter().map(|cost| cost.burn_per_hour).sum()
    }

    /// Hours of a running box until `now`: what [`StopSpec::max_hours`](crate::run::StopSpec) caps.
    #[must_use]
    pub fn running_hours(&self, now: DateTime<Utc>) -> Hours {
        let lines = self.costs(now).into_iter().flat_map(|cost| cost.lines);
        lines
            .filter(|line| line.state == BilledState::Running)
            .map(|line| Hours::from_time_delta(line.until - line.from))
            .sum()
    }

    /// The prices of the box it has, or else of the one it would rent next.
    #[must_use]
    pub fn rate_card(&self) -> Option<&RateCard> {
        let current = self.accounts.last().filter(|account| {
            self.instance
                .as_ref()
                .is_some_and(|instance| instance.id == account.instance)
        });
        let next = || self.next_offer().or(self.spec.offers.first());
        current
            .map(|account| &account.rate_card)
            .or_else(|| next().map(|offer| &offer.card))
    }

    /// The best offer that hasn't been tried in vain.
    #[must_use]
    pub fn next_offer(&self) -> Option<&Offer> {
        let tried = |offer: &&Offer| self.tried.iter().any(|tried| tried.offer == offer.id);
        self.spec.offers.iter().find(|offer| !tried(offer))
    }

    fn usage(&self, account: &Account) -> Usage {
        Usage {
            intervals: account.intervals.clone(),
            disk: self.spec.disk,
            inbound: account.inbound,
            ..Usage::default()
        }
    }
}

impl Account {
    /// When its box was last seen running, if that is the newest of what is known.
    pub(crate) fn seen_running_at(&self) -> Option<DateTime<Utc>> {
        let open = self.intervals.last()?;
        let runs = open.to.is_none() && open.state == BilledState::Running;
        open.certain_until.filter(|_| runs)
    }
}

//! gpurun's side: looks and acts at every poll, is killed now and then, and is held against the truth.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_pricing::Money;

use super::scenario::{Scenario, Trouble};
use super::world::{BoxState, World, progress};
use crate::fixtures::start;
use crate::*;

/// What a story came to.
pub(super) struct Story {
    pub(super) world: World,
    pub(super) run: RunRecord,
    pub(super) plan: Plan,
    /// Every pass in short, for the reader of a failed test.
    pub(super) log: Vec<String>,
    /// The longest that a box ran idle with everything safe and nothing in the way.
    pub(super) idle: TimeDelta,
    pub(super) steps: Vec<(DateTime<Utc>, Step)>,
}

/// Plays `scenario` for `days`, checking at every pass what must never happen.
pub(super) fn play(scenario: Scenario, days: i64) -> Result<Story, String> {
    let gap = match scenario.back_at {
        Some(back_at) => Gap::Declared {
            back_at: start() + TimeDelta::seconds(back_at),
        },
        None => Gap::Unknown,
    };
    let run = RunRecord::new("7f3a", "shapes", scenario.spec.clone(), gap, start());
    let plan = decide(
        &run,
        &crate::fixtures::observation(0.0, InstanceView::Absent),
    );
    let world = World::new(scenario);
    let (log, steps) = (Vec::new(), Vec::new());
    let mut story = Story {
        world,
        run,
        plan,
        log,
        idle: TimeDelta::zero(),
        steps,
    };
    let mut idle_since = None;
    let mut places = 0;
    while story.world.now < start() + TimeDelta::days(days) {
        story.world.settle();
        story.wishes();
        if !story.world.scenario.has(Trouble::Asleep, story.world.now) {
            story.pass(&mut places)?;
            story.check()?;
        }
        story.watch_idle(&mut idle_since);
        if story.run.phase == Phase::Ended && story.world.scenario.wishes.is_empty() {
            break;
        }
        story.world.now += story.pause();
    }
    Ok(story)
}

impl Story {
    fn wishes(&mut self) {
        let now = self.world.now;
        let second = (now - start()).num_seconds();
        let wishes = std::mem::take(&mut self.world.scenario.wishes);
        let (due, later) = wishes.into_iter().partition(|wish| wish.at <= second);
        self.world.scenario.wishes = later;
        for wish in Vec::<super::scenario::Wish>::into_iter(due) {
            match wish.intent {
                Intent::Run => ask_start(&mut self.run, now),
                Intent::Stop => ask_stop(&mut self.run, now),
                Intent::Destroy => ask_destroy(&mut self.run, wish.force, now),
            }
        }
    }

    fn pass(&mut self, places: &mut u32) -> Result<(), String> {
        let seen = self.world.look();
        absorb(&mut self.run, &seen);
        self.plan = decide(&self.run, &seen);
        self.log.push(format!(
            "{} {:?} {}",
            self.world.now, self.plan.verdict.kind, self.plan.verdict.reason
        ));
        lint(&self.run, &seen, &self.plan)
            .map_err(|faults| self.tell(&format!("{faults:?} in {:#?}", self.plan)))?;
        let mut failed = false;
        for action in self.plan.actions.clone() {
            if failed && action.step().needs_earlier_steps() {
                continue;
            }
            begin(&mut self.run, &action, self.world.now);
            if self.killed(places) {
                return Ok(());
            }
            self.would_lose(&action)?;
            self.steps.push((self.world.now, action.step()));
            let result = self.world.act(&action);
            if self.killed(places) {
                return Ok(());
            }
            failed |= !matches!(result, ActionResult::Done { .. });
            self.log.push(format!(
                "{}   {:?} {result:?}",
                self.world.now,
                action.step()
            ));
            finish(&mut self.run, &action, &result, self.world.now);
        }
        Ok(())
    }

    /// `kill -9` between any two lines: what was stored stays, what was done stays done.
    fn killed(&mut self, places: &mut u32) -> bool {
        *places += 1;
        let killed = self.world.scenario.kills.contains(places);
        if killed {
            self.log.push(format!("{}   killed", self.world.now));
        }
        killed
    }

    /// By the truth: an end of a box that takes the only copy of its newest checkpoint along.
    fn would_lose(&self, action: &Action) -> Result<(), String> {
        let world = &self.world;
        let Some(id) = action.target().and_then(|target| target.instance.as_ref()) else {
            return Ok(());
        };
        let Some(one) = world.live().find(|one| one.id == *id) else {
            return Ok(());
        };
        if action.step() != Step::DestroyInstance || one.epoch <= world.pushed {
            return Ok(());
        }
        let stop = &world.scenario.spec.stop;
        let poor = stop
            .max_cost
            .is_some_and(|max| self.run.spent(world.now) >= max);
        let late = stop
            .max_hours
            .is_some_and(|max| self.run.running_hours(world.now) >= max);
        let no_stop = !world.scenario.spec.offers[0].card.stop.exists();
        let grace = TimeDelta::seconds(i64::try_from(stop.grace_seconds).unwrap_or(i64::MAX));
        let ordered = self.run.end_ordered.as_ref().map(|order| order.at);
        let since = ordered.max(Some(self.run.asked_at));
        let wished = self.run.intent == Intent::Destroy;
        let grace_over = since.is_some_and(|at| world.now >= at + grace);
        if poor || (late && no_stop) || (wished && (self.run.force || grace_over)) {
            return Ok(());
        }
        Err(self.tell(&format!(
            "epoch {:?} is lost, {:?} was pushed",
            one.epoch, world.pushed
        )))
    }

    fn check(&self) -> Result<(), String> {
        let live = self.world.live().count();
        if live > 1 {
            return Err(self.tell(&format!("{live} boxes at once")));
        }
        if self.run.phase == Phase::Ended && live > 0 {
            return Err(self.tell("closed, and a box is there"));
        }
        Ok(())
    }

    /// How long a box has been running without use, everything safe, everybody in sight and no provider refusing.
    fn watch_idle(&mut self, since: &mut Option<DateTime<Utc>>) {
        use Trouble::{Asleep, BoxUnreachable, DestroyRefused, ProviderUnreadable, StopRefused};
        let world = &self.world;
        let one = world.live().find(|one| one.state == BoxState::Running);
        let over = one.is_some_and(|one| {
            let training = one.training.as_ref();
            let end =
                training.and_then(|training| progress(training, &world.scenario, world.now).end);
            end.is_some() && one.epoch <= world.pushed
        });
        let hindered = [
            Asleep,
            BoxUnreachable,
            DestroyRefused,
            ProviderUnreadable,
            StopRefused,
        ]
        .iter()
        .any(|trouble| world.scenario.has(*trouble, world.now));
        let wanted =
            self.run.spec.stop.policy == TeardownPolicy::Keep || self.run.phase < Phase::Launched;
        if !over || hindered || wanted {
            *since = None;
            return;
        }
        let from = *since.get_or_insert(world.now);
        self.idle = self.idle.max(world.now - from);
    }

    /// A poll while money burns fast; up to the next appointment while it doesn't.
    fn pause(&self) -> TimeDelta {
        let world = &self.world;
        let poll =
            TimeDelta::seconds(i64::try_from(self.run.spec.stop.poll_seconds).unwrap_or(600));
        let running = world.live().any(|one| one.state == BoxState::Running);
        let second = (world.now - start()).num_seconds();
        let wish = world
            .scenario
            .wishes
            .iter()
            .map(|wish| TimeDelta::seconds(wish.at - second))
            .min();
        let sleepy = if running { poll } else { TimeDelta::hours(6) };
        let appointment = self
            .plan
            .waits
            .iter()
            .filter_map(|wait| wait.until)
            .min()
            .map(|until| until - world.now);
        let next = sleepy
            .min(wish.unwrap_or(sleepy))
            .min(appointment.unwrap_or(sleepy));
        next.clamp(TimeDelta::seconds(30), sleepy)
    }

    /// How much the ledger's bill is off from the provider's.
    pub(super) fn bill_error(&self) -> Money {
        self.run.spent(self.world.now) - self.world.bill()
    }

    pub(super) fn tell(&self, what: &str) -> String {
        let mut log = self.log.clone();
        // What is said again and again is told once.
        log.dedup_by_key(|line| line.split_once(" UTC ").map(|(_, said)| said.to_owned()));
        format!("{what}\n{}", log.join("\n"))
    }
}

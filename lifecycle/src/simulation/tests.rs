//! Stories with a known end, and thousands without one.

use chrono::TimeDelta;
use gpurun_pricing::{Hours, Money, StopSupport};
use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::drive::{Story, play};
use super::scenario::{Fate, Scenario, Trouble, Window, Wish};
use super::world::BoxState;
use crate::fixtures::{spec, start};
use crate::*;

fn story(scenario: Scenario) -> Story {
    play(scenario, 30).unwrap_or_else(|what| panic!("{what}"))
}

/// Looks again before a new box is listed.
fn impatient() -> RunSpec {
    let mut spec = spec();
    spec.stop.poll_seconds = 30;
    spec
}

#[test]
fn a_box_that_is_listed_late_is_not_rented_twice() {
    let mut scenario = Scenario::calm(impatient());
    scenario.list_lag = 119;
    let story = story(scenario);
    assert_eq!(story.world.boxes.len(), 1, "{}", story.tell(""));
}

fn hours_of(story: &Story, step: Step) -> Vec<Hours> {
    let steps = story.steps.iter().filter(|(_, done)| *done == step);
    steps
        .map(|(at, _)| Hours::from_time_delta(*at - start()))
        .collect()
}

#[test]
fn a_calm_run_ends_destroyed_with_the_bill_to_the_cent() {
    let story = story(Scenario::calm(spec()));
    assert_eq!(story.run.phase, Phase::Ended);
    assert_eq!(
        story.run.ended.as_ref().map(|ended| ended.outcome),
        Some(Outcome::Completed)
    );
    assert_eq!(story.world.pushed, Some(20));
    assert_eq!(
        story.bill_error().to_cents(),
        Money::ZERO,
        "{}",
        story.tell("")
    );
    assert!(
        story.idle <= TimeDelta::minutes(10),
        "{}",
        story.tell("idle")
    );
}

#[test]
fn r15_a_failure_is_stopped_and_destroyed_at_break_even() {
    let mut scenario = Scenario::calm(spec());
    scenario.fate = Fate::KilledAfter(10);
    let story = story(scenario);
    let (stopped, destroyed) = (
        hours_of(&story, Step::StopInstance),
        hours_of(&story, Step::DestroyInstance),
    );
    assert_eq!(
        (stopped.len(), destroyed.len()),
        (1, 1),
        "{}",
        story.tell("")
    );
    let apart = destroyed[0] - stopped[0];
    assert!(
        apart >= Hours::new(dec!(14.3)) && apart <= Hours::new(dec!(14.5)),
        "{apart}"
    );
    assert_eq!(story.run.phase, Phase::Ended);
}

#[test]
fn r15_who_comes_back_in_time_resumes_and_who_does_not_rebuilds_at_no_more_than_twice_the_optimum()
{
    let running = spec().offers[0].card.running;
    for (back_after_hours, rebuilt) in [(1, false), (14, false), (168, true)] {
        let mut scenario = Scenario::calm(spec());
        scenario.fate = Fate::KilledAfter(10);
        let back = 3600 + back_after_hours * 3600;
        scenario.wishes = vec![Wish {
            at: back,
            intent: Intent::Run,
            force: false,
        }];
        let story = story(scenario);
        assert_eq!(
            story.run.ended.as_ref().map(|ended| ended.outcome),
            Some(Outcome::Completed),
            "{}",
            story.tell("")
        );
        assert_eq!(story.world.boxes.len() > 1, rebuilt, "{}", story.tell(""));
        // Training, two set-ups and polls cost the same either way; the pause is what the policy decides.
        let disk = story.world.boxes.iter().flat_map(|one| &one.intervals);
        let paused = disk
            .filter(|interval| interval.state == gpurun_pricing::BilledState::Stopped)
            .map(|interval| {
                Hours::from_time_delta(interval.to.unwrap_or(story.world.now) - interval.from)
            })
            .sum::<Hours>();
        let rebuild = Money::new(dec!(1.00));
        let ours = Money::new(dec!(0.0694)) * paused.amount()
            + if rebuilt { rebuild } else { Money::ZERO };
        let optimum = rebuild.min(Money::new(dec!(0.0694)) * Decimal::from(back_after_hours));
        assert!(
            ours <= optimum * dec!(2.05),
            "{ours} against {optimum} after {back_after_hours} h; {running}"
        );
    }
}

#[test]
fn r7_a_kill_at_any_place_leaves_one_box_and_one_training() {
    for place in 1..=16 {
        let mut scenario = Scenario::calm(impatient());
        (scenario.kills, scenario.list_lag) = (vec![place], 60);
        let story = story(scenario);
        assert_eq!(
            story.world.boxes.len(),
            1,
            "{}",
            story.tell(&format!("killed at {place}"))
        );
        assert_eq!(
            story.run.ended.as_ref().map(|ended| ended.outcome),
            Some(Outcome::Completed)
        );
    }
}

#[test]
fn r1_a_create_whose_every_reply_is_lost_makes_one_box() {
    let mut scenario = Scenario::calm(impatient());
    scenario.windows = vec![Window {
        trouble: Trouble::CreateReplyLost,
        from: 0,
        to: 1_000_000,
    }];
    scenario.list_lag = 119;
    let story = story(scenario);
    assert_eq!(story.world.boxes.len(), 1, "{}", story.tell(""));
    assert_eq!(
        story.run.ended.map(|ended| ended.outcome),
        Some(Outcome::Completed)
    );
}

#[test]
fn r20_an_interrupted_box_without_gpus_is_rebuilt_from_the_pushed_set() {
    let mut spec = spec();
    spec.stop.max_relaunches = 2;
    let mut scenario = Scenario::calm(spec);
    scenario.vanishes = vec![5_000];
    let story = story(scenario);
    assert_eq!(story.world.boxes.len(), 2, "{}", story.tell(""));
    assert_eq!(
        story.run.ended.as_ref().map(|ended| ended.outcome),
        Some(Outcome::Completed)
    );
    let resumed = story.world.boxes[1]
        .training
        .as_ref()
        .map(|training| training.from_epoch);
    assert!(
        resumed > Some(5),
        "{resumed:?}: from the pushed set, not from the start"
    );
}

#[test]
fn r24_asleep_for_twelve_hours() {
    let mut scenario = Scenario::calm(spec());
    scenario.windows = vec![Window {
        trouble: Trouble::Asleep,
        from: 1_500,
        to: 1_500 + 43_200,
    }];
    let story = story(scenario);
    assert_eq!(story.world.boxes.len(), 1);
    assert_eq!(hours_of(&story, Step::Launch).len(), 1);
    assert_eq!(
        story.bill_error().to_cents(),
        Money::ZERO,
        "{}",
        story.tell("")
    );
}

fn trouble() -> impl Strategy<Value = Trouble> {
    use Trouble::*;
    prop::sample::select(vec![
        ProviderUnreadable,
        BoxUnreachable,
        DestinationDown,
        DestroyRefused,
        StopRefused,
        CreateReplyLost,
        NoCapacity,
        StartFails,
        ZeroGpus,
        ProofFails,
        AgentDead,
        Asleep,
    ])
}

fn window() -> impl Strategy<Value = Window> {
    let length = prop_oneof![3 => 60i64..7_200, 1 => 7_200i64..200_000];
    (trouble(), 0i64..20_000, length).prop_map(|(trouble, from, length)| Window {
        trouble,
        from,
        to: from + length,
    })
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        Just(Fate::Completes),
        (0u32..30).prop_map(Fate::FailsAfter),
        (0u32..30).prop_map(Fate::KilledAfter),
        (0u32..30).prop_map(Fate::StallsAfter),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    let intent = prop::sample::select(vec![Intent::Run, Intent::Stop, Intent::Destroy]);
    (100i64..100_000, intent, prop::bool::weighted(0.1)).prop_map(|(at, intent, force)| Wish {
        at,
        intent,
        force,
    })
}

prop_compose! {
    fn run_spec()(
        policy in prop::sample::select(vec![
            TeardownPolicy::Default, TeardownPolicy::BreakEven, TeardownPolicy::SkiRental, TeardownPolicy::Learned,
            TeardownPolicy::Destroy, TeardownPolicy::Keep,
        ]),
        max_cost in prop::option::of(1u32..40), max_hours in prop::option::of(1u32..12), can_stop in prop::bool::weighted(0.8),
        max_relaunches in 0u32..3, bare in prop::bool::weighted(0.1), poll in prop::sample::select(vec![45u64, 300, 600]),
    ) -> RunSpec {
        let mut spec = spec();
        spec.stop.policy = policy;
        spec.stop.max_cost = max_cost.map(|dollars| Money::new(Decimal::from(dollars)));
        spec.stop.max_hours = max_hours.map(|hours| Hours::new(Decimal::from(hours)));
        (spec.stop.max_relaunches, spec.stop.poll_seconds) = (max_relaunches, poll);
        if bare {
            spec.launch = None;
        }
        if !can_stop {
            spec.offers.iter_mut().for_each(|offer| offer.card.stop = StopSupport::None);
        }
        spec
    }
}

prop_compose! {
    fn scenario()(
        spec in run_spec(), back_at in prop::option::of(1_000i64..200_000), epochs in 1u32..40,
        epoch_seconds in 60i64..1_200, fate in fate(), windows in prop::collection::vec(window(), 0..5),
        vanishes in prop::collection::vec(0i64..30_000, 0..2), wishes in prop::collection::vec(wish(), 0..4),
        kills in prop::collection::vec(1u32..40, 0..4), list_lag in 0i64..120, boot_seconds in 0i64..600,
    ) -> Scenario {
        Scenario {
            spec, back_at, epochs, epoch_seconds, fate, windows, vanishes, wishes, kills, list_lag, boot_seconds,
        }
    }
}

/// Passes in which every end of a box was refused or nobody was awake are not ours to answer for.
fn hindered(scenario: &Scenario) -> TimeDelta {
    scenario.time_of(Trouble::Asleep)
        + scenario.time_of(Trouble::DestroyRefused)
        + scenario.time_of(Trouble::StopRefused)
}

proptest! {
    /// In any world: never two boxes, nothing lost that a rule doesn't allow, every plan passes the lint, and the run
    /// comes to its end or says that a person is needed.
    #[test]
    fn any_story_ends_well_or_calls_for_a_person(scenario in scenario()) {
        let story = play(scenario.clone(), 5).map_err(TestCaseError::fail)?;
        let over = story.run.phase == Phase::Ended && story.world.live().count() == 0;
        let told = !story.plan.attention.is_empty() || story.plan.waits.iter().any(|wait| wait.until.is_some());
        prop_assert!(over || told, "{}", story.tell("neither over nor told"));
        let kept = story.world.live().any(|one| one.state == BoxState::Running);
        let keeps = scenario.spec.stop.policy == TeardownPolicy::Keep || !scenario.spec.offers[0].card.stop.exists();
        let waits_for_a_person = !story.plan.attention.is_empty();
        prop_assert!(!kept || (keeps && waits_for_a_person), "{}", story.tell("a box still runs"));
    }

    /// The bill never passes its cap by more than one interval at the running rate, whatever can't be seen.
    #[test]
    fn a_cap_on_money_bounds_the_bill(mut scenario in scenario(), dollars in 1u32..30) {
        scenario.spec.stop.max_cost = Some(Money::new(Decimal::from(dollars)));
        let story = play(scenario.clone(), 5).map_err(TestCaseError::fail)?;
        let card = &scenario.spec.offers[0].card;
        let poll = TimeDelta::seconds(i64::try_from(scenario.spec.stop.poll_seconds).expect("small"));
        // Set-up steps run to their end, and what is staged is paid at once.
        let set_up = TimeDelta::seconds(2 * 435);
        let late = card.running.charge_for(poll + set_up + hindered(&scenario) + TimeDelta::seconds(scenario.list_lag));
        let staged = Money::new(dec!(0.129)) * dec!(2);
        let bound = Money::new(Decimal::from(dollars)) + late + staged;
        prop_assert!(story.world.bill() <= bound, "{} of {bound}\n{}", story.world.bill(), story.tell(""));
    }

    /// Where only the training misbehaves, a box never idles longer than two looks once everything is safe, and the
    /// ledger's bill is the provider's.
    #[test]
    fn an_idle_box_is_ended_at_once_and_billed_truly(spec in run_spec(), fate in fate(), epochs in 1u32..40) {
        let poll = TimeDelta::seconds(i64::try_from(spec.stop.poll_seconds).expect("small"));
        let calm = Scenario { fate, epochs, ..Scenario::calm(spec) };
        let story = play(calm, 5).map_err(TestCaseError::fail)?;
        prop_assert!(story.idle <= poll * 2, "{}", story.tell("idle"));
        prop_assert_eq!(story.bill_error().to_cents(), Money::ZERO, "{}", story.tell(""));
    }
}

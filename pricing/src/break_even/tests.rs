use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::*;
use crate::money::{HourlyRate, Money};
use crate::quantity::{Gigabytes, Hours, HoursPerMonth, Probability};
use crate::rate_card::StopSupport;
use crate::rate_card::tests::measured;

fn chance(value: Decimal) -> RestartOdds {
    RestartOdds::constant(Probability::new(value).expect("a probability"))
}

fn terms() -> RebuildTerms {
    RebuildTerms {
        setup: Hours::from_minutes(dec!(15)),
        resume: Hours::ZERO,
        retry: Money::ZERO,
        inbound: Gigabytes::new(dec!(43)),
    }
}

fn measured_box(month: HoursPerMonth) -> StopCosts {
    StopCosts::new(&measured(month), Gigabytes::new(dec!(250)), &terms())
}

fn as_billed() -> StopCosts {
    StopCosts {
        stopped: HourlyRate::new(dec!(0.0694)),
        ..measured_box(HoursPerMonth::THIRTY_DAYS)
    }
}

fn break_even(costs: &StopCosts, odds: &RestartOdds) -> String {
    costs
        .break_even(odds)
        .map_or_else(|| "never".into(), Hours::in_column)
}

#[test]
fn the_measured_box_breaks_even_as_it_was_measured() {
    let costs = measured_box(HoursPerMonth::THIRTY_DAYS);
    assert_eq!(
        costs.rebuild,
        Money::new(dec!(0.9997)),
        "0.25 x 3.4828 + 43 x 0.003"
    );
    assert_eq!(costs.rebuild.to_string(), "$1.00");
    let certain = chance(dec!(1));
    assert_eq!(break_even(&costs, &certain), "14.4");
    assert_eq!(
        break_even(&measured_box(HoursPerMonth::TWELFTH_OF_A_YEAR), &certain),
        "14.6"
    );
}

#[test]
fn a_restart_that_may_fail_shortens_it() {
    let costs = as_billed();
    let table = [
        (dec!(0.9), "13.0"),
        (dec!(0.7), "10.1"),
        (dec!(0.47), "6.8"),
        (dec!(0.2), "2.9"),
        (dec!(0), "0.0"),
    ];
    for (probability, hours) in table {
        assert_eq!(
            break_even(&costs, &chance(probability)),
            hours,
            "p = {probability}"
        );
    }
    assert_eq!(
        decide(&costs, &chance(dec!(0)), Gap::Unknown).action,
        Action::Destroy,
        "p = 0: at once"
    );
}

#[test]
fn a_declared_gap_compares_the_costs() {
    let costs = measured_box(HoursPerMonth::TWELFTH_OF_A_YEAR);
    let verdict = |hours, p| decide(&costs, &chance(p), Gap::Declared(Hours::new(hours)));
    let back_in_ten = verdict(dec!(10), dec!(1));
    assert!(matches!(back_in_ten.action, Action::Stop { .. }));
    assert_eq!(
        back_in_ten.reason,
        "stop 10 h x $0.0685/h = $0.68; destroy, then rebuild for $1.00: stop saves $0.32"
    );
    let back_tomorrow = verdict(dec!(24), dec!(1));
    assert_eq!(back_tomorrow.action, Action::Destroy);
    assert_eq!(
        back_tomorrow.reason,
        "stop 24 h x $0.0685/h = $1.64; destroy, then rebuild for $1.00: destroy saves $0.64"
    );
    let scarce = verdict(dec!(12), dec!(0.7));
    assert_eq!(
        scarce.action,
        Action::Destroy,
        "the same twelve hours on scarce hardware"
    );
    assert_eq!(
        scarce.reason,
        "stop 12 h x $0.0685/h + 0.3 x $1.00 = $1.12; destroy, then rebuild for $1.00: destroy saves $0.12"
    );
}

#[test]
fn a_box_keeps_running_only_for_less_than_a_resume_takes() {
    let mut costs = measured_box(HoursPerMonth::TWELFTH_OF_A_YEAR);
    costs.resume = costs.running * Hours::from_minutes(dec!(5));
    let verdict = |minutes| {
        decide(
            &costs,
            &chance(dec!(1)),
            Gap::Declared(Hours::from_minutes(minutes)),
        )
    };
    let short = verdict(dec!(4));
    assert_eq!(short.action, Action::Keep);
    assert_eq!(
        short.reason,
        "keep 4 min x $3.4828/h = $0.23; stop 4 min x $0.0685/h + $0.29 = $0.29: keep saves $0.06"
    );
    assert!(matches!(verdict(dec!(6)).action, Action::Stop { .. }));
    let costs = StopCosts {
        stop: StopSupport::None,
        ..costs
    };
    let without_stop = |minutes| {
        decide(
            &costs,
            &chance(dec!(1)),
            Gap::Declared(Hours::from_minutes(minutes)),
        )
    };
    assert_eq!(without_stop(dec!(6)).action, Action::Keep);
    assert_eq!(without_stop(dec!(30)).action, Action::Destroy);
    assert!(
        without_stop(dec!(30)).reason.contains("there is no stop"),
        "{}",
        without_stop(dec!(30)).reason
    );
}

#[test]
fn an_unknown_gap_is_ski_rental_with_its_sum() {
    let costs = measured_box(HoursPerMonth::TWELFTH_OF_A_YEAR);
    let verdict = decide(&costs, &chance(dec!(1)), Gap::Unknown);
    assert_eq!(verdict.rule, Rule::SkiRental);
    assert_eq!(
        verdict.reason,
        "no return time given: $1.00 / $0.0685/h = 14.6 h of disk, then it has cost what it is worth; \
         who never returns loses $1.00 at most"
    );
    let threshold = verdict.break_even.expect("a threshold");
    assert!(
        !verdict
            .action
            .destroy_is_due(threshold - Hours::new(dec!(0.001)))
    );
    assert!(verdict.action.destroy_is_due(threshold));

    let mut full = costs.clone();
    full.resume = Money::new(dec!(0.29));
    full.retry = Money::new(dec!(0.10));
    let verdict = decide(&full, &chance(dec!(0.7)), Gap::Unknown);
    assert!(
        verdict
            .reason
            .contains("0.7 x ($1.00 - $0.29) - 0.3 x $0.10 = $0.47; $0.47 / $0.0685/h = 6.8 h"),
        "{}",
        verdict.reason
    );
    let hopeless = decide(&full, &chance(dec!(0.1)), Gap::Unknown);
    assert_eq!(hopeless.action, Action::Destroy);
    assert!(
        hopeless
            .reason
            .contains("0.1 x ($1.00 - $0.29) - 0.9 x $0.10 = -$0.02"),
        "{}",
        hopeless.reason
    );
}

#[test]
fn a_provider_without_stop_destroys_and_a_free_disk_is_kept() {
    let mut costs = measured_box(HoursPerMonth::TWELFTH_OF_A_YEAR);
    costs.stop = StopSupport::None;
    let verdict = decide(&costs, &chance(dec!(1)), Gap::Unknown);
    assert_eq!(
        (verdict.action, verdict.break_even),
        (Action::Destroy, None)
    );
    costs.stop = StopSupport::KeepsDisk;
    costs.stopped = HourlyRate::ZERO;
    let verdict = decide(&costs, &chance(dec!(0.5)), Gap::Unknown);
    assert_eq!(
        verdict.action,
        Action::Stop {
            destroy_after: None
        }
    );
    assert!(!verdict.action.destroy_is_due(Hours::new(dec!(100000))));
    costs.resume = Money::new(dec!(5));
    assert_eq!(
        decide(&costs, &chance(dec!(0.5)), Gap::Unknown).action,
        Action::Destroy,
        "a resume dearer than a rebuild"
    );
}

#[test]
fn where_only_a_volume_is_kept_a_resume_installs_again() {
    let mut card = measured(HoursPerMonth::TWELFTH_OF_A_YEAR);
    card.stop = StopSupport::KeepsVolumeOnly;
    let costs = StopCosts::new(&card, Gigabytes::new(dec!(250)), &terms());
    assert_eq!(costs.resume, Money::new(dec!(0.8707)));
    assert_eq!(
        break_even(&costs, &chance(dec!(1))),
        "1.9",
        "only the 43 GB are saved: $0.129 / $0.0685/h"
    );
}

fn falling() -> RestartOdds {
    let step = |until: Option<Decimal>, chance| RestartStep {
        until: until.map(Hours::new),
        chance: Probability::new(chance).expect("a probability"),
    };
    RestartOdds::from_steps(vec![
        step(Some(dec!(1)), dec!(0.85)),
        step(Some(dec!(14)), dec!(0.69)),
        step(None, dec!(0.23)),
    ])
    .expect("falling steps")
}

#[test]
fn odds_that_fall_with_the_gap_cut_the_threshold_where_they_fall() {
    let costs = as_billed();
    assert_eq!(
        break_even(&costs, &falling()),
        "9.9",
        "0.69 x 0.9997 / 0.0694, within the second step"
    );
    let cheap = StopCosts {
        stopped: HourlyRate::new(dec!(0.03)),
        ..as_billed()
    };
    assert_eq!(
        break_even(&cheap, &falling()),
        "14.0",
        "beyond 14 h the disk is worth 0.23, less than the 0.42 paid"
    );
    let verdict = decide(&cheap, &falling(), Gap::Unknown);
    assert!(
        verdict
            .reason
            .contains("after 14 h the disk has cost $0.42 and is worth only 0.23 x $1.00 = $0.23"),
        "{}",
        verdict.reason
    );
    let cheaper = StopCosts {
        stopped: HourlyRate::new(dec!(0.01)),
        ..as_billed()
    };
    assert_eq!(
        break_even(&cheaper, &falling()),
        "23.0",
        "still worth it in the last step"
    );
}

#[test]
fn steps_that_rise_or_end_are_refused() {
    let step = |until: Option<i64>, tenths: i64| RestartStep {
        until: until.map(|hours| Hours::new(Decimal::from(hours))),
        chance: Probability::new(Decimal::new(tenths, 1)).expect("a probability"),
    };
    let refused = |steps: &[RestartStep]| RestartOdds::from_steps(steps.to_vec()).is_err();
    assert!(refused(&[]));
    assert!(refused(&[step(Some(1), 5)]));
    assert!(refused(&[step(Some(1), 5), step(None, 6)]));
    assert!(refused(&[
        step(Some(2), 5),
        step(Some(2), 4),
        step(None, 3)
    ]));
    assert!(refused(&[step(None, 5), step(None, 4)]));
    assert!(!refused(&[step(Some(1), 5), step(None, 5)]));
}

fn returned(hours: &[i64]) -> Vec<PastGap> {
    hours
        .iter()
        .map(|hours| PastGap::Returned(Hours::new(Decimal::from(*hours))))
        .collect()
}

fn trust(lambda: Decimal) -> Trust {
    Trust::new(Probability::new(lambda).expect("a probability")).expect("not zero")
}

#[test]
fn history_moves_the_threshold_within_its_bounds() {
    let costs = as_billed();
    let odds = chance(dec!(1));
    let destroy_after = |gaps: &[PastGap], lambda| match decide(
        &costs,
        &odds,
        Gap::History {
            gaps,
            trust: trust(lambda),
        },
    ) {
        Verdict {
            action: Action::Stop {
                destroy_after: Some(hours),
            },
            rule,
            ..
        } => (rule, hours.in_column()),
        other => panic!("{other:?}"),
    };
    let overnight = returned(&[12, 13, 13, 14, 14, 12]);
    assert_eq!(
        destroy_after(&overnight, dec!(0.5)),
        (Rule::Learned, "14.0".into()),
        "every one returned within 14 h"
    );
    let learned = decide(
        &costs,
        &odds,
        Gap::History {
            gaps: &overnight,
            trust: trust(dec!(0.5)),
        },
    );
    assert_eq!(
        learned.reason,
        "your last 6 gaps cost least with 14 h x $0.0694/h = $0.97 of disk; ski rental says 14.4 h; lambda 0.5, so \
         never more than 3 times the best choice, and $0.97 if you never return"
    );
    let weekends = returned(&[60, 61, 62, 63, 60]);
    assert_eq!(
        destroy_after(&weekends, dec!(0.5)),
        (Rule::Learned, "7.2".into()),
        "lambda x 14.4: as early as allowed"
    );
    let mornings = returned(&[16, 16, 16, 15, 2, 1, 2, 1, 1, 1, 1]);
    assert_eq!(
        destroy_after(&mornings, dec!(1)),
        (Rule::Learned, "14.4".into()),
        "lambda 1 is ski rental"
    );
    assert_eq!(
        destroy_after(&returned(&[1, 2]), dec!(0.5)),
        (Rule::SkiRental, "14.4".into()),
        "too few to learn from"
    );
    let lost = [PastGap::Never; 6];
    assert_eq!(
        destroy_after(&lost, dec!(0.1)),
        (Rule::Learned, "1.4".into())
    );
}

#[test]
fn a_lambda_of_zero_has_no_worst_case() {
    assert!(Trust::new(Probability::NEVER).is_err());
    assert!(serde_json::from_str::<Trust>("\"0\"").is_err());
    assert!(serde_json::from_str::<Trust>("0.5").is_ok());
}

/// What a verdict costs a person who returns after `gap`; one who returns at the very threshold still finds the disk.
fn paid(costs: &StopCosts, odds: &RestartOdds, verdict: &Verdict, gap: Hours) -> Money {
    match verdict.action {
        Action::Stop { destroy_after }
            if destroy_after.is_none_or(|threshold| gap <= threshold) =>
        {
            costs.stopped * gap + costs.comeback(odds.after(gap))
        }
        Action::Stop { destroy_after } => {
            costs.stopped * destroy_after.unwrap_or_default() + costs.rebuild
        }
        Action::Destroy => costs.rebuild,
        Action::Keep => panic!("only a declared gap keeps a box running"),
    }
}

/// The cheaper of stop and destroy for one who knows `gap`, but not whether a restart will work.
fn clairvoyant(costs: &StopCosts, odds: &RestartOdds, gap: Hours) -> Money {
    costs
        .rebuild
        .min(costs.stopped * gap + costs.comeback(odds.after(gap)))
}

fn threshold(verdict: &Verdict) -> Option<Hours> {
    match verdict.action {
        Action::Stop { destroy_after } => destroy_after,
        Action::Destroy | Action::Keep => None,
    }
}

/// Gaps at which a policy's worst case can lie: a random one, and those right before and after anything changes.
fn telling_gaps(odds: &RestartOdds, threshold: Option<Hours>, gap: i64) -> Vec<Hours> {
    let changes = odds
        .steps()
        .iter()
        .filter_map(|step| step.until)
        .chain(threshold);
    let moment = Hours::new(dec!(0.0000000000001));
    let around = changes.flat_map(|change| [change, change + moment]);
    around.chain([Hours::new(Decimal::new(gap, 2))]).collect()
}

/// Room for the last of 28 digits.
fn at_most(left: Money, right: Money) -> bool {
    left.amount() <= right.amount() + dec!(0.0000000001)
}

prop_compose! {
    fn any_costs()(running in 1i64..100_000, stopped in 0i64..5_000, rebuild in 0i64..100_000, resume in 0i64..100_000, retry in 0i64..20_000)
        -> StopCosts {
        let money = |amount| Money::new(Decimal::new(amount, 4));
        StopCosts {
            running: HourlyRate::new(Decimal::new(running, 4)),
            stopped: HourlyRate::new(Decimal::new(stopped, 4)),
            rebuild: money(rebuild),
            resume: money(resume),
            retry: money(retry),
            stop: StopSupport::KeepsDisk,
        }
    }
}

prop_compose! {
    fn any_odds()(mut chances in prop::collection::vec(0i64..=100, 1..5), lengths in prop::collection::vec(1i64..2_000, 4)) -> RestartOdds {
        chances.sort_unstable_by(|left, right| right.cmp(left));
        let last = chances.len() - 1;
        let mut until = 0;
        let steps = chances.iter().enumerate().map(|(index, percent)| {
            until += lengths[index.min(3)];
            RestartStep {
                until: (index < last).then(|| Hours::new(Decimal::new(until, 2))),
                chance: Probability::new(Decimal::new(*percent, 2)).expect("a percentage"),
            }
        });
        RestartOdds::from_steps(steps.collect()).expect("sorted")
    }
}

proptest! {
    #[test]
    fn ski_rental_is_never_dearer_than_twice_the_clairvoyant(
        costs in any_costs(), odds in any_odds(), gap in 0i64..1_000_000,
    ) {
        let verdict = decide(&costs, &odds, Gap::Unknown);
        for gap in telling_gaps(&odds, threshold(&verdict), gap) {
            let (ours, best) = (paid(&costs, &odds, &verdict, gap), clairvoyant(&costs, &odds, gap));
            prop_assert!(at_most(ours, best * dec!(2)), "{ours} against {best} at {gap}: {verdict:?}");
        }
    }

    #[test]
    fn one_who_never_returns_loses_at_most_what_the_disk_was_worth(costs in any_costs(), odds in any_odds()) {
        if let Some(threshold) = threshold(&decide(&costs, &odds, Gap::Unknown)) {
            let worth = costs.worth(odds.after(threshold)).or_zero();
            prop_assert!(at_most(costs.stopped * threshold, worth));
        }
    }

    #[test]
    fn stop_is_better_up_to_break_even_and_nowhere_beyond(
        costs in any_costs(), odds in any_odds(), gap in 1i64..1_000_000,
    ) {
        let gap = Hours::new(Decimal::new(gap, 2));
        let stop = costs.stopped * gap + costs.comeback(odds.after(gap));
        let within = costs.break_even(&odds).is_none_or(|break_even| gap <= break_even);
        // At the very break-even both cost the same, but for the last digit.
        let difference = (stop - costs.rebuild).amount();
        if difference.abs() > dec!(0.0000000001) {
            prop_assert_eq!(within, difference < Decimal::ZERO);
        }
    }

    #[test]
    fn a_declared_gap_gets_the_cheapest_choice(costs in any_costs(), odds in any_odds(), gap in 0i64..100_000) {
        let verdict = decide(&costs, &odds, Gap::Declared(Hours::new(Decimal::new(gap, 2))));
        let compared = verdict.compared.expect("compared");
        let stop = compared.stop.expect("there is a stop");
        let chosen = match verdict.action {
            Action::Keep => compared.keep,
            Action::Stop { .. } => stop,
            Action::Destroy => compared.destroy,
        };
        prop_assert_eq!(chosen, compared.keep.min(stop).min(compared.destroy));
    }

    #[test]
    fn dearer_disks_shorter_restarts_and_cheaper_rebuilds_never_lengthen_a_stop(
        costs in any_costs(), percent in 0i64..100, more in 1i64..1_000,
    ) {
        let odds = |percent| chance(Decimal::new(percent, 2));
        let hours = |costs: &StopCosts, percent| costs.break_even(&odds(percent)).unwrap_or(Hours::new(Decimal::MAX));
        let base = hours(&costs, percent);
        let dearer_disk = StopCosts { stopped: costs.stopped + HourlyRate::new(Decimal::new(more, 4)), ..costs.clone() };
        let dearer_rebuild = StopCosts { rebuild: costs.rebuild + Money::new(Decimal::new(more, 4)), ..costs.clone() };
        prop_assert!(hours(&dearer_disk, percent) <= base);
        prop_assert!(hours(&dearer_rebuild, percent) >= base);
        if costs.rebuild + costs.retry >= costs.resume {
            prop_assert!(hours(&costs, percent + 1) >= base);
        }
    }

    #[test]
    fn learned_keeps_its_worst_case(
        costs in any_costs(), odds in any_odds(), history in prop::collection::vec(prop::option::of(1i64..400), 5..12),
        percent in 1i64..=100, gap in 0i64..1_000_000,
    ) {
        // In hundredths of the break-even gap, where the bounds are.
        let unit = costs.break_even(&odds).unwrap_or(Hours::new(dec!(10))) * dec!(0.01);
        let gap_of = |percent: Option<i64>| percent.map_or(PastGap::Never, |percent| PastGap::Returned(unit * Decimal::from(percent)));
        let gaps: Vec<PastGap> = history.into_iter().map(gap_of).collect();
        let lambda = Decimal::new(percent, 2);
        let verdict = decide(&costs, &odds, Gap::History { gaps: &gaps, trust: trust(lambda) });
        for gap in telling_gaps(&odds, threshold(&verdict), gap) {
            let (ours, best) = (paid(&costs, &odds, &verdict, gap), clairvoyant(&costs, &odds, gap));
            prop_assert!(at_most(ours * lambda, best * (lambda + Decimal::ONE)), "{ours} against {best} at {gap}: {verdict:?}");
        }
    }

    #[test]
    fn learned_is_near_the_best_when_history_holds(costs in any_costs(), percent in 1i64..=100, gap in 1i64..100_000, chances in 0i64..=100) {
        let odds = chance(Decimal::new(chances, 2));
        let gap = Hours::new(Decimal::new(gap, 2));
        let lambda = Decimal::new(percent, 2);
        let gaps = [PastGap::Returned(gap); MIN_HISTORY];
        let verdict = decide(&costs, &odds, Gap::History { gaps: &gaps, trust: trust(lambda) });
        let ours = paid(&costs, &odds, &verdict, gap);
        let best = clairvoyant(&costs, &odds, gap);
        prop_assert!(at_most(ours, best * (lambda + Decimal::ONE)), "{ours} against {best}: {verdict:?}");
    }
}

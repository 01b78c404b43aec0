//! Against one who knows when the person comes back.

use super::*;

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

//! The measured box, and what each policy makes of it.

use super::*;

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

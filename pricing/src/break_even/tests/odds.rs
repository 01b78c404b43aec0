//! Restarts that may fail, the more the longer the pause.

use super::*;

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

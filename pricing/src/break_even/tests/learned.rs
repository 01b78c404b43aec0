//! What a person's own pauses teach.

use super::*;

fn returned(hours: &[i64]) -> Vec<PastGap> {
    hours
        .iter()
        .map(|hours| PastGap::Returned(Hours::new(Decimal::from(*hours))))
        .collect()
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

//! The names LibreYOLO writes the figures under.

use super::coco::CocoSummary;

/// Every `metrics/` key of a validated epoch, in LibreYOLO's order and meaning.
///
/// Beware of two: `precision` is the mean average precision over IoU 0.50 to 0.95, and `recall` the average
/// recall at 100 detections; neither is a precision or a recall at some confidence.
pub fn metrics(summary: &CocoSummary) -> Vec<(&'static str, f64)> {
    // Their two aliases are 0, not -1, where there is nothing to measure.
    let (precision, recall) = (summary.ap.max(0.0), summary.ar100.max(0.0));
    vec![
        ("metrics/precision", precision),
        ("metrics/recall", recall),
        ("metrics/mAP50-95", summary.ap),
        ("metrics/mAP50", summary.ap50),
        ("metrics/mAP75", summary.ap75),
        ("metrics/precision(B)", precision),
        ("metrics/recall(B)", recall),
        ("metrics/mAP50(B)", summary.ap50),
        ("metrics/mAP50-95(B)", summary.ap),
        ("metrics/mAP_small", summary.ap_small),
        ("metrics/mAP_medium", summary.ap_medium),
        ("metrics/mAP_large", summary.ap_large),
        ("metrics/AR1", summary.ar1),
        ("metrics/AR10", summary.ar10),
        ("metrics/AR100", recall),
        ("metrics/AR_max_det", summary.ar),
        ("metrics/max_det", summary.max_detections as f64),
        ("metrics/AR_small", summary.ar_small),
        ("metrics/AR_medium", summary.ar_medium),
        ("metrics/AR_large", summary.ar_large),
        ("metrics/best_conf", summary.best_confidence),
        ("metrics/best_conf_f1", summary.best_f1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::evaluate;

    /// The keys of a validated epoch in a `metrics.jsonl` of LibreYOLO 1.6.0.
    const KEYS: [&str; 22] = [
        "precision",
        "recall",
        "mAP50-95",
        "mAP50",
        "mAP75",
        "precision(B)",
        "recall(B)",
        "mAP50(B)",
        "mAP50-95(B)",
        "mAP_small",
        "mAP_medium",
        "mAP_large",
        "AR1",
        "AR10",
        "AR100",
        "AR_max_det",
        "max_det",
        "AR_small",
        "AR_medium",
        "AR_large",
        "best_conf",
        "best_conf_f1",
    ];

    #[test]
    fn keys_are_libreyolos_and_nothing_found_is_zero() {
        let all = metrics(&evaluate(&[], &[], 100));
        let keys: Vec<&str> = all
            .iter()
            .map(|(key, _)| key.strip_prefix("metrics/").expect("prefixed"))
            .collect();
        assert_eq!(keys, KEYS);
        for (key, value) in all {
            assert_eq!(
                value,
                if key == "metrics/max_det" { 100.0 } else { 0.0 },
                "{key}"
            );
        }
    }
}

use std::io::Write;
use std::process::{Command, Stdio};

use fastrand::Rng;
use serde_json::{Value, json};

use super::*;

/// What pycocotools may differ by: it sums in another order.
const TOLERANCE: f64 = 1e-9;

type Case = (Vec<GroundTruth>, Vec<Detection>);

fn read(case: &Value) -> Case {
    let rows =
        |key: &str| -> Vec<Vec<Value>> { serde_json::from_value(case[key].clone()).expect("rows") };
    let index = |value: &Value| value.as_u64().expect("an index") as usize;
    let truths = rows("truths").into_iter().map(|row| {
        let xywh: [f64; 4] = serde_json::from_value(row[2].clone()).expect("a box");
        GroundTruth {
            image_id: index(&row[0]),
            class: index(&row[1]),
            xywh,
            // Text labels have neither.
            area: row
                .get(3)
                .and_then(Value::as_f64)
                .unwrap_or(xywh[2] * xywh[3]),
            crowd: row.get(4).and_then(Value::as_bool).unwrap_or(false),
        }
    });
    let detections = rows("detections").into_iter().map(|row| Detection {
        image_id: index(&row[0]),
        class: index(&row[1]),
        score: row[2].as_f64().expect("a score") as f32,
        corners: serde_json::from_value(row[3].clone()).expect("corners"),
    });
    (truths.collect(), detections.collect())
}

/// The figures in pycocotools' order, then AP and AR of up to 300 detections.
fn figures((truths, detections): &Case) -> [f64; 14] {
    let summary = evaluate(truths, detections, 100);
    let more = evaluate(truths, detections, 300);
    assert_eq!(
        [more.ar1, more.ar10, more.ar100],
        [summary.ar1, summary.ar10, summary.ar100]
    );
    [
        summary.ap,
        summary.ap50,
        summary.ap75,
        summary.ap_small,
        summary.ap_medium,
        summary.ap_large,
        summary.ar1,
        summary.ar10,
        summary.ar,
        summary.ar_small,
        summary.ar_medium,
        summary.ar_large,
        more.ap,
        more.ar,
    ]
}

fn assert_equal(got: [f64; 14], want: &Value, name: &str) {
    let want: Vec<f64> = serde_json::from_value(want.clone()).expect("figures");
    assert_eq!(want.len(), got.len());
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (got - want).abs() < TOLERANCE,
            "figure {index} of {name}: {got}, pycocotools {want}"
        );
    }
}

#[test]
fn figures_equal_pycocotools() {
    let golden: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/data/coco_golden.json"))
            .expect("a list of cases");
    assert_eq!(golden.len(), 5);
    for (index, case) in golden.iter().enumerate() {
        assert_equal(
            figures(&read(case)),
            &case["figures"],
            &format!("case {index}"),
        );
    }
}

fn random_case(seed: u64) -> Value {
    let mut random = Rng::with_seed(seed);
    let (images, classes) = (random.usize(1..8), random.usize(1..5));
    let (mut truths, mut detections) = (Vec::new(), Vec::new());
    for image in 0..images {
        for _ in 0..random.usize(0..9) {
            let [x, y] = [(); 2].map(|()| f64::from(random.u32(0..400)));
            let [w, h] = [(); 2].map(|()| f64::from(random.u32(8..230)));
            let class = random.usize(..classes);
            let area = w * h * random.f64();
            truths.push(json!([
                image,
                class,
                [x, y, w, h],
                area,
                random.u8(..) < 40
            ]));
            for _ in 0..random.usize(0..4) {
                // Whole pixels and coarse scores give equal overlaps and equal scores.
                let mut near =
                    |edge: f64, side: f64| (edge + (random.f64() - 0.5) * side * 0.3).round();
                let corners = [near(x, w), near(y, h), near(x + w, w), near(y + h, h)];
                let class = if random.u8(..) < 220 {
                    class
                } else {
                    random.usize(..classes)
                };
                detections.push(json!([
                    image,
                    class,
                    f64::from(random.u8(0..32)) / 32.0,
                    corners
                ]));
            }
        }
    }
    detections.push(json!([0, 0, 0.5, [0.0, 0.0, 9.0, 9.0]]));
    json!({ "images": images, "classes": classes, "truths": truths, "detections": detections })
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
fn figures_equal_pycocotools_live() {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/make_coco_golden.py"
    );
    let python = std::env::var("GPURUN_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python)
        .args(["-c", "import pycocotools.cocoeval"])
        .stderr(Stdio::null())
        .status();
    if !has.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: {python} has no pycocotools (GPURUN_PYTHON names another)");
    }
    let cases: Vec<Value> = (0..40).map(random_case).collect();
    let mut child = Command::new(&python)
        .args([script, "--figures"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let input = serde_json::to_vec(&cases).expect("serialises");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(&input)
        .expect("python reads");
    let output = child.wait_with_output().expect("python ends");
    assert!(output.status.success());
    let expected: Vec<Value> =
        serde_json::from_slice(&output.stdout).expect("figures of each case");
    assert_eq!(expected.len(), cases.len());
    for (seed, (case, expected)) in cases.iter().zip(&expected).enumerate() {
        assert_equal(figures(&read(case)), expected, &format!("seed {seed}"));
    }
}

#[test]
fn perfect_detections_score_one_and_the_best_confidence_is_the_lowest_right_one() {
    let truths: Vec<GroundTruth> = (0..4)
        .map(|image_id| GroundTruth {
            image_id,
            class: 1,
            xywh: [10.0, 10.0, 50.0, 50.0],
            area: 2500.0,
            crowd: false,
        })
        .collect();
    let detection = |image_id: usize, score, corners| Detection {
        image_id,
        class: 1,
        score,
        corners,
    };
    let mut found: Vec<Detection> = (0..4)
        .map(|image_id| {
            detection(
                image_id,
                0.5 + image_id as f32 / 10.0,
                [10.0, 10.0, 60.0, 60.0],
            )
        })
        .collect();
    found.push(detection(0, 0.25, [200.0, 200.0, 210.0, 210.0]));
    let summary = evaluate(&truths, &found, 100);
    assert!(
        (summary.ap - 1.0).abs() < 1e-12 && (summary.ar1 - 1.0).abs() < 1e-12,
        "{summary:?}"
    );
    assert_eq!((summary.ap_large, summary.ap_medium > 0.99), (-1.0, true));
    assert_eq!((summary.best_confidence, summary.best_f1), (0.5, 1.0));
    // A class without any box counts as wrong for F1, but not for the figures.
    found.push(Detection {
        class: 0,
        ..detection(0, 0.9, [0.0, 0.0, 5.0, 5.0])
    });
    let summary = evaluate(&truths, &found, 100);
    assert!((summary.ap - 1.0).abs() < 1e-12 && summary.best_f1 < 1.0);
}

#[test]
fn nothing_found_is_zero_and_nothing_there_is_minus_one() {
    let truth = GroundTruth {
        image_id: 0,
        class: 0,
        xywh: [0.0, 0.0, 9.0, 9.0],
        area: 81.0,
        crowd: false,
    };
    let detection = Detection {
        image_id: 0,
        class: 0,
        score: 0.5,
        corners: [0.0, 0.0, 9.0, 9.0],
    };
    assert_eq!(evaluate(&[truth], &[], 100).ap_large, 0.0);
    let summary = evaluate(&[], &[detection], 100);
    assert_eq!(
        [summary.ap, summary.ar100, summary.best_f1],
        [-1.0, -1.0, 0.0]
    );
}

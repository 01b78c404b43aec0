//! The loss against LibreYOLO's, on recorded networks and on outputs near the targets.

use tch::{Kind, Tensor};

use super::assign::{Predictions, assign};
use super::*;
use crate::loss::LossItems;
use crate::model::{AnchorGrid, HeadOutputs, decode_boxes};
use crate::testing::Tensors;
use crate::testing::yolox::{SIZES, facts, floats, images, network, targets};

fn assert_parts(found: &LossItems, expected: &serde_json::Value, tolerance: f64, what: &str) {
    let found = std::iter::once(&found.total).chain(&found.parts);
    for (index, (found, expected)) in found.zip(floats(expected)).enumerate() {
        let found = found.double_value(&[]);
        let allowed = tolerance * expected.abs().max(1e-3);
        assert!(
            (found - expected).abs() <= allowed,
            "{what}, part {index}: {found}, not {expected}"
        );
    }
}

fn near_targets() -> HeadOutputs {
    let golden = Tensors::of_repository("yolox_golden.safetensors");
    HeadOutputs {
        main: [0, 1, 2].map(|level| golden.get(&format!("near_targets_{level}")).copy()),
        aux: None,
    }
}

/// Loss, and the length of every parameter's gradient. The tolerance of the gradients is that of single precision
/// through a hundred normalised layers.
#[test]
fn loss_and_gradients_equal_the_reference() {
    let facts = facts();
    for size in SIZES {
        for (name, with_l1) in [("plain", false), ("l1", true)] {
            let expected = &facts[size.name()][name];
            let model = network(size);
            let loss = YoloxLoss {
                with_l1,
                group: None,
            };
            let items = loss.compute(&model.forward_train(&images()), &targets());
            let what = format!("size {size}, {name}");
            assert_parts(&items, &expected["parts"], 1e-4, &what);
            items.total.backward();
            let norms = floats(&expected["gradient_norms"]);
            let largest = norms.iter().copied().fold(0.0, f64::max);
            let parameters = model.parameters();
            assert_eq!(parameters.len(), norms.len());
            for (parameter, expected) in parameters.iter().zip(norms) {
                let found = parameter.tensor.grad().norm().double_value(&[]);
                let allowed = 2e-3 * expected + 1e-6 * largest;
                assert!(
                    (found - expected).abs() < allowed,
                    "{what}, {}: {found}, not {expected}",
                    parameter.name
                );
            }
        }
    }
}

/// Where targets take several anchors each and want the same ones.
#[test]
fn assignment_equals_the_reference() {
    let facts = facts();
    let expected = &facts["near_targets"];
    let outputs = near_targets();
    let loss = YoloxLoss {
        with_l1: true,
        group: None,
    };
    let items = loss.compute(&outputs, &targets());
    assert_parts(&items, &expected["parts"], 1e-5, "near the targets");

    let flat = outputs.main.each_ref().map(|level| level.flatten(2, 3));
    let parts = Tensor::cat(&flat, 2).split_with_sizes([4, 1, 3], 1);
    let grid = AnchorGrid::of(&outputs.main);
    let targets = detection::on_canvas(&targets(), &outputs.main[0]);
    let predictions = Predictions {
        boxes: &decode_boxes(&parts[0], &grid),
        objectness: &parts[1],
        classes: &parts[2],
    };
    let found = assign(&grid, &predictions, &targets);
    let places = Tensor::stack(&[&found.image, &found.anchor, &found.row], 1);
    let places = Vec::<i64>::try_from(places.flatten(0, -1)).expect("numbers");
    let overlaps = Vec::<f32>::try_from(&found.iou).expect("numbers");
    let expected = expected["assigned"].as_array().expect("a list");
    assert_eq!(overlaps.len(), expected.len());
    for ((place, overlap), expected) in places.chunks_exact(3).zip(overlaps).zip(expected) {
        let numbers = floats(expected);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred anchors")]
        let place = place.iter().map(|it| *it as f64).collect::<Vec<_>>();
        assert_eq!(place, numbers[..3]);
        assert!(
            (f64::from(overlap) - numbers[3]).abs() < 1e-5,
            "{numbers:?}"
        );
    }
}

/// No boxes, or one too far out for any anchor: only objectness is learnt, and nothing is undefined.
#[test]
fn images_without_targets_teach_that_nothing_is_there() {
    let far = Tensor::from_slice(&[0.0_f32, 1.5, 1.5, 1.6, 1.6]).view([1, 1, 5]);
    let none = Tensor::empty([3, 0, 5], (Kind::Float, tch::Device::Cpu));
    for targets in [none, far.repeat([3, 1, 1])] {
        let outputs = HeadOutputs {
            main: near_targets()
                .main
                .map(|level| level.set_requires_grad(true)),
            aux: None,
        };
        let loss = YoloxLoss {
            with_l1: true,
            group: None,
        };
        let items = loss.compute(&outputs, &targets);
        let parts: Vec<f64> = items.parts.iter().map(|it| it.double_value(&[])).collect();
        assert_eq!([parts[0], parts[2], parts[3]], [0.0; 3]);
        assert!(parts[1] > 0.0);
        items.total.backward();
        for level in &outputs.main {
            let gradient = level.grad().abs();
            let regression = gradient.narrow(1, 0, 4).max().double_value(&[]);
            assert_eq!(regression, 0.0);
            assert!(gradient.narrow(1, 4, 1).min().double_value(&[]) > 0.0);
        }
    }
}

/// An image's assignment doesn't depend on its neighbours in the batch.
#[test]
fn an_image_alone_is_assigned_as_in_a_batch() {
    let outputs = near_targets();
    let of = |image: i64| {
        let outputs = HeadOutputs {
            main: outputs
                .main
                .each_ref()
                .map(|level| level.narrow(0, image, 1)),
            aux: None,
        };
        YoloxLoss::default().compute(&outputs, &targets().narrow(0, image, 1))
    };
    let expected = floats(&facts()["near_targets"]["parts"]);
    // Of 15 anchors in the first image, none in the second, 12 in the third.
    let together =
        (of(0).parts[0].double_value(&[]) * 15.0 + of(2).parts[0].double_value(&[]) * 12.0) / 27.0;
    assert!((together - expected[1]).abs() < 1e-5, "{together}");
    assert_eq!(of(1).parts[0].double_value(&[]), 0.0);
}

//! The loss against LibreYOLO's, on recorded outputs of the head.

use tch::{Device, Kind, Tensor};

use super::assign::{Targets, assign};
use super::*;
use crate::loss::pad_targets;
use crate::model::{AnchorGrid, HeadOutputs, Network, Yolo9Config};
use crate::testing::{Tensors, distance};

/// The targets of the recorded batch: two images of 64x64 pixels.
fn targets() -> Tensor {
    pad_targets(&[
        vec![
            [0.0, 0.1, 0.1, 0.45, 0.5],
            [2.0, 0.5, 0.4, 0.95, 0.9],
            [1.0, 0.3, 0.3, 0.6, 0.65],
        ],
        vec![[1.0, 0.05, 0.55, 0.4, 0.98]],
    ])
}

fn padded_to(rows: i64) -> Tensor {
    let targets = targets();
    let padding = Tensor::zeros([2, rows - 3, 5], (Kind::Float, Device::Cpu));
    let _ = padding.select(2, 0).fill_(-1.0);
    Tensor::cat(&[targets, padding], 1)
}

fn recorded() -> (Tensors, HeadOutputs) {
    let tensors = Tensors::of_repository("yolo9t_nc3_tal.safetensors");
    let main = [0, 1, 2].map(|level| tensors.get(&format!("raw{level}")).set_requires_grad(true));
    (tensors, HeadOutputs { main, aux: None })
}

fn assert_near(found: &Tensor, expected: f64) {
    let found = found.double_value(&[]);
    assert!(
        (found - expected).abs() <= 1e-4 * expected.abs(),
        "{found}, not {expected}"
    );
}

#[test]
fn the_assignment_equals_the_reference() {
    let (tensors, outputs) = recorded();
    let grid = AnchorGrid::of(&outputs.main);
    assert_eq!(grid.points, *tensors.get("anchors"));
    let classes = tensors.get("preds_cls").transpose(1, 2).contiguous();
    let boxes = tensors.get("preds_box").transpose(1, 2).contiguous();
    for rows in [3, 300] {
        let packed = padded_to(rows);
        let targets = Targets {
            classes: packed.select(2, 0).to_kind(Kind::Int64),
            boxes: packed.narrow(2, 1, 4) * 64.0,
        };
        let assignment = assign(&grid, &classes, &boxes, &targets);
        assert_eq!(
            assignment.positive.to_kind(Kind::Uint8),
            *tensors.get("valid"),
            "{rows} rows"
        );
        assert_eq!(assignment.target, *tensors.get("idx"), "{rows} rows");
        let labels = tensors.get("align").narrow(2, 0, 3).transpose(1, 2);
        let difference = distance(&assignment.labels, &labels);
        assert!(difference < 1e-6, "{rows} rows: {difference}");
    }
}

#[test]
fn the_losses_equal_the_reference_however_many_rows_are_padding() {
    for rows in [3, 300] {
        let (_, outputs) = recorded();
        let items = Yolo9Loss::default().compute(&outputs, &padded_to(rows));
        assert_near(&items.total, 40.368_911_743_164_06);
        assert_near(&items.parts[0], 5.042_294_502_258_301);
        assert_near(&items.parts[2], 3.029_321_908_950_805_7);
        assert_near(&items.parts[1], 32.297_294_616_699_22);
    }
}

/// Two heads with the same outputs weigh 1.25.
#[test]
fn the_auxiliary_head_counts_a_quarter() {
    let (_, outputs) = recorded();
    let main = outputs.main.each_ref().map(Tensor::shallow_clone);
    let items = Yolo9Loss::default().compute(
        &HeadOutputs {
            main,
            aux: Some(outputs.main),
        },
        &targets(),
    );
    assert_near(&items.total, 1.25 * 40.368_911_743_164_06);
    assert_near(&items.parts[1], 1.25 * 32.297_294_616_699_22);
}

#[test]
fn a_batch_without_targets_trains_the_classes_only() {
    let none = [
        pad_targets(&[vec![], vec![]]),
        Tensor::full([2, 4, 5], -1.0, (Kind::Float, Device::Cpu)),
    ];
    for targets in none {
        let (_, outputs) = recorded();
        let items = Yolo9Loss::default().compute(&outputs, &targets);
        assert_eq!(items.parts[0].double_value(&[]), 0.0);
        assert_eq!(items.parts[2].double_value(&[]), 0.0);
        assert!(items.parts[1].double_value(&[]) > 0.0);
        items.total.backward();
        for level in &outputs.main {
            let gradient = level.grad();
            assert_eq!(gradient.narrow(1, 0, 64).abs().max().double_value(&[]), 0.0);
            assert!(gradient.narrow(1, 64, 3).min().double_value(&[]) > 0.0);
        }
    }
}

/// An image's gradients differ between batches by the batch's normaliser alone.
#[test]
fn images_do_not_influence_each_other() {
    let (_, outputs) = recorded();
    let gradients = |images: &[i64]| {
        let index = Tensor::from_slice(images);
        let pick = |level: &Tensor| {
            level
                .detach()
                .index_select(0, &index)
                .set_requires_grad(true)
        };
        let outputs = HeadOutputs {
            main: outputs.main.each_ref().map(pick),
            aux: None,
        };
        let items = Yolo9Loss::default().compute(&outputs, &targets().index_select(0, &index));
        items.total.backward();
        let flat = outputs.main.map(|level| level.grad().flatten(1, 3));
        Tensor::cat(&flat, 1)
    };
    let together = gradients(&[0, 1]);
    for image in [0, 1] {
        let alone = gradients(&[image]).select(0, 0);
        let together = together.select(0, image);
        let scale = alone.norm().double_value(&[]) / together.norm().double_value(&[]);
        let difference =
            distance(&alone, &(together * scale)) / alone.abs().max().double_value(&[]);
        assert!(difference < 1e-5, "image {image}: {difference}");
    }
}

/// A box between all anchors' centres still gets the anchor that fits best.
#[test]
fn a_target_without_a_candidate_gets_its_best_anchor() {
    let grid = AnchorGrid::new([(4, 4), (2, 2), (1, 1)], Device::Cpu);
    let sliver = Tensor::from_slice(&[10.0_f32, 8.5, 11.5, 11.5]).view([1, 1, 4]);
    let targets = Targets {
        classes: Tensor::zeros([1, 1], (Kind::Int64, Device::Cpu)),
        boxes: sliver.shallow_clone(),
    };
    let boxes = Tensor::zeros([1, 4, 21], (Kind::Float, Device::Cpu));
    boxes.select(2, 5).copy_(&sliver.view([1, 4]));
    let logits = Tensor::zeros([1, 2, 21], (Kind::Float, Device::Cpu));
    let assignment = assign(&grid, &logits, &boxes, &targets);
    assert_eq!(
        Vec::<i64>::try_from(assignment.positive.select(0, 0).nonzero().flatten(0, -1))
            .expect("indices"),
        [5]
    );
    assert!((assignment.labels.double_value(&[0, 0, 5]) - 1.0).abs() < 1e-5);
}

/// Loss and gradients through the whole network. The deepest normalisations of the recorded batch
/// have 8 values per channel, so gradients of the first layers move by up to 1 % with the order of
/// additions; those of the head don't.
#[test]
fn gradients_of_the_network_equal_the_reference() {
    for (aux, file, total) in [
        (
            false,
            "yolo9t_nc3_weights.safetensors",
            40.368_911_743_164_06,
        ),
        (
            true,
            "yolo9t_nc3_aux_weights.safetensors",
            53.136_451_721_191_406,
        ),
    ] {
        let (Some(weights), Some(io)) = (
            Tensors::of_shared(file),
            Tensors::of_shared("yolo9t_nc3_io.safetensors"),
        ) else {
            return;
        };
        let config = Yolo9Config::of_state_dict(weights.as_state_dict()).expect("YOLO9 weights");
        assert_eq!(config.aux, aux);
        let model = Network::new(config, Device::Cpu);
        model
            .load_state_dict(weights.as_state_dict())
            .expect("fitting weights");
        let items =
            Yolo9Loss::default().compute(&model.forward_train(io.get("x")), io.get("targets"));
        assert_near(&items.total, total);
        if aux {
            assert_near(&items.parts[0], 6.209_291_458_129_883);
            assert_near(&items.parts[2], 3.660_458_087_921_143);
            assert_near(&items.parts[1], 43.266_700_744_628_906);
            continue;
        }
        items.total.backward();
        let parameters = model.parameters();
        let norm = |tensor: &Tensor| tensor.grad().norm().double_value(&[]);
        let squares: f64 = parameters.iter().map(|p| norm(&p.tensor).powi(2)).sum();
        assert!(
            (squares.sqrt() / 4_877.219_901_662_143_5 - 1.0).abs() < 1e-2,
            "{}",
            squares.sqrt()
        );
        for (name, expected, allowed) in [
            ("backbone.conv0.conv.weight", 1_024.750_488_281_25, 1e-2),
            ("backbone.conv0.bn.weight", 102.024_276_733_398_44, 1e-2),
            ("backbone.conv0.bn.bias", 60.398_036_956_787_11, 1e-2),
            ("head.cv3.2.0.bn.bias", 0.035_723_477_602_005_005, 1e-2),
            ("head.cv3.2.1.conv.weight", 1.601_344_108_581_543, 1e-2),
            ("head.cv3.2.2.weight", 1.725_182_414_054_870_6, 1e-2),
            ("head.cv3.2.2.bias", 0.893_366_098_403_930_7, 1e-3),
        ] {
            let parameter = parameters
                .iter()
                .find(|p| p.name == name)
                .expect("a parameter");
            let found = norm(&parameter.tensor);
            assert!(
                (found / expected - 1.0).abs() < allowed,
                "{name}: {found}, not {expected}"
            );
        }
    }
}

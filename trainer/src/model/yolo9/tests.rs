//! The network against LibreYOLO's: names, shapes, outputs.

use std::fs;

use tch::{Device, Kind, Tensor};

use crate::model::*;
use crate::testing::{Tensors, distance, shared};

fn config(size: Yolo9Size) -> Yolo9Config {
    Yolo9Config {
        size,
        nc: 80,
        class_width: None,
        aux: true,
    }
}

fn golden() -> Option<Network> {
    let weights = Tensors::of_shared("yolo9t_nc3_weights.safetensors")?;
    let config = Yolo9Config::of_state_dict(weights.as_state_dict()).expect("YOLO9 weights");
    let model = Network::new(config, Device::Cpu);
    let report = model
        .load_state_dict(weights.as_state_dict())
        .expect("fitting weights");
    assert!(
        report.is_complete() && report.unexpected.is_empty(),
        "{report:?}"
    );
    Some(model)
}

/// One line of a key list: name, shape, kind.
fn lines_of(model: &Network) -> Vec<String> {
    let kind = |tensor: &Tensor| match tensor.kind() {
        Kind::Float => "float32",
        Kind::Int64 => "int64",
        _ => "another kind",
    };
    let line = |(name, tensor): &(String, Tensor)| {
        format!("{name}\t{:?}\t{}", tensor.size(), kind(tensor))
    };
    model.state_dict().iter().map(line).collect()
}

#[test]
fn names_shapes_and_their_order_are_libreyolos() {
    for size in Yolo9Size::ALL {
        let Some(path) = shared(&format!("yolo9_keys_{size}.txt")) else {
            return;
        };
        let text = fs::read_to_string(path).expect("a key list");
        let expected: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let found = lines_of(&Network::new(config(size), Device::Cpu));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "size {size}");
        }
        assert_eq!(found.len(), expected.len(), "size {size}");
    }
}

#[test]
fn parameter_counts_are_the_published_ones() {
    let expected = [
        (Yolo9Size::T, 2_036_544, 868_944, [291, 303, 303]),
        (Yolo9Size::S, 7_226_192, 2_578_288, [291, 303, 303]),
        (Yolo9Size::M, 20_123_984, 7_482_720, [195, 207, 207]),
        (Yolo9Size::C, 25_498_736, 10_241_456, [200, 212, 212]),
    ];
    for (size, main, aux, groups) in expected {
        let parameters = Network::new(config(size), Device::Cpu).parameters();
        let count = |aux: bool| -> usize {
            let branch = parameters
                .iter()
                .filter(|p| p.name.starts_with("aux") == aux);
            branch.map(|parameter| parameter.tensor.numel()).sum()
        };
        assert_eq!((count(false), count(true)), (main, aux), "size {size}");
        let of_group = |group| parameters.iter().filter(|p| p.group == group).count();
        let found = [Group::NormWeight, Group::ConvWeight, Group::Bias].map(of_group);
        assert_eq!(found, groups, "size {size}");
    }
}

#[test]
fn evaluation_equals_the_reference() {
    let (Some(model), Some(io)) = (golden(), Tensors::of_shared("yolo9t_nc3_io.safetensors"))
    else {
        return;
    };
    let raw = model.forward_raw(io.get("x"));
    for (level, found) in raw.iter().enumerate() {
        let difference = distance(found, io.get(&format!("eval_raw_{level}")));
        assert!(difference < 1e-4, "level {level}: {difference}");
    }
    let difference = distance(&model.forward_eval(io.get("x")), io.get("eval_predictions"));
    assert!(difference < 1e-3, "pixels and probabilities: {difference}");
}

#[test]
fn kernels_laid_out_as_nhwc_compute_the_same() {
    let (Some(mut model), Some(io)) = (golden(), Tensors::of_shared("yolo9t_nc3_io.safetensors"))
    else {
        return;
    };
    model.to_channels_last();
    let difference = distance(&model.forward_eval(io.get("x")), io.get("eval_predictions"));
    assert!(difference < 1e-3, "{difference}");
}

#[test]
fn a_state_dict_survives_the_round_trip_and_counts_batches() {
    let tiny = Yolo9Config {
        nc: 3,
        ..config(Yolo9Size::T)
    };
    let (source, target) = (
        Network::new(tiny, Device::Cpu),
        Network::new(tiny, Device::Cpu),
    );
    let x = Tensor::rand([2, 3, 64, 64], (Kind::Float, Device::Cpu));
    let _ = source.forward_train(&x);
    let report = target
        .load_state_dict(&source.state_dict())
        .expect("same shapes");
    assert!(
        report.is_complete() && report.unexpected.is_empty(),
        "{report:?}"
    );
    let _ = target.forward_train(&x);
    let counter = |model: &Network| {
        let state = model.state_dict();
        let (_, tensor) = state
            .into_iter()
            .find(|(name, _)| name == "neck.down1.cv.bn.num_batches_tracked")
            .expect("there");
        tensor.int64_value(&[])
    };
    assert_eq!((counter(&source), counter(&target)), (1, 2));
}

#[test]
fn weights_of_other_classes_load_without_the_class_outputs() {
    let source = Network::new(
        Yolo9Config {
            aux: false,
            ..config(Yolo9Size::T)
        },
        Device::Cpu,
    );
    let found = Yolo9Config::of_state_dict(&source.state_dict()).expect("YOLO9 weights");
    assert_eq!(NetworkConfig::from(found), source.config());
    let target = Network::new(Yolo9Config { nc: 3, ..found }, Device::Cpu);
    let report = target
        .load_state_dict(&source.state_dict())
        .expect("only the classes differ");
    assert_eq!(report.other_classes.len(), 6);
    assert_eq!(report.loaded, 1338 - 6);
    assert!(!report.is_complete());
}

/// A network made for 80 classes and fitted to 3: the detecting head keeps its width, the auxiliary one
/// is made for the 3, and weights of the other width are passed over there.
#[test]
fn the_auxiliary_head_is_as_wide_as_its_classes_ask() {
    let source = Network::new(config(Yolo9Size::T), Device::Cpu);
    let found = Yolo9Config::of_state_dict(&source.state_dict()).expect("YOLO9 weights");
    let target = Network::new(Yolo9Config { nc: 3, ..found }, Device::Cpu);
    let width = |name: &str| {
        let state = target.state_dict();
        let found = state.iter().find(|(key, _)| key == name).expect("there");
        found.1.size()[0]
    };
    assert_eq!(width("head.cv3.0.0.conv.weight"), 80);
    assert_eq!(width("aux_head.cv3.0.0.conv.weight"), 64);
    let report = target
        .load_state_dict(&source.state_dict())
        .expect("only the classes differ");
    let other = |mismatch: &ShapeMismatch| mismatch.name.contains("head.cv3.");
    assert!(report.other_classes.iter().all(other), "{report:?}");
    assert!(report.missing.is_empty() && report.unexpected.is_empty());
}

#[test]
fn weights_of_another_size_or_network_are_refused_and_change_nothing() {
    let small = Network::new(
        Yolo9Config {
            aux: false,
            ..config(Yolo9Size::S)
        },
        Device::Cpu,
    );
    let tiny = Network::new(
        Yolo9Config {
            aux: false,
            ..config(Yolo9Size::T)
        },
        Device::Cpu,
    );
    let before = tiny.state_dict()[0].1.copy();
    let error = tiny
        .load_state_dict(&small.state_dict())
        .expect_err("another size");
    assert!(
        error.to_string().contains("backbone.conv0.conv.weight"),
        "{error}"
    );
    assert_eq!(tiny.state_dict()[0].1, before);
    let foreign = [(
        "layer1.weight".to_owned(),
        Tensor::zeros([2], (Kind::Float, Device::Cpu)),
    )];
    assert!(matches!(
        tiny.load_state_dict(&foreign),
        Err(LoadError::Foreign { .. })
    ));
    assert!(matches!(
        Yolo9Config::of_state_dict(&foreign),
        Err(LoadError::Configuration { .. })
    ));
}

#[test]
fn older_names_are_understood() {
    let tiny = Yolo9Config {
        nc: 3,
        aux: false,
        ..config(Yolo9Size::T)
    };
    let source = Network::new(tiny, Device::Cpu);
    let older: Vec<_> = source
        .state_dict()
        .into_iter()
        .map(|(name, tensor)| {
            (
                format!("module.{}", name.replace("head.", "detect.")),
                tensor,
            )
        })
        .collect();
    let report = Network::new(tiny, Device::Cpu)
        .load_state_dict(&older)
        .expect("understood");
    assert!(report.is_complete(), "{report:?}");
}

#[test]
fn frozen_parameters_leave_the_list() {
    let model = Network::new(
        Yolo9Config {
            nc: 3,
            aux: false,
            ..config(Yolo9Size::T)
        },
        Device::Cpu,
    );
    let before = model.parameters().len();
    assert_eq!(model.freeze(&["backbone.conv0", "backbone.conv1"]), 6);
    assert_eq!(model.parameters().len(), before - 6);
}

/// What an image gets must not depend on its neighbours in the batch, nor on the canvas being square.
#[test]
fn evaluation_treats_each_image_alone() {
    let model = Network::new(
        Yolo9Config {
            nc: 3,
            aux: true,
            ..config(Yolo9Size::T)
        },
        Device::Cpu,
    );
    let x = Tensor::rand([3, 3, 64, 96], (Kind::Float, Device::Cpu));
    let together = model.forward_eval(&x);
    assert_eq!(together.size(), [3, 7, 8 * 12 + 4 * 6 + 2 * 3]);
    for image in 0..3 {
        let alone = model.forward_eval(&x.narrow(0, image, 1));
        let difference = distance(&together.narrow(0, image, 1), &alone);
        assert!(difference < 1e-3, "image {image}: {difference}");
    }
}

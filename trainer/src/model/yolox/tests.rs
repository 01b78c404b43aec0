//! The network against LibreYOLO's: names, shapes, outputs.

use std::fs;
use std::path::Path;

use tch::{Device, Kind, Tensor};

use crate::model::{
    Architecture, Family, Group, LoadError, Network, NetworkConfig, Yolo9Config, Yolo9Size,
    YoloxConfig, YoloxSize,
};
use crate::testing::yolox::{SIZES, images, network};
use crate::testing::{Tensors, distance};

/// One line of the key list: name, shape, kind.
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/yolox_keys.txt");
    let text = fs::read_to_string(path).expect("a file of the repository");
    for size in SIZES {
        let heading = format!("# size {size}\n");
        let (_, section) = text.split_once(&heading).expect("a section of each size");
        let expected: Vec<_> = section
            .lines()
            .take_while(|line| !line.starts_with('#'))
            .collect();
        let found = lines_of(&Network::new(YoloxConfig { size, nc: 3 }, Device::Cpu));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "size {size}");
        }
        assert_eq!(found.len(), expected.len(), "size {size}");
    }
}

/// LibreYOLO's counts for 80 classes.
#[test]
fn parameter_counts_are_the_published_ones() {
    let expected = [
        (YoloxSize::N, 912_159),
        (YoloxSize::T, 5_055_855),
        (YoloxSize::S, 8_968_255),
        (YoloxSize::M, 25_326_495),
        (YoloxSize::L, 54_208_895),
        (YoloxSize::X, 99_071_455),
    ];
    for (size, expected) in expected {
        let parameters = Network::new(YoloxConfig { size, nc: 80 }, Device::Cpu).parameters();
        let count: usize = parameters.iter().map(|it| it.tensor.numel()).sum();
        assert_eq!(count, expected, "size {size}");
        let norms = parameters.iter().filter(|it| it.group == Group::NormWeight);
        let kernels = parameters.iter().filter(|it| it.group == Group::ConvWeight);
        assert_eq!(norms.count() + 9, kernels.count(), "size {size}");
    }
}

/// Two thousandths of a pixel, and 1e-5 of logits below 1: single precision over a hundred layers.
#[test]
fn evaluation_equals_the_reference() {
    let golden = Tensors::of_repository("yolox_golden.safetensors");
    let x = images().narrow(0, 0, 1) / 255.0;
    for size in SIZES {
        let mut model = network(size);
        for channels_last in [false, true] {
            if channels_last {
                model.to_channels_last();
            }
            for (level, found) in model.forward_raw(&x).iter().enumerate() {
                let raw = Tensor::cat(&[found.narrow(1, 0, 4), found.narrow(1, 4, 4).sigmoid()], 1);
                let difference = distance(&raw, golden.get(&format!("{size}_eval_{level}")));
                assert!(
                    difference < 1e-5,
                    "size {size}, level {level}: {difference}"
                );
            }
            let exported = golden.get(&format!("{size}_export")).transpose(1, 2);
            let parts = exported.split_with_sizes([2, 2, 1, 3], 1);
            let half = &parts[1] / 2.0;
            let expected = Tensor::cat(
                &[&parts[0] - &half, &parts[0] + &half, &parts[2] * &parts[3]],
                1,
            );
            let difference = distance(&model.forward_eval(&x), &expected);
            assert!(difference < 2e-3, "size {size}: {difference}");
        }
    }
}

#[test]
fn each_size_is_recognised_by_its_weights() {
    for size in YoloxSize::ALL {
        let model = Network::new(YoloxConfig { size, nc: 4 }, Device::Cpu);
        let found = NetworkConfig::of_state_dict(&model.state_dict()).expect("YOLOX weights");
        assert_eq!(found, model.config());
        assert_eq!(found.architecture(), Architecture::Yolox(size));
    }
}

#[test]
fn weights_of_other_classes_load_without_the_class_outputs() {
    let size = YoloxSize::N;
    let source = Network::new(YoloxConfig { size, nc: 80 }, Device::Cpu);
    let target = Network::new(source.config().adapted(3, true), Device::Cpu);
    let report = target
        .load_state_dict(&source.state_dict())
        .expect("only the classes differ");
    assert_eq!(report.other_classes.len(), 6);
    assert!(report.missing.is_empty() && report.unexpected.is_empty());
}

#[test]
fn weights_of_another_family_are_refused_by_name() {
    let yolo9 = Yolo9Config::scratch(Yolo9Size::T, 3, false);
    let yolo9 = Network::new(yolo9, Device::Cpu);
    let yolox = network(YoloxSize::N);
    let error = yolox
        .load_state_dict(&yolo9.state_dict())
        .expect_err("none of its names");
    assert!(matches!(
        error,
        LoadError::Foreign {
            family: Family::Yolox,
            ..
        }
    ));
    assert!(yolo9.load_state_dict(&yolox.state_dict()).is_err());
}

/// A fresh network expects few objects.
#[test]
fn a_fresh_network_starts_at_its_prior() {
    tch::manual_seed(1);
    let config = YoloxConfig {
        size: YoloxSize::N,
        nc: 3,
    };
    let model = Network::new(config, Device::Cpu);
    let scores = model
        .forward_eval(&images())
        .narrow(1, 4, 3)
        .mean(Kind::Float)
        .double_value(&[]);
    assert!((2e-5..1e-3).contains(&scores), "{scores}");
}

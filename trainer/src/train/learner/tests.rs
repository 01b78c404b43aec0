//! Several processes learn what one does, to rounding.
//!
//! In double precision, so that what is compared is the arithmetic: in single precision the first layers'
//! gradients of any implementation differ by percents from one order of sums to another.

use tch::{Device, Kind, Tensor};

use super::{flatten, share_from_first, unflatten};
use crate::dist::{Collective, Group, Shard, SyncGroup, together};
use crate::loss::{Loss, pad_targets};
use crate::model::{Architecture, Family, Network, NetworkConfig, Yolo9Size, YoloxSize};
use crate::optim::{Optimizer, OptimizerConfig};
use crate::testing::redraw;

const BATCH: usize = 6;
const STEPS: usize = 3;
/// Of the loss: it is in single precision, and its sum over the processes has another order.
const LOSS_TOLERANCE: f64 = 2e-6;
/// Of what the steps changed, for each tensor: the loss's rounding, as three steps amplify it (2.5e-5 measured).
const CHANGE_TOLERANCE: f64 = 1e-4;

fn network(architecture: Architecture, seed: usize) -> Network {
    let config = NetworkConfig::scratch(architecture, 3, true);
    let mut model = Network::new(config, Device::Cpu);
    redraw(&model, seed);
    model.make_double();
    model.to_channels_last();
    model
}

fn images() -> Tensor {
    let values = Tensor::arange((BATCH * 3 * 64 * 64) as i64, (Kind::Double, Device::Cpu));
    ((values * 0.731).sin() * 0.5 + 0.5).view([BATCH as i64, 3, 64, 64])
}

/// Images of 1, 2, 3 and of no objects.
fn targets() -> Vec<Vec<[f32; 5]>> {
    let object = |index: usize| {
        let (x, y) = (0.1 * index as f32, 0.15 * index as f32);
        [(index % 3) as f32, x, y, x + 0.4, y + 0.3]
    };
    (0..BATCH)
        .map(|image| (0..image % 4).map(object).collect())
        .collect()
}

/// Parameters, statistics and the losses after some steps.
fn learn(model: &Network, group: Option<&'static Group>) -> (Vec<Tensor>, Vec<f64>) {
    if let Some(group) = group {
        model.synchronise(SyncGroup::leaked(Box::new(|tensor| {
            group.all_reduce_sum(tensor).map_err(Into::into)
        })));
        share_from_first(group, &model.float_tensors()).unwrap();
    }
    let config = OptimizerConfig {
        learning_rate: match model.family() {
            Family::Yolo9 => 0.01,
            Family::Yolox => 0.001,
        },
        ..OptimizerConfig::default()
    };
    let mut optimizer = Optimizer::new(model.parameters(), config);
    let group_of_loss = group.map(|group| group as &dyn Collective);
    let mut loss = Loss::new(model.family(), 0.25, group_of_loss);
    loss.set_mosaics(false);
    let share = group.map_or_else(Shard::default, Group::shard).of(BATCH);
    let pixels = images().narrow(0, share.start as i64, share.len() as i64);
    let targets = pad_targets(&targets()[share]);
    let losses = (0..STEPS).map(|_| {
        optimizer.zero_grad().unwrap();
        let items = loss.compute(&model.forward_train(&pixels), &targets);
        items.total.backward();
        let total = items.total.detach().to_kind(Kind::Double);
        if let Some(group) = group {
            let gradients = optimizer.gradients();
            let flat = flatten(&gradients);
            group.all_reduce_sum(&flat).unwrap();
            unflatten(&flat, &gradients);
            group.all_reduce_sum(&total).unwrap();
        }
        optimizer.step().unwrap();
        total.double_value(&[])
    });
    let losses = losses.collect();
    (model.float_tensors(), losses)
}

#[test]
fn two_and_three_processes_learn_what_one_does() {
    learn_together(Architecture::Yolo9(Yolo9Size::T));
}

#[test]
fn two_and_three_processes_learn_what_one_does_of_yolox() {
    learn_together(Architecture::Yolox(YoloxSize::N));
}

fn learn_together(architecture: Architecture) {
    let alone = network(architecture, 0);
    let start: Vec<Tensor> = alone.float_tensors().iter().map(Tensor::copy).collect();
    let (expected, expected_losses) = learn(&alone, None);
    for world in [2, 3] {
        let networks = (0..world).map(|rank| {
            // All but the first begin elsewhere: the first one's weights must reach them.
            let model = network(architecture, rank as usize);
            if rank == 0 {
                for (mut tensor, start) in model.float_tensors().into_iter().zip(&start) {
                    tensor.copy_(start);
                }
            }
            std::sync::Mutex::new(model)
        });
        let networks: Vec<_> = networks.collect();
        let results = together(world, |group| {
            learn(
                &networks[group.rank() as usize].lock().unwrap(),
                Some(group),
            )
        });
        for (rank, (found, losses)) in results.iter().enumerate() {
            for (step, (found, expected)) in losses.iter().zip(&expected_losses).enumerate() {
                let error = (found / expected - 1.0).abs();
                assert!(
                    error < LOSS_TOLERANCE,
                    "rank {rank} of {world}, step {step}: {error:e}"
                );
            }
            assert_eq!(found.len(), expected.len());
            for ((found, expected), start) in found.iter().zip(&expected).zip(&start) {
                let error = (found - expected).norm().double_value(&[]);
                let change = (expected - start).norm().double_value(&[]);
                assert!(
                    error <= CHANGE_TOLERANCE * change,
                    "rank {rank} of {world}: {error:e} of a change of {change:e}"
                );
            }
        }
    }
}

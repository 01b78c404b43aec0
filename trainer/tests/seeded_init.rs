//! Initial values follow from the seed. Alone in its process: libtorch's generator is global.

use gpurun_train::model::{Network, Yolo9Config, Yolo9Size};
use tch::{Device, Tensor};

fn made(seed: i64) -> Vec<(String, Tensor)> {
    tch::manual_seed(seed);
    let config = Yolo9Config {
        size: Yolo9Size::T,
        nc: 3,
        class_width: None,
        aux: true,
    };
    Network::new(config, Device::Cpu).state_dict()
}

#[test]
fn a_seed_decides_the_initial_values() {
    let (a, b, c) = (made(7), made(7), made(8));
    assert!(a.iter().zip(&b).all(|((_, a), (_, b))| a == b));
    assert!(a[0].1 != c[0].1);
    for (name, weight) in a.iter().filter(|(_, tensor)| tensor.dim() == 4) {
        // U(±1/√fan-in) has the deviation 1/√(3 fan-in).
        let fan_in: i64 = weight.size()[1..].iter().product();
        let bound = 1.0 / (fan_in as f64).sqrt();
        let largest = weight.abs().max().double_value(&[]);
        assert!(
            largest <= bound * 1.000_001 && largest > 0.9 * bound,
            "{name}: {largest} of {bound}"
        );
        let deviation = weight.std(true).double_value(&[]) * 3_f64.sqrt() / bound;
        assert!((deviation - 1.0).abs() < 0.15, "{name}: {deviation}");
    }
}

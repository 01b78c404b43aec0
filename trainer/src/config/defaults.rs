//! LibreYOLO's settings of each family.

use std::path::PathBuf;

use gpurun_dataset::ClassSelection;

use super::freeze::Freeze;
use super::train::{AmpType, Resume, Scheduler, TrainConfig};
use crate::model::Family;
use crate::optim::Method;

pub(super) fn yolo9() -> TrainConfig {
    TrainConfig {
        family: Family::Yolo9,
        data: PathBuf::new(),
        model: "yolo9-t".to_owned(),
        pretrained: true,
        epochs: 300,
        batch: 16,
        auto_batch: false,
        imgsz: 640,
        device: "auto".to_owned(),
        workers: 8,
        cache: false,
        selection: ClassSelection::default(),
        seed: 0,
        resume: Resume::No,
        nbs: None,
        optimizer: Method::Sgd,
        lr0: 0.01,
        momentum: 0.937,
        weight_decay: 0.0005,
        nesterov: true,
        scheduler: Scheduler::Linear,
        warmup_epochs: 3,
        warmup_lr_start: 0.0001,
        warmup_momentum: 0.8,
        min_lr_ratio: 0.01,
        ema: true,
        ema_decay: 0.9999,
        amp: true,
        amp_dtype: AmpType::Float16,
        freeze: Freeze::default(),
        aux_weight: 0.25,
        mosaic: 1.0,
        mixup: 0.0,
        mixup_scale: (0.5, 1.5),
        degrees: 0.0,
        shear: 0.0,
        hsv_prob: 1.0,
        flip_prob: 0.5,
        translate: 0.1,
        mosaic_scale: (0.5, 1.5),
        no_aug_epochs: 15,
        val: true,
        eval_interval: 10,
        max_det: 300,
        patience: 50,
        project: PathBuf::from("runs/train"),
        name: "yolo9_exp".to_owned(),
        exist_ok: false,
        save_period: 10,
    }
}

pub(super) fn yolox() -> TrainConfig {
    TrainConfig {
        family: Family::Yolox,
        model: "yolox-s".to_owned(),
        workers: 4,
        momentum: 0.9,
        scheduler: Scheduler::YoloxCosine,
        warmup_epochs: 5,
        warmup_lr_start: 0.0,
        min_lr_ratio: 0.05,
        ema_decay: 0.9998,
        mixup: 1.0,
        degrees: 10.0,
        shear: 2.0,
        mosaic_scale: (0.1, 2.0),
        name: "exp".to_owned(),
        ..yolo9()
    }
}

//! The proof that a device works, by a real kernel.
//!
//! A card whose driver answers may still have no kernels for its architecture: `is_available` says true
//! and the first operation dies. One matrix product finds that out in a second.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use tch::{Device, Kind, TchError, Tensor};

use crate::config::device_list;
use crate::libtorch::{self, Libtorch};

/// Rows and columns of the matrices.
const SIDE: i64 = 2000;
/// Rows of the product that are computed again on the CPU in double precision.
const CHECKED_ROWS: i64 = 4;
/// Largest relative error of single (or TF32) precision over 2000 terms.
const TOLERANCE: f64 = 1e-2;

/// What was proved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmokeReport {
    pub schema_version: u32,
    /// `ok`.
    pub status: &'static str,
    pub libtorch: &'static str,
    /// CPUs this process may use.
    pub cpus: usize,
    pub devices: Vec<DeviceReport>,
    /// From each card to the next one, and from the last to the first; none with a single device.
    pub copies: Vec<CopyReport>,
}

/// One copy between two devices, which came back as it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyReport {
    pub from: String,
    pub to: String,
    /// There and back.
    pub gigabytes_per_second: f64,
}

/// One device's product.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceReport {
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// From the upload of the matrices to the product back on the CPU.
    pub seconds: f64,
    /// Of the checked rows, relative to their largest value.
    pub relative_error: f64,
}

/// A line per device.
impl fmt::Display for SmokeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for DeviceReport {
            device, seconds, ..
        } in &self.devices
        {
            writeln!(
                f,
                "{device}: {SIDE}x{SIDE} matrix product right, in {seconds:.3} s (libtorch {})",
                self.libtorch
            )?;
        }
        for CopyReport {
            from,
            to,
            gigabytes_per_second,
        } in &self.copies
        {
            writeln!(
                f,
                "{from} to {to}: copied right, {gigabytes_per_second:.1} GB/s"
            )?;
        }
        Ok(())
    }
}

/// Why the proof failed.
#[derive(Debug, thiserror::Error)]
pub enum SmokeError {
    #[error("{0}")]
    Libtorch(#[from] libtorch::Error),
    #[error("no CUDA device: {0}")]
    NoCuda(String),
    #[error("`{0}` is no device; give auto, cpu, cuda, a card's number, or several as in 0,1,2")]
    UnknownDevice(String),
    #[error("{device} failed in a {SIDE}x{SIDE} matrix product: {message}")]
    Kernel { device: String, message: String },
    #[error(
        "{device} computed a wrong product: relative error {error:e}, at most {TOLERANCE:e} is allowed"
    )]
    WrongResult { device: String, error: f64 },
    #[error("a copy from {from} to {to} failed: {message}")]
    Copy {
        from: String,
        to: String,
        message: String,
    },
}

/// Multiplies matrices on the named device, on each of a list such as `0,1,2`, on every card for `cuda`, and for `auto` where
/// there are cards. Of several, each copies to the next.
///
/// # Errors
/// When there is no such device, the kernel fails, or the product is wrong.
pub fn smoke(device: &str) -> Result<SmokeReport, SmokeError> {
    let libtorch = libtorch::load()?;
    let devices = match device_list(device) {
        None => choose(device, libtorch)?,
        Some(names) => {
            let chosen = names.iter().map(|name| choose(name, libtorch));
            chosen.collect::<Result<Vec<_>, _>>()?.concat()
        }
    };
    tch::manual_seed(0);
    let left = Tensor::rand([SIDE, SIDE], (Kind::Float, Device::Cpu));
    let right = Tensor::rand([SIDE, SIDE], (Kind::Float, Device::Cpu));
    let reports = devices
        .iter()
        .map(|device| prove(*device, &left, &right))
        .collect::<Result<_, _>>()?;
    let copies = ring(&devices)
        .into_iter()
        .map(|(from, to)| copy(from, to, &left))
        .collect::<Result<_, _>>()?;
    Ok(SmokeReport {
        schema_version: 1,
        status: "ok",
        libtorch: libtorch::VERSION,
        cpus: crate::train::usable_cpus(),
        devices: reports,
        copies,
    })
}

/// Each device with its neighbour.
fn ring(devices: &[Device]) -> Vec<(Device, Device)> {
    match devices {
        [] | [_] => vec![],
        _ => devices
            .iter()
            .copied()
            .zip(devices.iter().copied().cycle().skip(1))
            .collect(),
    }
}

/// There and back, by the direct way where the cards have one.
fn copy(from: Device, to: Device, values: &Tensor) -> Result<CopyReport, SmokeError> {
    let failed = |message: String| SmokeError::Copy {
        from: name(from),
        to: name(to),
        message,
    };
    let torch = |error: TchError| failed(message(&error));
    let here = values.f_to_device(from).map_err(torch)?;
    let start = Instant::now();
    let there = here.f_to_device(to).map_err(torch)?;
    let back = there.f_to_device(from).map_err(torch)?;
    // Comparing waits for both copies.
    let is_right = back.f_equal(&here).map_err(torch)?;
    if !is_right {
        return Err(failed("other values came back".to_owned()));
    }
    let bytes = 2.0 * 4.0 * values.numel() as f64;
    Ok(CopyReport {
        from: name(from),
        to: name(to),
        gigabytes_per_second: bytes / start.elapsed().as_secs_f64().max(1e-9) / 1e9,
    })
}

fn choose(device: &str, libtorch: &Libtorch) -> Result<Vec<Device>, SmokeError> {
    let cards = usize::try_from(libtorch.cuda_devices()).unwrap_or(0);
    match device {
        "cpu" => Ok(vec![Device::Cpu]),
        "auto" if cards == 0 => Ok(vec![Device::Cpu]),
        "auto" | "cuda" if cards > 0 => Ok((0..cards).map(Device::Cuda).collect()),
        "cuda" => Err(SmokeError::NoCuda(why_no_cuda(libtorch))),
        other => {
            let number = other.strip_prefix("cuda:").unwrap_or(other);
            match number.parse::<usize>() {
                Ok(card) if card < cards => Ok(vec![Device::Cuda(card)]),
                Ok(card) if cards == 0 => Err(SmokeError::NoCuda(format!(
                    "{}; cuda:{card} was asked for",
                    why_no_cuda(libtorch)
                ))),
                Ok(card) => Err(SmokeError::NoCuda(format!(
                    "cuda:{card} was asked for, there are {cards}"
                ))),
                Err(_) => Err(SmokeError::UnknownDevice(other.to_owned())),
            }
        }
    }
}

/// libtorch's own words where it has any.
fn why_no_cuda(libtorch: &Libtorch) -> String {
    match &libtorch.cuda_missing {
        Some(reason) => reason.clone(),
        None => match Tensor::f_zeros([1], (Kind::Float, Device::Cuda(0))) {
            Err(error) => message(&error),
            Ok(_) => "the driver counts none".to_owned(),
        },
    }
}

fn prove(device: Device, left: &Tensor, right: &Tensor) -> Result<DeviceReport, SmokeError> {
    let name = name(device);
    let failed = |error: TchError| SmokeError::Kernel {
        device: name.clone(),
        message: message(&error),
    };
    let start = Instant::now();
    let product = product(device, left, right).map_err(failed)?;
    let seconds = start.elapsed().as_secs_f64();

    let exact = left
        .narrow(0, SIDE - CHECKED_ROWS, CHECKED_ROWS)
        .to_kind(Kind::Double);
    let exact = exact.matmul(&right.to_kind(Kind::Double));
    let found = product
        .narrow(0, SIDE - CHECKED_ROWS, CHECKED_ROWS)
        .to_kind(Kind::Double);
    let error = ((found - &exact).abs().max() / exact.abs().max()).double_value(&[]);
    // NaN is not smaller than anything.
    if error < TOLERANCE {
        return Ok(DeviceReport {
            device: name,
            seconds,
            relative_error: error,
        });
    }
    Err(SmokeError::WrongResult {
        device: name,
        error,
    })
}

fn product(device: Device, left: &Tensor, right: &Tensor) -> Result<Tensor, TchError> {
    let product = left
        .f_to_device(device)?
        .f_matmul(&right.f_to_device(device)?)?;
    // Waits for the kernel, and brings its error.
    product.f_to_device(Device::Cpu)
}

fn name(device: Device) -> String {
    match device {
        Device::Cuda(card) => format!("cuda:{card}"),
        _ => "cpu".to_owned(),
    }
}

/// The first line: a C++ backtrace follows it.
fn message(error: &TchError) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_multiplies() {
        let report = smoke("cpu").unwrap();
        assert_eq!(report.devices[0].device, "cpu");
        assert!(report.devices[0].relative_error < 1e-5, "{report:?}");
    }

    #[test]
    fn a_wrong_product_is_noticed() {
        let left = Tensor::rand([SIDE, SIDE], (Kind::Float, Device::Cpu));
        let right = Tensor::rand([SIDE, SIDE], (Kind::Float, Device::Cpu));
        let _ = left.get(SIDE - 1).fill_(f64::NAN);
        assert!(matches!(
            prove(Device::Cpu, &left, &right),
            Err(SmokeError::WrongResult { .. })
        ));
    }

    #[test]
    fn every_card_copies_to_the_next() {
        let cards = [0, 1, 2].map(Device::Cuda);
        assert_eq!(
            ring(&cards),
            [
                (cards[0], cards[1]),
                (cards[1], cards[2]),
                (cards[2], cards[0])
            ]
        );
        assert!(ring(&cards[..1]).is_empty());
        let values = Tensor::rand([SIDE], (Kind::Float, Device::Cpu));
        let report = copy(Device::Cpu, Device::Cpu, &values).unwrap();
        assert!(report.gigabytes_per_second > 0.0);
        assert!(matches!(
            copy(Device::Cpu, Device::Cuda(99), &values),
            Err(SmokeError::Copy { .. })
        ));
    }

    #[test]
    fn devices_of_a_list_are_proved_together() {
        let report = smoke("cpu,cpu").unwrap();
        assert_eq!((report.devices.len(), report.copies.len()), (2, 2));
        assert!(matches!(smoke("cpu,99"), Err(SmokeError::NoCuda(_))));
        assert!(matches!(
            smoke("cpu,tpu"),
            Err(SmokeError::UnknownDevice(_))
        ));
    }

    #[test]
    fn devices_are_named() {
        assert!(matches!(smoke("tpu"), Err(SmokeError::UnknownDevice(_))));
        assert!(matches!(smoke("cuda:99"), Err(SmokeError::NoCuda(_))));
    }
}

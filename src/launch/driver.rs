//! What an engine needs of a GPU's driver, known before money.

use gpurun_lifecycle::Engine;
use gpurun_pricing::{CudaVersion, Offer};

/// What the wheels of torch 2.13.0 on PyPI are built for (`torch.version.cuda`); a driver runs programs of its own CUDA
/// version and of older ones (CUDA Compatibility, NVIDIA).
const TORCH: CudaVersion = CudaVersion {
    major: 13,
    minor: 0,
};

/// The oldest CUDA version a driver must run; `None` where nothing is known.
pub(crate) fn needed_by(engine: Engine) -> Option<CudaVersion> {
    match engine {
        Engine::GpurunTrain | Engine::Libreyolo => Some(TORCH),
        Engine::Command => None,
    }
}

/// Whether an offer's driver is known to be too old. One that isn't told may do: the proof on the box finds out.
pub(super) fn is_too_old(offer: &Offer, needed: Option<CudaVersion>) -> bool {
    let is_on_gpu = offer.gpu.count() > 0;
    is_on_gpu
        && offer
            .cuda
            .zip(needed)
            .is_some_and(|(has, needed)| has < needed)
}

/// How it is said of so many offers; `None` of none.
pub(super) fn note(left_out: usize, needed: Option<CudaVersion>) -> Option<String> {
    let needed = needed.filter(|_| left_out > 0)?;
    let offers = match left_out {
        1 => "1 offer is".to_owned(),
        many => format!("{many} offers are"),
    };
    Some(format!(
        "{offers} left out: their drivers don't run CUDA {needed}, which the engine's torch is built for"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurun_pricing::GpuRequest;
    use gpurun_pricing::price_book::PriceBook;

    #[test]
    fn only_a_driver_that_is_known_to_be_too_old_is_left_out() {
        let gpu: GpuRequest = "4090x1".parse().expect("a GPU of the table");
        let card = PriceBook::embedded()
            .quote(&gpu, None)
            .expect("a price")
            .card;
        let mut offer = Offer::new("vast", "1", gpu, card);
        let needed = needed_by(Engine::GpurunTrain);
        assert!(!is_too_old(&offer, needed), "nobody says");
        offer.cuda = "12.8".parse().ok();
        assert!(is_too_old(&offer, needed));
        assert!(!is_too_old(&offer, needed_by(Engine::Command)));
        offer.cuda = "13.1".parse().ok();
        assert!(!is_too_old(&offer, needed));
        offer.cuda = "12.8".parse().ok();
        offer.gpu = GpuRequest::Cpu;
        assert!(!is_too_old(&offer, needed));
        assert_eq!(note(0, needed), None);
        assert!(note(2, needed).is_some_and(|said| said.contains("2 offers are left out")));
    }
}

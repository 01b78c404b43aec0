use super::*;

fn canonical(text: &str) -> String {
    text.parse::<GpuRequest>().map_or_else(
        |error| format!("error: {error}"),
        |request| request.to_string(),
    )
}

#[test]
fn the_forms_of_the_manual_parse() {
    for text in [
        "4090x8",
        "h100-sxmx8",
        "a100-80x1",
        "h100-pciex2",
        "pro6000x4",
        "cpu",
    ] {
        assert_eq!(canonical(text), text);
    }
    assert_eq!(canonical("h200"), "h200x1", "a count left out is one");
    assert_eq!(canonical("CPU"), "cpu");
}

#[test]
fn vendors_spellings_mean_the_same() {
    let cases = [
        ("RTX 4090", "4090x1"),
        ("RTX_4090x8", "4090x8"),
        ("RTX4090", "4090x1"),
        ("rtx4090x2", "4090x2"),
        ("8x RTX 4090", "4090x8"),
        ("8× RTX 4090", "4090x8"),
        ("NVIDIA GeForce RTX 4090", "4090x1"),
        ("A100 SXM4", "a100-sxmx1"),
        ("NVIDIA A100-SXM4-80GB", "a100-80-sxmx1"),
        ("NVIDIA A100 80GB PCIe", "a100-80-pciex1"),
        ("A100-40GB", "a100-40x1"),
        ("NVIDIA H100 80GB HBM3", "h100-sxmx1"),
        ("NVIDIA H100 NVL", "h100-nvlx1"),
        ("H200 NVL", "h200x1"),
        ("NVIDIA B300 SXM6 AC", "b300x1"),
        ("RTX A6000", "a6000x1"),
        ("RTX 6000Ada", "6000adax1"),
        ("NVIDIA RTX 6000 Ada Generation", "6000adax1"),
        ("RTX PRO 6000 WS", "pro6000x1"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "pro6000x1"),
        ("RTXPro6000", "pro6000x1"),
        ("Tesla T4", "t4x1"),
        ("A10Gx4", "a10x4"),
        ("Tesla V100", "v100x1"),
    ];
    for (vendor, ours) in cases {
        assert_eq!(canonical(vendor), ours, "{vendor}");
    }
}

#[test]
fn a_typo_gets_the_nearest_name() {
    assert_eq!(
        canonical("4900x8"),
        "error: `4900x8` is no GPU known here; did you mean `4090x8`?"
    );
    assert_eq!(
        canonical("h10"),
        "error: `h10` is no GPU known here; did you mean `a10`?"
    );
    assert_eq!(
        canonical("h100-smxx8"),
        "error: `h100-smxx8` is no GPU known here; did you mean `h100-sxmx8`?"
    );
    assert_eq!(canonical("potato"), "error: `potato` is no GPU known here");
    for text in ["", "x", "x8", "-", "×", "4090 D", "é"] {
        assert!(text.parse::<GpuRequest>().is_err(), "{text:?}");
    }
}

#[test]
fn a_variant_that_was_never_built_names_those_that_were() {
    let error = canonical("a100-60x2");
    assert!(error.starts_with("error: there is no `a100-60`"), "{error}");
    assert!(
        error.contains("`a100-80-sxm`, `a100-80-pcie`, `a100-40-sxm`, `a100-40-pcie`"),
        "{error}"
    );
}

#[test]
fn counts_have_bounds() {
    for text in ["4090x0", "4090x65", "4090x99999999999", "0x 4090"] {
        assert!(
            canonical(text).contains("a box has 1 to 64"),
            "{text}: {}",
            canonical(text)
        );
    }
}

#[test]
fn grace_machines_are_refused_with_the_reason() {
    assert!(canonical("gh200x1").contains("aarch64"));
}

#[test]
fn memory_tells_models_apart_only_where_it_was_said() {
    let models = |text: &str| match text.parse() {
        Ok(GpuRequest::Gpus(selection)) => selection
            .models()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    assert_eq!(models("a100-80x1"), ["a100-80-sxm", "a100-80-pcie"]);
    assert_eq!(
        models("a100"),
        ["a100-80-sxm", "a100-80-pcie", "a100-40-sxm", "a100-40-pcie"]
    );
    assert_eq!(
        models("4090x8"),
        ["4090"],
        "the 48 GB modification has to be asked for"
    );
    assert_eq!(models("4090-48"), ["4090-48"]);
    assert_eq!(models("v100-16"), ["v100"]);
}

#[test]
fn people_read_the_makers_name() {
    let describe = |text: &str| text.parse::<GpuRequest>().map(|request| request.describe());
    assert_eq!(describe("4090x8"), Ok("8x RTX 4090".into()));
    assert_eq!(describe("a100-80x2"), Ok("2x A100-80".into()));
    assert_eq!(describe("h100-sxm"), Ok("1x H100 SXM".into()));
    assert_eq!(describe("cpu"), Ok("CPU only".into()));
}

#[test]
fn every_model_is_asked_for_by_its_canonical_name_and_by_the_makers() {
    for model in MODELS {
        for text in [model.to_string(), model.display.to_owned()] {
            let parsed = text.parse::<GpuRequest>();
            let accepted =
                matches!(&parsed, Ok(GpuRequest::Gpus(selection)) if selection.accepts(model));
            assert!(accepted, "{text}: {parsed:?}");
        }
    }
}

#[test]
fn an_offer_meets_a_request_when_whatever_its_name_leaves_open_would_do() {
    let gpu = |text: &str| text.parse::<GpuRequest>().expect("a GPU of the table");
    assert!(gpu("a100x2").is_met_by(&gpu("a100-80-sxmx2")));
    assert!(gpu("a100-80x2").is_met_by(&gpu("A100-SXM4-80GBx2")));
    assert!(!gpu("a100-80x2").is_met_by(&gpu("a100-40x2")));
    assert!(
        !gpu("a100-80-sxm").is_met_by(&gpu("a100-80")),
        "it may turn out to be PCIe"
    );
    assert!(!gpu("4090x8").is_met_by(&gpu("4090x4")));
    assert!(gpu("cpu").is_met_by(&gpu("cpu")) && !gpu("cpu").is_met_by(&gpu("t4")));
}

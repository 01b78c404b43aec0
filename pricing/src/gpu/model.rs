//! The GPUs gpurun knows by name.

use std::fmt;

/// How a data-centre GPU sits in its machine; it decides bandwidth and price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormFactor {
    Sxm,
    Pcie,
    Nvl,
}

/// One row of the table: a GPU that is rented under one name.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct GpuModel {
    /// The shortest name that people use: `4090`, `a100`.
    pub family: &'static str,
    /// Nominal memory in GB, as the vendor advertises it.
    pub memory_gb: u32,
    /// Whether the family comes with several memory sizes, so that the name must say which.
    pub memory_in_name: bool,
    pub form: Option<FormFactor>,
    /// As its maker writes it, for people.
    pub display: &'static str,
    /// What else the family is called once case, separators and the makers' names are taken off.
    pub aliases: &'static [&'static str],
}

const fn model(family: &'static str, memory_gb: u32, display: &'static str) -> GpuModel {
    GpuModel {
        family,
        memory_gb,
        memory_in_name: false,
        form: None,
        display,
        aliases: &[],
    }
}

const fn formed(
    family: &'static str,
    memory_gb: u32,
    form: FormFactor,
    display: &'static str,
) -> GpuModel {
    GpuModel {
        form: Some(form),
        ..model(family, memory_gb, display)
    }
}

const fn sized(model: GpuModel) -> GpuModel {
    GpuModel {
        memory_in_name: true,
        ..model
    }
}

const fn also(model: GpuModel, aliases: &'static [&'static str]) -> GpuModel {
    GpuModel { aliases, ..model }
}

/// Within a family the usual one comes first: it is what a bare family name is described by.
pub static MODELS: &[GpuModel] = &[
    model("4090", 24, "RTX 4090"),
    sized(model("4090", 48, "RTX 4090 48 GB")),
    model("5090", 32, "RTX 5090"),
    model("3090", 24, "RTX 3090"),
    sized(formed("a100", 80, FormFactor::Sxm, "A100 80 GB SXM")),
    sized(formed("a100", 80, FormFactor::Pcie, "A100 80 GB PCIe")),
    sized(formed("a100", 40, FormFactor::Sxm, "A100 40 GB SXM")),
    sized(formed("a100", 40, FormFactor::Pcie, "A100 40 GB PCIe")),
    formed("h100", 80, FormFactor::Sxm, "H100 SXM"),
    formed("h100", 80, FormFactor::Pcie, "H100 PCIe"),
    formed("h100", 94, FormFactor::Nvl, "H100 NVL"),
    model("h200", 141, "H200"),
    model("b200", 180, "B200"),
    model("b300", 288, "B300"),
    model("l40s", 48, "L40S"),
    model("l4", 24, "L4"),
    model("t4", 16, "T4"),
    also(model("a10", 24, "A10"), &["a10g"]),
    model("a6000", 48, "RTX A6000"),
    model("6000ada", 48, "RTX 6000 Ada"),
    model("pro6000", 96, "RTX PRO 6000"),
    model("v100", 16, "V100"),
    sized(model("v100", 32, "V100 32 GB")),
];

impl FormFactor {
    pub(super) fn from_token(token: &str) -> Option<Self> {
        match token {
            "sxm" | "sxm2" | "sxm3" | "sxm4" | "sxm5" | "sxm6" | "hbm3" => Some(Self::Sxm),
            "pcie" => Some(Self::Pcie),
            "nvl" => Some(Self::Nvl),
            _ => None,
        }
    }
}

impl fmt::Display for FormFactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sxm => "sxm",
            Self::Pcie => "pcie",
            Self::Nvl => "nvl",
        })
    }
}

/// The canonical name, without a count: `4090`, `a100-80-sxm`.
impl fmt::Display for GpuModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.family)?;
        if self.memory_in_name {
            write!(formatter, "-{}", self.memory_gb)?;
        }
        self.form
            .map_or(Ok(()), |form| write!(formatter, "-{form}"))
    }
}

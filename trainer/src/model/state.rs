//! State dicts: the network's tensors by name, out and in.

use std::borrow::Cow;
use std::collections::HashMap;

use tch::Tensor;

use super::family::Family;
use super::network::Network;
use super::variables::{Role, Variable};
use super::{yolo9, yolox};

/// What became of a state dict's tensors.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LoadReport {
    /// Number of tensors taken over.
    pub loaded: usize,
    /// Tensors of the network that the state dict doesn't have; they keep their values.
    pub missing: Vec<String>,
    /// Tensors of the state dict that the network doesn't have.
    pub unexpected: Vec<String>,
    /// Class outputs for another number of classes; the network's keep their values.
    pub other_classes: Vec<ShapeMismatch>,
}

/// A tensor of another shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeMismatch {
    /// Its name.
    pub name: String,
    /// The network's shape.
    pub expected: Vec<i64>,
    /// The state dict's.
    pub found: Vec<i64>,
}

/// Why a state dict cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A tensor has another shape, and not because the classes are others.
    #[error(
        "`{}` has shape {:?} in the weights and {:?} in this network: they are of another size or \
         class width; build the network from the weights' own configuration", .0.name, .0.found, .0.expected
    )]
    Shape(ShapeMismatch),
    /// No name is known.
    #[error("none of the {found} tensors belongs to a {family} network (the first is `{first}`)")]
    Foreign {
        /// The network's.
        family: Family,
        /// How many there are.
        found: usize,
        /// The first one's name.
        first: String,
    },
    /// A tensor that tells the configuration is absent or has an unknown shape.
    #[error(
        "`{name}` is {found}, which no size of {family} has; are these weights of a detector of that family?"
    )]
    Configuration {
        /// The family that the names are of, or are nearest to.
        family: Family,
        /// The tensor looked at.
        name: &'static str,
        /// Its shape, or that it is absent.
        found: String,
    },
}

impl LoadReport {
    /// Whether every tensor of the network was set.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.other_classes.is_empty()
    }
}

impl Network {
    /// All tensors by name, in the order of PyTorch's `state_dict()`: parameters and statistics are
    /// the network's own (not copies), the counters are current.
    #[must_use]
    pub fn state_dict(&self) -> Vec<(String, Tensor)> {
        let entry = |variable: &Variable| {
            let tensor = match variable.role {
                Role::Counter => &variable.tensor + self.batches.get(),
                _ => variable.tensor.detach(),
            };
            (variable.name.clone(), tensor)
        };
        self.variables.iter().map(entry).collect()
    }

    /// Takes over a state dict's values, of any floating kind and from any device.
    ///
    /// Class outputs for another number of classes are left as they are and reported. Names with
    /// LibreYOLO's older prefixes are understood. On an error nothing was changed.
    ///
    /// # Errors
    /// When a shape doesn't fit or no name is known.
    pub fn load_state_dict(&self, state: &[(String, Tensor)]) -> Result<LoadReport, LoadError> {
        let mut report = LoadReport::default();
        let mut given: HashMap<Cow<'_, str>, &Tensor> = state
            .iter()
            .map(|(name, tensor)| (canonical(name), tensor))
            .collect();
        let mut pairs = Vec::new();
        for variable in &self.variables {
            let Some(tensor) = given.remove(variable.name.as_str()) else {
                report.missing.push(variable.name.clone());
                continue;
            };
            if tensor.size() == variable.tensor.size() {
                pairs.push((variable, tensor));
                continue;
            }
            let mismatch = ShapeMismatch {
                name: variable.name.clone(),
                expected: variable.tensor.size(),
                found: tensor.size(),
            };
            if !self.depends_on_classes(&variable.name) {
                return Err(LoadError::Shape(mismatch));
            }
            report.other_classes.push(mismatch);
        }
        if pairs.is_empty() {
            return Err(LoadError::Foreign {
                family: self.family(),
                found: state.len(),
                first: state
                    .first()
                    .map_or_else(String::new, |(name, _)| name.clone()),
            });
        }
        report.unexpected = given
            .into_keys()
            .filter(|name| !is_constant(name))
            .map(Cow::into_owned)
            .collect();
        report.unexpected.sort();
        report.loaded = pairs.len();
        tch::no_grad(|| {
            for (variable, tensor) in pairs {
                variable.tensor.shallow_clone().copy_(tensor);
            }
        });
        self.batches.set(0);
        Ok(report)
    }

    fn depends_on_classes(&self, name: &str) -> bool {
        match self.family() {
            Family::Yolo9 => yolo9::depends_on_classes(name),
            Family::Yolox => yolox::depends_on_classes(name),
        }
    }
}

/// The name without what wrappers and older versions put before it.
pub(super) fn canonical(name: &str) -> Cow<'_, str> {
    let name = name.strip_prefix("module.").unwrap_or(name);
    match name.strip_prefix("detect.") {
        Some(rest) => format!("head.{rest}").into(),
        None => name.into(),
    }
}

/// Length of the first dimension of a tensor that tells the configuration.
///
/// # Errors
/// When it is absent or has none.
pub(super) fn outputs_of(
    family: Family,
    state: &[(String, Tensor)],
    name: &'static str,
) -> Result<i64, LoadError> {
    let found = state.iter().find(|(key, _)| canonical(key) == name);
    let shape = found.map(|(_, tensor)| tensor.size());
    shape
        .as_ref()
        .and_then(|shape| shape.first().copied())
        .ok_or_else(|| LoadError::Configuration {
            family,
            name,
            found: shape.map_or_else(|| "absent".into(), |shape| format!("{shape:?}")),
        })
}

/// Constants that some writers store along.
fn is_constant(name: &str) -> bool {
    name.ends_with(".dfl.conv.weight")
}

//! Between tensors and storages.

use std::collections::HashMap;

use tch::{Device, Kind, Tensor};

use super::archive::Archive;
use super::error::{CheckpointError, Problem};
use super::value::{Key, ScalarKind, TensorRef, Value};

/// Names and tensors of a model, in its own order.
pub type StateDict = Vec<(String, Tensor)>;

/// The storages of a file being written, each stored once however many tensors use it.
#[derive(Default)]
pub(super) struct StorageTable {
    /// Keeps every storage alive, so that an address stands for one storage only.
    pub(super) tensors: Vec<Tensor>,
    by_address: HashMap<(usize, usize, ScalarKind), usize>,
}

impl StorageTable {
    /// The number of the entry that holds this tensor's elements, contiguous and on the CPU.
    pub(super) fn insert(&mut self, tensor: &Tensor) -> Result<usize, Problem> {
        let detached = tensor.f_detach()?.f_contiguous()?;
        let identity = (
            detached.data_ptr() as usize,
            detached.numel(),
            scalar_kind(detached.f_kind()?)?,
        );
        if let Some(index) = self.by_address.get(&identity) {
            return Ok(*index);
        }
        let index = self.tensors.len();
        self.by_address.insert(identity, index);
        self.tensors.push(detached);
        Ok(index)
    }
}

/// The bytes of a contiguous tensor.
pub(super) fn tensor_bytes(tensor: &Tensor, buffer: &mut Vec<u8>) -> Result<(), Problem> {
    let on_cpu = tensor.f_to_device(Device::Cpu)?;
    let elements = on_cpu.numel();
    buffer.clear();
    buffer.resize(elements * scalar_kind(on_cpu.f_kind()?)?.size(), 0);
    if elements > 0 {
        on_cpu.f_copy_data_u8(buffer, elements)?;
    }
    Ok(())
}

/// Reads a dict of tensors out of a checkpoint, on the CPU.
///
/// # Errors
/// When the value is no dict of tensors, a storage is missing or too short, or the tensors exceed
/// [`Limits::tensor_bytes`](super::Limits).
pub fn load_state_dict(
    archive: &mut Archive,
    value: &Value<TensorRef>,
) -> Result<StateDict, CheckpointError> {
    let path = archive.path().to_owned();
    state_dict(archive, value).map_err(|problem| problem.at(&path))
}

pub(super) fn state_dict(
    archive: &mut Archive,
    value: &Value<TensorRef>,
) -> Result<StateDict, Problem> {
    let dict = value.as_dict().ok_or_else(|| {
        Problem::Schema(format!(
            "a state dict was expected, not a {}",
            value.type_name()
        ))
    })?;
    let mut tensors = StateDict::with_capacity(dict.len());
    for (key, value) in dict {
        let (Key::Text(name), Value::Tensor(tensor)) = (key, value) else {
            return Err(Problem::Schema(format!(
                "the state dict holds a {} at {key:?}",
                value.type_name()
            )));
        };
        tensors.push((name.clone(), load_tensor(archive, tensor)?));
    }
    Ok(tensors)
}

/// Reads one tensor.
pub(super) fn load_tensor(archive: &mut Archive, tensor: &TensorRef) -> Result<Tensor, Problem> {
    let kind = torch_kind(tensor.storage.kind);
    archive.spend(tensor.bytes())?;
    let bytes = archive.storage(&tensor.storage)?;
    let elements =
        i64::try_from(tensor.storage.elements).map_err(|e| Problem::damaged(e.to_string()))?;
    let flat = Tensor::f_from_data_size(&bytes, &[elements], kind)?;
    let offset = i64::try_from(tensor.offset).map_err(|e| Problem::damaged(e.to_string()))?;
    if offset == 0 && tensor.is_whole_storage() {
        return Ok(flat.f_view(tensor.size.as_slice())?);
    }
    // A copy even where it lies in one piece: a view would keep the whole storage.
    let view = flat.f_as_strided(tensor.size.as_slice(), tensor.stride.as_slice(), offset)?;
    let mut own = Tensor::f_empty(tensor.size.as_slice(), (kind, Device::Cpu))?;
    own.f_copy_(&view)?;
    Ok(own)
}

impl TensorRef {
    /// Its own bytes, not those of its storage.
    fn bytes(&self) -> u64 {
        let elements: i64 = self.size.iter().product();
        (elements as u64).saturating_mul(self.storage.kind.size() as u64)
    }

    fn is_whole_storage(&self) -> bool {
        let mut expected = 1;
        for (size, stride) in self.size.iter().zip(&self.stride).rev() {
            if *size != 1 && *stride != expected {
                return false;
            }
            expected *= size;
        }
        usize::try_from(expected) == Ok(self.storage.elements)
    }
}

/// The storage type of a tensor kind.
pub(super) fn scalar_kind(kind: Kind) -> Result<ScalarKind, Problem> {
    Ok(match kind {
        Kind::Float => ScalarKind::Float32,
        Kind::Double => ScalarKind::Float64,
        Kind::Half => ScalarKind::Float16,
        Kind::BFloat16 => ScalarKind::BFloat16,
        Kind::Int64 => ScalarKind::Int64,
        Kind::Int => ScalarKind::Int32,
        Kind::Int16 => ScalarKind::Int16,
        Kind::Int8 => ScalarKind::Int8,
        Kind::Uint8 => ScalarKind::Uint8,
        Kind::Bool => ScalarKind::Bool,
        other => {
            return Err(Problem::Schema(format!(
                "a checkpoint can't hold tensors of kind {other:?}"
            )));
        }
    })
}

fn torch_kind(kind: ScalarKind) -> Kind {
    match kind {
        ScalarKind::Float32 => Kind::Float,
        ScalarKind::Float64 => Kind::Double,
        ScalarKind::Float16 => Kind::Half,
        ScalarKind::BFloat16 => Kind::BFloat16,
        ScalarKind::Int64 => Kind::Int64,
        ScalarKind::Int32 => Kind::Int,
        ScalarKind::Int16 => Kind::Int16,
        ScalarKind::Int8 => Kind::Int8,
        ScalarKind::Uint8 => Kind::Uint8,
        ScalarKind::Bool => Kind::Bool,
    }
}

//! A pickle writer: protocol 2, no memo, only what `torch.load(weights_only=True)` allows.

use tch::Tensor;

use super::error::Problem;
use super::tensor::{StorageTable, scalar_kind};
use super::value::{Dict, Key, Value};

/// Pickles `root`; its tensors' storages are entered into `storages`.
pub(super) fn pickle(
    root: &Value<Tensor>,
    storages: &mut StorageTable,
) -> Result<Vec<u8>, Problem> {
    let mut writer = Writer {
        out: vec![0x80, 2],
        storages,
    };
    writer.value(root)?;
    writer.out.push(b'.');
    Ok(writer.out)
}

struct Writer<'a> {
    out: Vec<u8>,
    storages: &'a mut StorageTable,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value<Tensor>) -> Result<(), Problem> {
        match value {
            Value::None => self.out.push(b'N'),
            Value::Bool(true) => self.out.push(0x88),
            Value::Bool(false) => self.out.push(0x89),
            Value::Int(int) => self.int(*int),
            Value::Float(float) => {
                self.out.push(b'G');
                self.out.extend(float.to_be_bytes());
            }
            Value::Text(text) => self.text(text),
            Value::List(items) => {
                self.out.extend(b"](");
                self.items(items)?;
                self.out.push(b'e');
            }
            Value::Tuple(items) => {
                self.out.push(b'(');
                self.items(items)?;
                self.out.push(b't');
            }
            Value::Dict(dict) => self.dict(dict)?,
            Value::Tensor(tensor) => self.tensor(tensor)?,
        }
        Ok(())
    }

    fn items(&mut self, items: &[Value<Tensor>]) -> Result<(), Problem> {
        items.iter().try_for_each(|item| self.value(item))
    }

    fn dict(&mut self, dict: &Dict<Tensor>) -> Result<(), Problem> {
        self.out.extend(b"}(");
        for (key, value) in dict {
            match key {
                Key::Text(text) => self.text(text),
                Key::Int(int) => self.int(*int),
            }
            self.value(value)?;
        }
        self.out.push(b'u');
        Ok(())
    }

    /// `_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks)`.
    fn tensor(&mut self, tensor: &Tensor) -> Result<(), Problem> {
        let kind = scalar_kind(tensor.f_kind()?)?;
        let size = tensor.size();
        let elements = i64::try_from(tensor.numel()).map_err(|e| Problem::Schema(e.to_string()))?;
        let key = self.storages.insert(tensor)?;
        self.global("torch._utils", "_rebuild_tensor_v2");
        self.out.extend(b"((");
        self.text("storage");
        self.global("torch", kind.storage_class());
        self.text(&key.to_string());
        self.text("cpu");
        self.int(elements);
        self.out.extend(b"tQ");
        self.int(0);
        self.shape(&size);
        self.shape(&contiguous_stride(&size));
        self.out.push(0x89);
        self.global("collections", "OrderedDict");
        self.out.extend(b")RtR");
        Ok(())
    }

    fn shape(&mut self, values: &[i64]) {
        self.out.push(b'(');
        values.iter().for_each(|value| self.int(*value));
        self.out.push(b't');
    }

    fn int(&mut self, int: i64) {
        if let Ok(byte) = u8::try_from(int) {
            self.out.extend([b'K', byte]);
        } else if let Ok(int) = i32::try_from(int) {
            self.out.push(b'J');
            self.out.extend(int.to_le_bytes());
        } else {
            self.out.extend([0x8a, 8]);
            self.out.extend(int.to_le_bytes());
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push(b'X');
        let length = u32::try_from(text.len()).expect("no text of a checkpoint reaches 4 GiB");
        self.out.extend(length.to_le_bytes());
        self.out.extend(text.as_bytes());
    }

    fn global(&mut self, module: &str, name: &str) {
        self.out.push(b'c');
        self.out.extend(format!("{module}\n{name}\n").as_bytes());
    }
}

fn contiguous_stride(size: &[i64]) -> Vec<i64> {
    let mut stride = vec![1; size.len()];
    for axis in (1..size.len()).rev() {
        stride[axis - 1] = stride[axis] * size[axis].max(1);
    }
    stride
}

//! The values a checkpoint is made of.

use indexmap::IndexMap;

/// A Python value, with tensors as `T`: a reference into the file when read, a tensor when written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<T> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Value<T>>),
    Tuple(Vec<Value<T>>),
    Dict(Dict<T>),
    Tensor(T),
}

/// A Python dict (or `OrderedDict`), in the order of insertion.
pub type Dict<T> = IndexMap<Key, Value<T>>;

/// The keys that occur in checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Text(String),
    Int(i64),
}

/// A tensor in the file: a strided view of a storage, bounds already checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorRef {
    pub storage: StorageRef,
    /// In elements.
    pub offset: usize,
    pub size: Vec<i64>,
    /// In elements.
    pub stride: Vec<i64>,
}

/// An entry of the archive that holds elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageRef {
    pub kind: ScalarKind,
    /// The entry's name below `data/`.
    pub key: String,
    pub elements: usize,
}

/// Element types of PyTorch's storages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    Float32,
    Float64,
    Float16,
    BFloat16,
    Int64,
    Int32,
    Int16,
    Int8,
    Uint8,
    Bool,
}

impl ScalarKind {
    const ALL: [ScalarKind; 10] = [
        ScalarKind::Float32,
        ScalarKind::Float64,
        ScalarKind::Float16,
        ScalarKind::BFloat16,
        ScalarKind::Int64,
        ScalarKind::Int32,
        ScalarKind::Int16,
        ScalarKind::Int8,
        ScalarKind::Uint8,
        ScalarKind::Bool,
    ];

    /// The class in module `torch` that stands for this type in a pickle.
    pub fn storage_class(self) -> &'static str {
        match self {
            ScalarKind::Float32 => "FloatStorage",
            ScalarKind::Float64 => "DoubleStorage",
            ScalarKind::Float16 => "HalfStorage",
            ScalarKind::BFloat16 => "BFloat16Storage",
            ScalarKind::Int64 => "LongStorage",
            ScalarKind::Int32 => "IntStorage",
            ScalarKind::Int16 => "ShortStorage",
            ScalarKind::Int8 => "CharStorage",
            ScalarKind::Uint8 => "ByteStorage",
            ScalarKind::Bool => "BoolStorage",
        }
    }

    /// The type of a storage class, or none for a name that is no storage.
    pub fn from_storage_class(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.storage_class() == name)
    }

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            ScalarKind::Float64 | ScalarKind::Int64 => 8,
            ScalarKind::Float32 | ScalarKind::Int32 => 4,
            ScalarKind::Float16 | ScalarKind::BFloat16 | ScalarKind::Int16 => 2,
            ScalarKind::Int8 | ScalarKind::Uint8 | ScalarKind::Bool => 1,
        }
    }
}

impl<T> Value<T> {
    /// The entry of a dict, by text key.
    pub fn get(&self, key: &str) -> Option<&Value<T>> {
        self.as_dict()?.get(&Key::from(key))
    }

    pub fn as_dict(&self) -> Option<&Dict<T>> {
        match self {
            Value::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// A float, or an integer as one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(float) => Some(*float),
            Value::Int(int) => Some(*int as f64),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Value<T>]> {
        match self {
            Value::List(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The Python type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::Tensor(_) => "Tensor",
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key::Text(text.to_owned())
    }
}

impl<T> From<&str> for Value<T> {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl<T> From<f64> for Value<T> {
    fn from(float: f64) -> Self {
        Value::Float(float)
    }
}

impl<T> From<i64> for Value<T> {
    fn from(int: i64) -> Self {
        Value::Int(int)
    }
}

impl<T> From<bool> for Value<T> {
    fn from(bool: bool) -> Self {
        Value::Bool(bool)
    }
}

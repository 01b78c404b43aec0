//! The few classes and functions a checkpoint may name.

use super::super::error::Problem;
use super::super::value::{ScalarKind, StorageRef, TensorRef};
use super::{Id, Machine, Node, Result};

/// libtorch has no more.
const MOST_DIMENSIONS: usize = 16;

#[derive(Clone, Copy)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Size,
    Storage(ScalarKind),
}

impl Machine<'_> {
    pub(super) fn global(&mut self, module: &str, name: &str) -> Result<()> {
        let global = match (module, name) {
            ("collections", "OrderedDict") => Global::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Global::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Global::RebuildParameter,
            ("torch", "Size") => Global::Size,
            ("torch", class) => match ScalarKind::from_storage_class(class) {
                Some(kind) => Global::Storage(kind),
                None => return Err(Problem::Global(format!("{module}.{name}"))),
            },
            _ => return Err(Problem::Global(format!("{module}.{name}"))),
        };
        self.push(Node::Global(global))
    }

    pub(super) fn call(&mut self, callable: Id, arguments: Id) -> Result<()> {
        let (Node::Global(global), Node::Tuple(arguments)) =
            (&self.nodes[callable], &self.nodes[arguments])
        else {
            return Err(Problem::damaged("the pickle calls what is no function"));
        };
        match (global, arguments.as_slice()) {
            (Global::OrderedDict, []) => self.push(Node::Dict(vec![])),
            (Global::Size, [items]) | (Global::RebuildParameter, [items, ..]) => {
                self.push_again(*items)
            }
            (Global::RebuildTensor, [storage, offset, size, stride, ..]) => {
                let tensor = self.tensor(*storage, *offset, *size, *stride)?;
                self.hold_text(tensor.storage.key.len())?;
                self.push(Node::Tensor(tensor))
            }
            _ => Err(Problem::damaged(
                "the pickle calls a function with the wrong arguments",
            )),
        }
    }

    pub(super) fn persistent_id(&mut self) -> Result<()> {
        let id = self.pop()?;
        let wrong = || Problem::damaged("a persistent id that names no storage");
        let Node::Tuple(parts) = &self.nodes[id] else {
            return Err(wrong());
        };
        let [_, class, key, _, elements] = parts.as_slice() else {
            return Err(wrong());
        };
        let (Node::Global(Global::Storage(kind)), Node::Text(key), Node::Int(elements)) = (
            &self.nodes[*class],
            &self.nodes[*key],
            &self.nodes[*elements],
        ) else {
            return Err(wrong());
        };
        let elements = usize::try_from(*elements).map_err(|_| wrong())?;
        let storage = StorageRef {
            kind: *kind,
            key: key.clone(),
            elements,
        };
        self.hold_text(storage.key.len())?;
        self.push(Node::Storage(storage))
    }

    fn tensor(&self, storage: Id, offset: Id, size: Id, stride: Id) -> Result<TensorRef> {
        let (Node::Storage(storage), Node::Int(offset)) =
            (&self.nodes[storage], &self.nodes[offset])
        else {
            return Err(Problem::damaged("a tensor without a storage"));
        };
        let (size, stride) = (self.shape(size)?, self.shape(stride)?);
        let tensor = TensorRef {
            storage: storage.clone(),
            offset: usize::try_from(*offset)
                .map_err(|_| Problem::damaged("a tensor with a negative offset"))?,
            size,
            stride,
        };
        tensor.check_bounds()?;
        Ok(tensor)
    }

    fn shape(&self, id: Id) -> Result<Vec<i64>> {
        let (Node::Tuple(items) | Node::List(items)) = &self.nodes[id] else {
            return Err(Problem::damaged("a tensor shape that is no tuple"));
        };
        if items.len() > MOST_DIMENSIONS {
            return Err(Problem::damaged(format!(
                "a tensor of {} dimensions",
                items.len()
            )));
        }
        items
            .iter()
            .map(|item| match self.nodes[*item] {
                Node::Int(int) => Ok(int),
                _ => Err(Problem::damaged("a tensor shape that holds no integer")),
            })
            .collect()
    }
}

impl TensorRef {
    /// Holds the view inside its storage, and no larger than it.
    fn check_bounds(&self) -> Result<()> {
        let wrong = || {
            Problem::damaged(format!(
                "tensor of shape {:?} leaves its storage",
                self.size
            ))
        };
        if self.size.len() != self.stride.len() {
            return Err(wrong());
        }
        let mut count: usize = 1;
        let mut last = self.offset;
        for (size, stride) in self.size.iter().zip(&self.stride) {
            let size = usize::try_from(*size).map_err(|_| wrong())?;
            let stride = usize::try_from(*stride).map_err(|_| wrong())?;
            count = count.checked_mul(size).ok_or_else(wrong)?;
            last = size
                .saturating_sub(1)
                .checked_mul(stride)
                .and_then(|reach| last.checked_add(reach))
                .ok_or_else(wrong)?;
        }
        let inside = if count == 0 {
            self.offset <= self.storage.elements
        } else {
            last < self.storage.elements
        };
        if !inside || count > self.storage.elements {
            return Err(wrong());
        }
        Ok(())
    }
}

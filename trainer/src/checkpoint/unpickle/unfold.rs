//! From the arena to a tree.

use super::super::error::Problem;
use super::super::limits::Limits;
use super::super::value::{Dict, Key, TensorRef, Value};
use super::{Id, Node, Result};

/// Copies what `root` reaches. Sharing becomes copies, so this counts again; a cycle ends at the depth cap.
pub(super) fn unfold(nodes: &[Node], root: Id, limits: &Limits) -> Result<Value<TensorRef>> {
    Unfolding {
        nodes,
        limits,
        values: 0,
        text_bytes: 0,
    }
    .value(root, 0)
}

struct Unfolding<'a> {
    nodes: &'a [Node],
    limits: &'a Limits,
    values: usize,
    text_bytes: usize,
}

impl Unfolding<'_> {
    fn value(&mut self, id: Id, depth: usize) -> Result<Value<TensorRef>> {
        if depth > self.limits.depth {
            return Err(Problem::TooLarge {
                what: "levels of nesting",
                limit: self.limits.depth as u64,
            });
        }
        self.values += 1;
        if self.values > self.limits.values {
            return Err(Problem::TooLarge {
                what: "values",
                limit: self.limits.values as u64,
            });
        }
        Ok(match &self.nodes[id] {
            Node::None | Node::Bytes => Value::None,
            Node::Bool(bool) => Value::Bool(*bool),
            Node::Int(int) => Value::Int(*int),
            Node::Float(float) => Value::Float(*float),
            Node::Text(text) => Value::Text(self.text(text)?),
            Node::Tuple(items) => Value::Tuple(self.items(items, depth)?),
            Node::List(items) => Value::List(self.items(items, depth)?),
            Node::Dict(items) => Value::Dict(self.dict(items, depth)?),
            Node::Tensor(tensor) => {
                self.text(&tensor.storage.key)?;
                Value::Tensor(tensor.clone())
            }
            Node::Global(_) | Node::Storage(_) => {
                return Err(Problem::damaged(
                    "the pickle holds a class where a value belongs",
                ));
            }
        })
    }

    fn items(&mut self, items: &[Id], depth: usize) -> Result<Vec<Value<TensorRef>>> {
        items
            .iter()
            .map(|item| self.value(*item, depth + 1))
            .collect()
    }

    fn dict(&mut self, items: &[(Id, Id)], depth: usize) -> Result<Dict<TensorRef>> {
        let mut dict = Dict::new();
        for (key, value) in items {
            let key = match &self.nodes[*key] {
                Node::Text(text) => Key::Text(self.text(text)?),
                Node::Int(int) => Key::Int(*int),
                _ => {
                    return Err(Problem::damaged(
                        "a dict key that is neither text nor integer",
                    ));
                }
            };
            dict.insert(key, self.value(*value, depth + 1)?);
        }
        Ok(dict)
    }

    fn text(&mut self, text: &str) -> Result<String> {
        self.text_bytes += text.len();
        if self.text_bytes > self.limits.text_bytes {
            return Err(Problem::TooLarge {
                what: "bytes of text",
                limit: self.limits.text_bytes as u64,
            });
        }
        Ok(text.to_owned())
    }
}

//! A pickle reader that builds data and runs nothing.
//!
//! Values live in an arena while the stack machine runs, because pickles share and mutate them; the end
//! unfolds the root into a tree, with its own limits, since sharing can make a small pickle unfold
//! without bound.

mod objects;
mod unfold;

use std::collections::HashMap;

use self::objects::Global;
use super::error::Problem;
use super::limits::Limits;
use super::value::{StorageRef, TensorRef, Value};

type Result<T> = std::result::Result<T, Problem>;
type Id = usize;

/// Reads one pickle of protocol 2 to 5.
///
/// # Errors
/// [`Problem::Global`] for any class or function beyond the few a checkpoint of tensors needs;
/// [`Problem::TooLarge`] past a limit; [`Problem::Damaged`] for everything else.
pub(super) fn unpickle(bytes: &[u8], limits: &Limits) -> Result<Value<TensorRef>> {
    let mut machine = Machine {
        input: bytes,
        limits,
        nodes: vec![],
        stack: vec![],
        marks: vec![],
        memo: HashMap::new(),
        pushed: 0,
        text_bytes: 0,
    };
    let root = machine.run()?;
    unfold::unfold(&machine.nodes, root, limits)
}

enum Node {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Bytes occur only beside what is read, so their content is dropped.
    Bytes,
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Global),
    Storage(StorageRef),
    Tensor(TensorRef),
}

struct Machine<'a> {
    input: &'a [u8],
    limits: &'a Limits,
    nodes: Vec<Node>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
    /// Values put on the stack so far, new ones and those put there again, and marks: one byte of the pickle takes eight
    /// of memory.
    pushed: usize,
    /// Of all text and names held so far.
    text_bytes: usize,
}

/// How often the values of a pickle may be put on the stack, for each that [`Limits::values`] allows.
const PUSHES_PER_VALUE: usize = 8;

impl Machine<'_> {
    fn run(&mut self) -> Result<Id> {
        loop {
            let opcode = self.take(1)?[0];
            if opcode == b'.' {
                return self.pop();
            }
            self.step(opcode)?;
        }
    }

    fn step(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            0x80 => drop(self.take(1)?), // PROTO
            0x95 => drop(self.take(8)?), // FRAME
            b'(' => {
                self.count_push()?;
                self.marks.push(self.stack.len());
            }
            b'0' => drop(self.pop()?),
            b'1' => drop(self.pop_mark()?),
            b'2' => self.push_again(self.top()?)?,
            b'N' => self.push(Node::None)?,
            0x88 => self.push(Node::Bool(true))?,
            0x89 => self.push(Node::Bool(false))?,
            b'J' => {
                let int = i32::from_le_bytes(self.array()?);
                self.push(Node::Int(int.into()))?;
            }
            b'K' => {
                let int = self.take(1)?[0];
                self.push(Node::Int(int.into()))?;
            }
            b'M' => {
                let int = u16::from_le_bytes(self.array()?);
                self.push(Node::Int(int.into()))?;
            }
            0x8a => self.long()?,
            b'G' => {
                let float = f64::from_be_bytes(self.array()?);
                self.push(Node::Float(float))?;
            }
            b'X' => {
                let length = self.length4()?;
                self.text(length)?;
            }
            0x8c => {
                let length = self.take(1)?[0];
                self.text(length.into())?;
            }
            b'B' | b'T' => {
                let length = self.length4()?;
                self.take(length)?;
                self.push(Node::Bytes)?;
            }
            b'C' | b'U' => {
                let length = self.take(1)?[0];
                self.take(length.into())?;
                self.push(Node::Bytes)?;
            }
            b')' => self.push(Node::Tuple(vec![]))?,
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b't' => {
                let items = self.pop_mark()?;
                self.push(Node::Tuple(items))?;
            }
            b']' => self.push(Node::List(vec![]))?,
            b'l' => {
                let items = self.pop_mark()?;
                self.push(Node::List(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(items)?;
            }
            b'}' => self.push(Node::Dict(vec![]))?,
            b'd' => {
                let items = self.pop_mark()?;
                self.push(Node::Dict(vec![]))?;
                self.set_items(&items)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set_items(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set_items(&items)?;
            }
            b'c' => {
                let module = self.line()?;
                let name = self.line()?;
                self.global(&module, &name)?;
            }
            0x93 => {
                let name = self.pop_text()?;
                let module = self.pop_text()?;
                self.global(&module, &name)?;
            }
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                let callable = self.pop()?;
                self.call(callable, arguments)?;
            }
            b'b' => self.build()?,
            b'Q' => self.persistent_id()?,
            b'q' => {
                let slot = self.take(1)?[0];
                self.memoize(slot.into())?;
            }
            b'r' => {
                let slot = u32::from_le_bytes(self.array()?);
                self.memoize(slot)?;
            }
            0x94 => self.memoize(self.memo.len() as u32)?,
            b'h' => {
                let slot = self.take(1)?[0];
                self.recall(slot.into())?;
            }
            b'j' => {
                let slot = u32::from_le_bytes(self.array()?);
                self.recall(slot)?;
            }
            other => {
                return Err(Problem::damaged(format!(
                    "pickle opcode {other:#04x} is unknown here"
                )));
            }
        }
        Ok(())
    }

    // Input.

    fn take(&mut self, count: usize) -> Result<&[u8]> {
        let Some((head, rest)) = self.input.split_at_checked(count) else {
            return Err(Problem::damaged("the pickle ends too early"));
        };
        self.input = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn length4(&mut self) -> Result<usize> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn line(&mut self) -> Result<String> {
        let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else {
            return Err(Problem::damaged("the pickle ends inside a name"));
        };
        let line = utf8(self.take(end)?)?;
        self.take(1)?;
        Ok(line)
    }

    fn text(&mut self, length: usize) -> Result<()> {
        let text = utf8(self.take(length)?)?;
        self.hold_text(text.len())?;
        self.push(Node::Text(text))
    }

    fn long(&mut self) -> Result<()> {
        let length = usize::from(self.take(1)?[0]);
        let bytes = self.take(length)?;
        if length > 8 {
            return Err(Problem::damaged("an integer of more than 64 bits"));
        }
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut padded = [if negative { 0xff } else { 0 }; 8];
        padded[..length].copy_from_slice(bytes);
        self.push(Node::Int(i64::from_le_bytes(padded)))
    }

    // Stack and memo.

    fn push(&mut self, node: Node) -> Result<()> {
        if self.nodes.len() >= self.limits.values {
            return Err(Problem::TooLarge {
                what: "pickled values",
                limit: self.limits.values as u64,
            });
        }
        self.nodes.push(node);
        self.push_again(self.nodes.len() - 1)
    }

    fn push_again(&mut self, id: Id) -> Result<()> {
        self.count_push()?;
        self.stack.push(id);
        Ok(())
    }

    fn count_push(&mut self) -> Result<()> {
        self.pushed += 1;
        let limit = self.limits.values.saturating_mul(PUSHES_PER_VALUE);
        if self.pushed > limit {
            return Err(Problem::TooLarge {
                what: "steps of the pickle",
                limit: limit as u64,
            });
        }
        Ok(())
    }

    fn hold_text(&mut self, length: usize) -> Result<()> {
        self.text_bytes = self.text_bytes.saturating_add(length);
        if self.text_bytes > self.limits.text_bytes {
            return Err(Problem::TooLarge {
                what: "bytes of text",
                limit: self.limits.text_bytes as u64,
            });
        }
        Ok(())
    }

    /// The stack above the last mark is all an opcode may touch.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Id> {
        if self.stack.len() <= self.floor() {
            return Err(Problem::damaged("the pickle's stack runs empty"));
        }
        self.stack
            .pop()
            .ok_or_else(|| Problem::damaged("the pickle's stack runs empty"))
    }

    fn top(&self) -> Result<Id> {
        match self.stack.last() {
            Some(id) if self.stack.len() > self.floor() => Ok(*id),
            _ => Err(Problem::damaged("the pickle's stack runs empty")),
        }
    }

    fn pop_mark(&mut self) -> Result<Vec<Id>> {
        let mark = self
            .marks
            .pop()
            .ok_or_else(|| Problem::damaged("the pickle misses a mark"))?;
        Ok(self.stack.split_off(mark))
    }

    fn pop_text(&mut self) -> Result<String> {
        let id = self.pop()?;
        match &self.nodes[id] {
            Node::Text(text) => Ok(text.clone()),
            _ => Err(Problem::damaged("a name that is no text")),
        }
    }

    fn memoize(&mut self, slot: u32) -> Result<()> {
        let id = self.top()?;
        self.memo.insert(slot, id);
        if self.memo.len() > self.limits.values {
            return Err(Problem::TooLarge {
                what: "remembered values",
                limit: self.limits.values as u64,
            });
        }
        Ok(())
    }

    fn recall(&mut self, slot: u32) -> Result<()> {
        let id = *self.memo.get(&slot).ok_or_else(|| {
            Problem::damaged(format!("the pickle recalls slot {slot} before it is set"))
        })?;
        self.push_again(id)
    }

    // Containers.

    fn tuple(&mut self, length: usize) -> Result<()> {
        let mut items = vec![0; length];
        for item in items.iter_mut().rev() {
            *item = self.pop()?;
        }
        self.push(Node::Tuple(items))
    }

    fn append(&mut self, items: Vec<Id>) -> Result<()> {
        let id = self.top()?;
        match &mut self.nodes[id] {
            Node::List(list) => list.extend(items),
            _ => return Err(Problem::damaged("the pickle appends to what is no list")),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[Id]) -> Result<()> {
        let id = self.top()?;
        let Node::Dict(dict) = &mut self.nodes[id] else {
            return Err(Problem::damaged(
                "the pickle sets an item of what is no dict",
            ));
        };
        if !items.len().is_multiple_of(2) {
            return Err(Problem::damaged("the pickle sets a key without a value"));
        }
        dict.extend(items.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        Ok(())
    }

    /// The state of an object: only an `OrderedDict` has one here, `_metadata`, which nothing needs.
    fn build(&mut self) -> Result<()> {
        self.pop()?;
        match self.nodes[self.top()?] {
            Node::Dict(_) => Ok(()),
            _ => Err(Problem::damaged(
                "the pickle sets attributes of what has none",
            )),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<String> {
    std::str::from_utf8(bytes)
        .map(str::to_owned)
        .map_err(|_| Problem::damaged("text that is not UTF-8"))
}

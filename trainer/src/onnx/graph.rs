//! Building a graph, one operation at a time.

use tch::nn::ModuleT;
use tch::{Device, Kind, Tensor};

use super::proto::{Attribute, GraphMessage, Node, TensorMessage, ValueInfo};

const FLOAT: i32 = 1;
const INT64: i32 = 7;
const ATTRIBUTE_INT: i32 = 2;
const ATTRIBUTE_STRING: i32 = 3;
const ATTRIBUTE_INTS: i32 = 7;

/// A module that can be run, and written down.
pub(crate) trait Layer: ModuleT {
    /// Adds its operations to the graph, in evaluation mode.
    fn export(&self, graph: &mut Graph, x: &Value) -> Value;
}

/// The name of a tensor in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value(String);

/// Nodes and constants so far. Operations are those of opset 13.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    constants: Vec<TensorMessage>,
    /// Values named so far.
    values: usize,
}

/// A convolution with its normalisation folded in.
#[derive(Debug)]
pub(crate) struct Convolution {
    /// `[out, in / groups, k, k]`.
    pub(crate) weight: Tensor,
    /// `[out]`.
    pub(crate) bias: Tensor,
    pub(crate) stride: i64,
    pub(crate) groups: i64,
}

/// A pooling window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    pub(crate) kernel: i64,
    pub(crate) stride: i64,
    pub(crate) padding: i64,
}

impl Graph {
    /// The graph's input of this name.
    pub(super) fn input(&self, name: &str) -> Value {
        Value(name.to_owned())
    }

    /// Padded so that a kernel of odd side keeps the resolution at stride 1, and one of even side halves it at 2.
    pub(crate) fn convolution(&mut self, x: &Value, convolution: &Convolution) -> Value {
        let Convolution {
            weight,
            bias,
            stride,
            groups,
        } = convolution;
        let kernel = weight.size()[2];
        let (weight, bias) = (self.floats(weight), self.floats(bias));
        self.node(
            "Conv",
            &[x, &weight, &bias],
            vec![
                ints("dilations", &[1, 1]),
                int("group", *groups),
                ints("kernel_shape", &[kernel; 2]),
                ints("pads", &[(kernel - 1) / 2; 4]),
                ints("strides", &[*stride; 2]),
            ],
        )
    }

    pub(crate) fn silu(&mut self, x: &Value) -> Value {
        let gate = self.sigmoid(x);
        self.node("Mul", &[x, &gate], vec![])
    }

    pub(crate) fn sigmoid(&mut self, x: &Value) -> Value {
        self.node("Sigmoid", &[x], vec![])
    }

    pub(crate) fn exponential(&mut self, x: &Value) -> Value {
        self.node("Exp", &[x], vec![])
    }

    /// The axes in this order.
    pub(crate) fn transpose(&mut self, x: &Value, axes: &[i64]) -> Value {
        self.node("Transpose", &[x], vec![ints("perm", axes)])
    }

    pub(crate) fn add(&mut self, x: &Value, y: &Value) -> Value {
        self.node("Add", &[x, y], vec![])
    }

    pub(crate) fn subtract(&mut self, x: &Value, y: &Value) -> Value {
        self.node("Sub", &[x, y], vec![])
    }

    pub(crate) fn multiply(&mut self, x: &Value, y: &Value) -> Value {
        self.node("Mul", &[x, y], vec![])
    }

    pub(crate) fn concatenate(&mut self, parts: &[&Value], axis: i64) -> Value {
        self.node("Concat", parts, vec![int("axis", axis)])
    }

    /// Parts of these lengths along an axis.
    pub(crate) fn split<const N: usize>(
        &mut self,
        x: &Value,
        axis: i64,
        lengths: [i64; N],
    ) -> [Value; N] {
        let lengths = self.integers(&lengths);
        let outputs = [(); N].map(|()| self.fresh());
        self.push("Split", &[x, &lengths], &outputs, vec![int("axis", axis)]);
        outputs
    }

    /// Two equal parts along the channels.
    pub(crate) fn halves(&mut self, x: &Value) -> [Value; 2] {
        let outputs = [(); 2].map(|()| self.fresh());
        self.push("Split", &[x], &outputs, vec![int("axis", 1)]);
        outputs
    }

    pub(crate) fn max_pool(&mut self, x: &Value, pool: Pool) -> Value {
        self.node("MaxPool", &[x], pool.attributes())
    }

    pub(crate) fn mean_pool(&mut self, x: &Value, pool: Pool) -> Value {
        let mut attributes = pool.attributes();
        attributes.push(int("count_include_pad", 1));
        self.node("AveragePool", &[x], attributes)
    }

    /// Each value twice in both directions.
    pub(crate) fn double_resolution(&mut self, x: &Value) -> Value {
        let scales = self.floats(&Tensor::from_slice(&[1.0_f32, 1.0, 2.0, 2.0]));
        let none = Value(String::new());
        self.node(
            "Resize",
            &[x, &none, &scales],
            vec![
                string("coordinate_transformation_mode", "asymmetric"),
                string("mode", "nearest"),
                string("nearest_mode", "floor"),
            ],
        )
    }

    /// 0 keeps a length, -1 is what is left.
    pub(crate) fn reshape(&mut self, x: &Value, shape: &[i64]) -> Value {
        let shape = self.integers(shape);
        self.node("Reshape", &[x, &shape], vec![])
    }

    pub(crate) fn softmax(&mut self, x: &Value, axis: i64) -> Value {
        self.node("Softmax", &[x], vec![int("axis", axis)])
    }

    /// The axis is gone afterwards.
    pub(crate) fn sum(&mut self, x: &Value, axis: i64) -> Value {
        let axes = self.integers(&[axis]);
        self.node("ReduceSum", &[x, &axes], vec![int("keepdims", 0)])
    }

    /// A constant, in single precision.
    pub(crate) fn floats(&mut self, tensor: &Tensor) -> Value {
        let tensor = tensor
            .detach()
            .to_device(Device::Cpu)
            .to_kind(Kind::Float)
            .contiguous();
        let values = Vec::<f32>::try_from(tensor.flatten(0, -1)).expect("a tensor of floats");
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.constant(tensor.size(), FLOAT, bytes.collect())
    }

    fn integers(&mut self, values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        let length = i64::try_from(values.len()).unwrap_or(i64::MAX);
        self.constant(vec![length], INT64, bytes.collect())
    }

    fn constant(&mut self, dims: Vec<i64>, data_type: i32, raw_data: Vec<u8>) -> Value {
        let name = format!("c{}", self.constants.len());
        self.constants.push(TensorMessage {
            dims,
            data_type,
            name: name.clone(),
            raw_data,
        });
        Value(name)
    }

    fn node(&mut self, operation: &str, inputs: &[&Value], attributes: Vec<Attribute>) -> Value {
        let output = self.fresh();
        self.push(operation, inputs, std::slice::from_ref(&output), attributes);
        output
    }

    fn push(
        &mut self,
        operation: &str,
        inputs: &[&Value],
        outputs: &[Value],
        attribute: Vec<Attribute>,
    ) {
        self.nodes.push(Node {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: outputs.iter().map(|value| value.0.clone()).collect(),
            name: format!("{operation}_{}", self.nodes.len()),
            op_type: operation.to_owned(),
            attribute,
        });
    }

    fn fresh(&mut self) -> Value {
        self.values += 1;
        Value(format!("t{}", self.values))
    }

    /// The finished graph; its last value gets the output's name.
    pub(super) fn finish(
        mut self,
        result: &Value,
        input: ValueInfo,
        output: ValueInfo,
    ) -> GraphMessage {
        let names = self.nodes.iter_mut().flat_map(|node| &mut node.output);
        for name in names.filter(|name| **name == result.0) {
            name.clone_from(&output.name);
        }
        GraphMessage {
            node: self.nodes,
            name: "main_graph".to_owned(),
            initializer: self.constants,
            input: vec![input],
            output: vec![output],
        }
    }
}

impl Pool {
    fn attributes(self) -> Vec<Attribute> {
        vec![
            int("ceil_mode", 0),
            ints("kernel_shape", &[self.kernel; 2]),
            ints("pads", &[self.padding; 4]),
            ints("strides", &[self.stride; 2]),
        ]
    }
}

fn int(name: &str, value: i64) -> Attribute {
    Attribute {
        name: name.to_owned(),
        i: value,
        kind: ATTRIBUTE_INT,
        ..Attribute::default()
    }
}

fn ints(name: &str, values: &[i64]) -> Attribute {
    Attribute {
        name: name.to_owned(),
        ints: values.to_vec(),
        kind: ATTRIBUTE_INTS,
        ..Attribute::default()
    }
}

fn string(name: &str, value: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        s: value.as_bytes().to_vec(),
        kind: ATTRIBUTE_STRING,
        ..Attribute::default()
    }
}

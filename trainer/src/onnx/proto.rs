//! The messages of ONNX that a network needs. Source of names and field numbers: `onnx/onnx.proto` of the ONNX
//! project, IR version 7.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<GraphMessage>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata_props: Vec<Property>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Property {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GraphMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<TensorMessage>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<Attribute>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int64, tag = "3")]
    pub(super) i: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) s: Vec<u8>,
    #[prost(int64, repeated, tag = "8")]
    pub(super) ints: Vec<i64>,
    /// `AttributeType`: 2 INT, 3 STRING, 7 INTS.
    #[prost(int32, tag = "20")]
    pub(super) kind: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorMessage {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    /// `DataType`: 1 FLOAT, 7 INT64.
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    /// Little-endian.
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw_data: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) r#type: Option<Type>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<Dimension>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Dimension {
    #[prost(oneof = "Extent", tags = "1, 2")]
    pub(super) extent: Option<Extent>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Extent {
    #[prost(int64, tag = "1")]
    Value(i64),
    /// Decided when the network is run.
    #[prost(string, tag = "2")]
    Symbol(String),
}

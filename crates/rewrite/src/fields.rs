//! Field numbers of ONNX messages that edits replace or append.

pub(crate) const MODEL_IR_VERSION: u32 = 1;
pub(crate) const MODEL_OPSET_IMPORT: u32 = 8;
pub(crate) const MODEL_FUNCTION: u32 = 25;

pub(crate) const GRAPH_NODE: u32 = 1;
pub(crate) const GRAPH_INITIALIZER: u32 = 5;
pub(crate) const GRAPH_INPUT: u32 = 11;
pub(crate) const GRAPH_OUTPUT: u32 = 12;
pub(crate) const GRAPH_VALUE_INFO: u32 = 13;
pub(crate) const GRAPH_QUANTIZATION: u32 = 14;
pub(crate) const GRAPH_SPARSE_INITIALIZER: u32 = 15;

pub(crate) const FUNCTION_NAME: u32 = 1;
pub(crate) const FUNCTION_OUTPUT: u32 = 5;
pub(crate) const FUNCTION_NODE: u32 = 7;
pub(crate) const FUNCTION_OPSET_IMPORT: u32 = 9;
pub(crate) const FUNCTION_VALUE_INFO: u32 = 12;

pub(crate) const NODE_INPUT: u32 = 1;
pub(crate) const NODE_OUTPUT: u32 = 2;
pub(crate) const NODE_OP_TYPE: u32 = 4;

pub(crate) const TENSOR_NAME: u32 = 8;

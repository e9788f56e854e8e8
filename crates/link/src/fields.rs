//! Field numbers of ONNX messages.

pub(crate) const MODEL_GRAPH: u32 = 7;
pub(crate) const MODEL_TRAINING: u32 = 20;
pub(crate) const MODEL_FUNCTION: u32 = 25;

pub(crate) const GRAPH_NODE: u32 = 1;
pub(crate) const GRAPH_INITIALIZER: u32 = 5;
pub(crate) const GRAPH_INPUT: u32 = 11;
pub(crate) const GRAPH_OUTPUT: u32 = 12;
pub(crate) const GRAPH_VALUE_INFO: u32 = 13;
pub(crate) const GRAPH_ANNOTATION: u32 = 14;
pub(crate) const GRAPH_SPARSE_INITIALIZER: u32 = 15;

pub(crate) const TENSOR_NAME: u32 = 8;
pub(crate) const TENSOR_EXTERNAL_DATA: u32 = 13;

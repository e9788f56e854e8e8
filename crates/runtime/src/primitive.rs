//! Decoding of nodes as calls of the thirty primitives.
//!
//! Preparation decodes the primitive and its attributes once. Operands that ONNX passes as tensors and the
//! contract as numbers (axes, a shape, the bounds of a slice) are read when the node runs. Operator forms
//! outside of the primitive (`allowzero`, a non-saturating cast) are not decoded and run as graphs.

use std::borrow::Cow;

use smallvec::SmallVec;
use typeloom_contracts::backend::Backend;
use typeloom_cpu::attributes::Attributes;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::convert::{FromDatum, IntoDatum};
use crate::error::ComponentError;
use crate::operator;

/// A binary primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    MatMul,
    Equal,
    Greater,
    Less,
}

/// A unary primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unary {
    Neg,
    Abs,
    Sqrt,
    Exp,
    Log,
    Identity,
}

/// A primitive along axes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
}

/// A node as a call of a primitive.
#[derive(Clone, Debug)]
pub(crate) enum Primitive {
    Binary(Binary),
    Unary(Unary),
    Reduce { op: Reduction, axes: Option<Vec<i64>>, keepdims: bool, without_axes_nothing: bool },
    Reshape,
    Transpose { perm: Option<Vec<i64>> },
    Concat { axis: i64 },
    Slice { starts: Option<Vec<i64>>, ends: Option<Vec<i64>>, axes: Option<Vec<i64>> },
    Split { sizes: Option<Vec<i64>>, parts: Option<usize>, axis: i64 },
    Squeeze { axes: Option<Vec<i64>> },
    Unsqueeze { axes: Option<Vec<i64>> },
    Cast { to: Dtype },
    Where,
    Constant(Box<TensorProto>),
    Gather { axis: i64 },
}

/// Results of a primitive.
pub(crate) enum Outputs<T> {
    One(T),
    Parts(Vec<T>),
}

impl<T> Outputs<T> {
    /// Maps each result with its index.
    pub(crate) fn each<U>(self, each: impl Fn(usize, T) -> U) -> SmallVec<[U; 1]> {
        match self {
            Self::One(one) => SmallVec::from_buf([each(0, one)]),
            Self::Parts(parts) => parts.into_iter().enumerate().map(|(at, part)| each(at, part)).collect(),
        }
    }
}

/// Operands of a primitive.
pub(crate) trait Operands<T: ToOwned + ?Sized> {
    /// Number of inputs of the node, including absent ones.
    fn count(&self) -> usize;

    /// An input in the storage type of the backend.
    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError>;

    /// An input as integers; `None` if absent.
    fn ints(&self, index: usize) -> Result<Option<Vec<i64>>, ComponentError>;

    /// The shape of an input, if known.
    fn shape(&self, index: usize) -> Option<Vec<usize>>;
}

/// The elements of a tensor of 32-bit or 64-bit integers.
pub(crate) fn ints(tensor: &AnyTensor, index: usize) -> Result<Vec<i64>, ComponentError> {
    match (tensor.as_slice::<i64>(), tensor.as_slice::<i32>()) {
        (Ok(values), _) => Ok(values.to_vec()),
        (Err(_), Ok(values)) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
        (Err(_), Err(_)) => {
            let found = tensor.dtype().onnx_name().to_owned();
            Err(ComponentError::Argument { index, found, wanted: "whole numbers" })
        }
    }
}

/// Converts a tensor to an ONNX message.
pub(crate) fn message(tensor: &AnyTensor) -> TensorProto {
    let dims = tensor.shape().iter().map(|extent| i64::try_from(*extent).unwrap_or(i64::MAX)).collect();
    let data_type = Some(tensor.dtype().onnx_number());
    let message = TensorProto { dims, data_type, ..TensorProto::default() };
    match tensor.strings() {
        Ok(strings) => {
            let string_data = strings.map(|text| bytes::Bytes::copy_from_slice(text.as_bytes())).collect();
            TensorProto { string_data, ..message }
        }
        Err(_) => {
            let raw_data = Some(bytes::Bytes::copy_from_slice(tensor.bytes()));
            TensorProto { raw_data, ..message }
        }
    }
}

fn attribute<'n>(node: &'n NodeProto, name: &str) -> Option<&'n AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name() == name)
}

fn list(node: &NodeProto, name: &str) -> Option<Vec<i64>> {
    attribute(node, name).map(|attribute| attribute.ints.clone())
}

impl Primitive {
    /// Decodes a node; `None` for other operators and for forms that the primitive does not support.
    pub(crate) fn of(node: &NodeProto) -> Option<Self> {
        if !matches!(node.domain(), "" | "ai.onnx") {
            return None;
        }
        let int = |name: &str, default: i64| attribute(node, name).map_or(default, AttributeProto::i);
        let binary = |op: Binary| node.attribute.is_empty().then_some(Self::Binary(op));
        let unary = |op: Unary| Some(Self::Unary(op));
        let reduce = |op: Reduction| {
            Some(Self::Reduce {
                op,
                axes: list(node, "axes"),
                keepdims: int("keepdims", 1) != 0,
                without_axes_nothing: int("noop_with_empty_axes", 0) != 0,
            })
        };
        match node.op_type() {
            "Add" => binary(Binary::Add),
            "Sub" => binary(Binary::Sub),
            "Mul" => binary(Binary::Mul),
            "Div" => binary(Binary::Div),
            "Pow" => binary(Binary::Pow),
            "MatMul" => binary(Binary::MatMul),
            "Equal" => binary(Binary::Equal),
            "Greater" => binary(Binary::Greater),
            "Less" => binary(Binary::Less),
            "Neg" => unary(Unary::Neg),
            "Abs" => unary(Unary::Abs),
            "Sqrt" => unary(Unary::Sqrt),
            "Exp" => unary(Unary::Exp),
            "Log" => unary(Unary::Log),
            "Identity" => unary(Unary::Identity),
            "ReduceSum" => reduce(Reduction::Sum),
            "ReduceMean" => reduce(Reduction::Mean),
            "ReduceMax" => reduce(Reduction::Max),
            "ReduceMin" => reduce(Reduction::Min),
            "Reshape" => (int("allowzero", 0) == 0 && node.input.len() == 2).then_some(Self::Reshape),
            "Transpose" => Some(Self::Transpose { perm: list(node, "perm") }),
            "Concat" => attribute(node, "axis").map(|axis| Self::Concat { axis: axis.i() }),
            "Slice" => Some(Self::Slice {
                starts: list(node, "starts"),
                ends: list(node, "ends"),
                axes: list(node, "axes"),
            }),
            "Split" => {
                let parts = usize::try_from(int("num_outputs", -1)).ok();
                Some(Self::Split { sizes: list(node, "split"), parts, axis: int("axis", 0) })
            }
            "Squeeze" => Some(Self::Squeeze { axes: list(node, "axes") }),
            "Unsqueeze" => Some(Self::Unsqueeze { axes: list(node, "axes") }),
            "Cast" if int("saturate", 1) != 0 && attribute(node, "round_mode").is_none() => {
                let to = i32::try_from(int("to", 0)).ok().and_then(Dtype::from_onnx_number)?;
                Some(Self::Cast { to })
            }
            "Where" => Some(Self::Where),
            "Constant" => constant(node).map(|value| Self::Constant(Box::new(value))),
            "Gather" => Some(Self::Gather { axis: int("axis", 0) }),
            _ => None,
        }
    }

    /// Calls the primitive. `outputs` is the number of outputs of the node.
    pub(crate) fn call<B: Backend<Tensor: FromDatum + IntoDatum>>(
        &self,
        backend: &B,
        given: &impl Operands<B::Tensor>,
        outputs: usize,
    ) -> Result<Outputs<B::Tensor>, ComponentError> {
        let one = match self {
            Self::Binary(op) => {
                let (a, b) = (&*given.tensor(0)?, &*given.tensor(1)?);
                match op {
                    Binary::Add => backend.add(a, b),
                    Binary::Sub => backend.sub(a, b),
                    Binary::Mul => backend.mul(a, b),
                    Binary::Div => backend.div(a, b),
                    Binary::Pow => backend.pow(a, b),
                    Binary::MatMul => backend.matmul(a, b),
                    Binary::Equal => backend.equal(a, b),
                    Binary::Greater => backend.greater(a, b),
                    Binary::Less => backend.less(a, b),
                }
            }
            Self::Unary(op) => {
                let a = &*given.tensor(0)?;
                match op {
                    Unary::Neg => backend.neg(a),
                    Unary::Abs => backend.abs(a),
                    Unary::Sqrt => backend.sqrt(a),
                    Unary::Exp => backend.exp(a),
                    Unary::Log => backend.log(a),
                    Unary::Identity => backend.identity(a),
                }
            }
            Self::Reduce { op, axes, keepdims, without_axes_nothing } => {
                let axes = given.ints(1)?.or_else(|| axes.clone()).filter(|axes| !axes.is_empty());
                let (a, axes) = (&*given.tensor(0)?, axes.as_deref());
                match op {
                    _ if axes.is_none() && *without_axes_nothing => backend.identity(a),
                    Reduction::Sum => backend.reduce_sum(a, axes, *keepdims),
                    Reduction::Mean => backend.reduce_mean(a, axes, *keepdims),
                    Reduction::Max => backend.reduce_max(a, axes, *keepdims),
                    Reduction::Min => backend.reduce_min(a, axes, *keepdims),
                }
            }
            Self::Reshape => {
                let shape = given.ints(1)?.ok_or(ComponentError::Missing(1))?;
                backend.reshape(&*given.tensor(0)?, &shape)
            }
            Self::Transpose { perm } => {
                let perm = match perm {
                    Some(perm) => Cow::Borrowed(perm.as_slice()),
                    None => {
                        let rank = given.shape(0).ok_or_else(|| unknown("the rank"))?.len();
                        Cow::Owned((0..i64::try_from(rank).unwrap_or(0)).rev().collect())
                    }
                };
                backend.transpose(&*given.tensor(0)?, &perm)
            }
            Self::Concat { axis } => {
                let parts = (0..given.count()).map(|at| given.tensor(at)).collect::<Result<Vec<_>, _>>()?;
                let parts: Vec<&B::Tensor> = parts.iter().map(|part| &**part).collect();
                backend.concat(&parts, *axis)
            }
            Self::Slice { starts, ends, axes } => {
                let needed = |at: usize, own: &Option<Vec<i64>>| match given.ints(at)? {
                    Some(values) => Ok(values),
                    None => own.clone().ok_or(ComponentError::Missing(at)),
                };
                let (starts, ends) = (needed(1, starts)?, needed(2, ends)?);
                let count = i64::try_from(starts.len()).unwrap_or(0);
                let axes = given.ints(3)?.or_else(|| axes.clone()).unwrap_or_else(|| (0..count).collect());
                let steps = given.ints(4)?.unwrap_or_else(|| vec![1; starts.len()]);
                backend.slice(&*given.tensor(0)?, &starts, &ends, &axes, &steps)
            }
            Self::Split { sizes, parts, axis } => {
                let sizes = match given.ints(1)?.or_else(|| sizes.clone()) {
                    Some(sizes) => sizes,
                    None => {
                        let shape = given.shape(0).ok_or_else(|| unknown("the shape"))?;
                        even(&shape, *axis, parts.unwrap_or(outputs))?
                    }
                };
                let parts = backend.split(&*given.tensor(0)?, &sizes, *axis);
                return parts.map(Outputs::Parts).map_err(ComponentError::failed);
            }
            Self::Squeeze { axes } => {
                let axes = given.ints(1)?.or_else(|| axes.clone());
                backend.squeeze(&*given.tensor(0)?, axes.as_deref())
            }
            Self::Unsqueeze { axes } => {
                let axes = given.ints(1)?.or_else(|| axes.clone()).ok_or(ComponentError::Missing(1))?;
                backend.unsqueeze(&*given.tensor(0)?, &axes)
            }
            Self::Cast { to } => backend.cast(&*given.tensor(0)?, *to),
            Self::Where => backend.where_(&*given.tensor(0)?, &*given.tensor(1)?, &*given.tensor(2)?),
            Self::Constant(value) => backend.constant(value),
            Self::Gather { axis } => backend.gather(&*given.tensor(0)?, &*given.tensor(1)?, *axis),
        };
        one.map(Outputs::One).map_err(ComponentError::failed)
    }
}

fn unknown(what: &str) -> ComponentError {
    ComponentError::Inconsistent(format!("{what} of input 0 is not known to what the component stores"))
}

/// The value of a `Constant` node, from any of its attributes.
fn constant(node: &NodeProto) -> Option<TensorProto> {
    if let Some(value) = attribute(node, "value").and_then(|attribute| attribute.t.as_deref()) {
        return Some(value.clone());
    }
    let attributes = Attributes::decode(&node.attribute).ok()?;
    let value = operator::run("Constant", &attributes, Vec::new()).ok()?;
    value.as_tensor().map(message)
}

/// The sizes of `parts` equal parts, the last of which can be smaller.
fn even(shape: &[usize], axis: i64, parts: usize) -> Result<Vec<i64>, ComponentError> {
    let rank = i64::try_from(shape.len()).unwrap_or(0);
    let extent = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok().and_then(|at| shape.get(at));
    let (Some(extent), 1..) = (extent, parts) else {
        return Err(ComponentError::Inconsistent(format!("axis {axis} cannot be split in {parts} parts")));
    };
    let each = extent.div_ceil(parts);
    let size = |at: usize| i64::try_from(each.min(extent.saturating_sub(at * each))).unwrap_or(0);
    Ok((0..parts).map(size).collect())
}

//! Nodes as calls of the thirty primitives that every backend implements.
//!
//! [`decode`] reads the attributes of a node once, before the first run. Some inputs are tensors in ONNX but
//! lists of integers in the method of the primitive: axes, a shape, the bounds of a slice. These are read in
//! each run. A primitive does not support some forms of its operator, such as `Cast` without saturation.
//! Nodes of these forms are not decoded and run as graphs.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};
use typeloom_contracts::backend::Backend;
use typeloom_cpu::attributes::Attributes;
use typeloom_module::dispatch::fits_primitive;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto};
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;
use typeloom_types::primitives;
use typeloom_types::shape::position;

use crate::error::ComponentError;
use crate::operator;

type Tensor<B> = <B as Backend>::Tensor;
type Computed<B> = Result<Tensor<B>, <B as Backend>::Error>;
type Unary<B> = fn(&B, &Tensor<B>) -> Computed<B>;
type Binary<B> = fn(&B, &Tensor<B>, &Tensor<B>) -> Computed<B>;
type Reduction<B> = fn(&B, &Tensor<B>, Option<&[i64]>, bool) -> Computed<B>;

/// Results of a primitive. Most primitives have one result.
pub(crate) type Outputs<B> = SmallVec<[Tensor<B>; 1]>;

/// A call of a primitive of a backend.
pub(crate) type Primitive<B> =
    Box<dyn Fn(&B, &dyn Operands<Tensor<B>>) -> Result<Outputs<B>, ComponentError> + Send + Sync>;

/// Operands of a primitive.
pub(crate) trait Operands<T: ToOwned + ?Sized> {
    /// Number of inputs of the node, including absent ones.
    fn count(&self) -> usize;

    /// An input in the storage type of the backend.
    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError>;

    /// As [`Operands::tensor`], for indices into an axis of this extent.
    fn indices(&self, index: usize, extent: Option<usize>) -> Result<Cow<'_, T>, ComponentError>;

    /// The value of an input; `None` if absent.
    fn datum(&self, index: usize) -> Option<Cow<'_, Datum>>;

    /// An input of 32-bit or 64-bit integers; `None` if absent.
    fn ints(&self, index: usize) -> Result<Option<Vec<i64>>, ComponentError> {
        self.datum(index).map(|datum| ints(&datum, index)).transpose()
    }

    /// The shape of an input, if known.
    fn shape(&self, index: usize) -> Option<Vec<usize>> {
        self.datum(index)?.as_tensor().map(|tensor| tensor.shape().to_vec())
    }
}

/// The elements of a tensor of 32-bit or 64-bit integers.
pub(crate) fn ints(datum: &Datum, index: usize) -> Result<Vec<i64>, ComponentError> {
    let tensor = datum.as_tensor();
    if let Some(values) = tensor.and_then(|tensor| tensor.as_slice::<i64>().ok()) {
        return Ok(values.to_vec());
    }
    if let Some(values) = tensor.and_then(|tensor| tensor.as_slice::<i32>().ok()) {
        return Ok(values.iter().map(|value| i64::from(*value)).collect());
    }
    let found = tensor.map_or_else(|| datum.describe(), |it| it.dtype().onnx_name().to_owned());
    Err(ComponentError::Argument { index, found, wanted: "whole numbers" })
}

/// Selects the call of a primitive by its form: the inputs and attributes of its node. Expands to `None` for
/// forms that [`decode`] handles itself.
macro_rules! by_form {
    ($name:ident $node:ident ([a])) => {
        Some(unary(B::$name))
    };
    ($name:ident $node:ident ([a, b])) => {
        Some(binary(B::$name))
    };
    ($name:ident $node:ident ([a, axes]; keepdims: keepdims)) => {
        Some(reduction(B::$name, $node))
    };
    ($name:ident $node:ident $other:tt) => {
        None
    };
}

macro_rules! decode_uniform {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident $args:tt -> $out:ty = $form:tt $ports:tt;)*) => {
        /// Decodes a primitive with a form that `by_form` handles.
        fn decode_uniform<B: Backend<Tensor: ToOwned>>(op: &str, node: &NodeProto) -> Option<Primitive<B>> {
            match op {
                $($op => by_form!($name node $form),)*
                _ => None,
            }
        }
    };
}
primitives!(decode_uniform);

/// Decodes the primitive `op` with the attributes of a node; `None` for other operators and for forms that
/// the primitive does not support, see [`fits_primitive`].
pub(crate) fn decode<B: Backend<Tensor: ToOwned>>(op: &str, node: &NodeProto) -> Option<Primitive<B>> {
    if !fits_primitive(op, &node.attribute, node.input.len()) {
        return None;
    }
    if let Some(primitive) = decode_uniform(op, node) {
        return Some(primitive);
    }
    let int = |name: &str, default: i64| node.find_attribute(name).map_or(default, AttributeProto::i);
    let list = |name: &str| node.find_attribute(name).map(|attribute| attribute.ints.clone());
    let axis = int("axis", 0);
    let axes = list("axes");
    Some(match op {
        "Reshape" => {
            let allows_zero = int("allowzero", 0) != 0;
            Box::new(move |backend, given| {
                let shape = given.ints(1)?.ok_or(ComponentError::Missing(1))?;
                let a = &*given.tensor(0)?;
                match shape.iter().position(|extent| *extent == 0).filter(|_| allows_zero) {
                    Some(zero) => one(reshape_empty(backend, a, &shape, zero)),
                    None => one(backend.reshape(a, &shape)),
                }
            })
        }
        "Transpose" => {
            let perm = list("perm");
            Box::new(move |backend, given| {
                let perm = match &perm {
                    Some(perm) => Cow::Borrowed(perm.as_slice()),
                    None => {
                        let rank = given.shape(0).ok_or_else(|| unknown("the rank"))?.len();
                        Cow::Owned((0..i64::try_from(rank).unwrap_or(0)).rev().collect())
                    }
                };
                one(backend.transpose(&*given.tensor(0)?, &perm))
            })
        }
        "Concat" => Box::new(move |backend, given| {
            let parts = (0..given.count()).map(|at| given.tensor(at)).collect::<Result<Vec<_>, _>>()?;
            let parts: Vec<&B::Tensor> = parts.iter().map(|part| &**part).collect();
            one(backend.concat(&parts, axis))
        }),
        "Slice" => {
            let (starts, ends) = (list("starts"), list("ends"));
            Box::new(move |backend, given| {
                let needed = |at: usize, own: &Option<Vec<i64>>| match given.ints(at)? {
                    Some(values) => Ok(values),
                    None => own.clone().ok_or(ComponentError::Missing(at)),
                };
                let (starts, ends) = (needed(1, &starts)?, needed(2, &ends)?);
                let count = i64::try_from(starts.len()).unwrap_or(0);
                let axes = given.ints(3)?.or_else(|| axes.clone()).unwrap_or_else(|| (0..count).collect());
                let steps = given.ints(4)?.unwrap_or_else(|| vec![1; starts.len()]);
                one(backend.slice(&*given.tensor(0)?, &starts, &ends, &axes, &steps))
            })
        }
        "Split" => {
            let sizes = list("split");
            let parts = usize::try_from(int("num_outputs", -1)).unwrap_or(node.output.len());
            Box::new(move |backend, given| {
                let sizes = match given.ints(1)?.or_else(|| sizes.clone()) {
                    Some(sizes) => sizes,
                    None => even(&given.shape(0).ok_or_else(|| unknown("the shape"))?, axis, parts)?,
                };
                let parts = backend.split(&*given.tensor(0)?, &sizes, axis);
                parts.map(SmallVec::from_vec).map_err(ComponentError::failed)
            })
        }
        "Squeeze" => Box::new(move |backend, given| {
            let axes = given.ints(1)?.or_else(|| axes.clone());
            one(backend.squeeze(&*given.tensor(0)?, axes.as_deref()))
        }),
        "Unsqueeze" => Box::new(move |backend, given| {
            let axes = given.ints(1)?.or_else(|| axes.clone()).ok_or(ComponentError::Missing(1))?;
            one(backend.unsqueeze(&*given.tensor(0)?, &axes))
        }),
        "Cast" => {
            let to = i32::try_from(int("to", 0)).ok().and_then(Dtype::from_onnx_number)?;
            Box::new(move |backend, given| one(backend.cast(&*given.tensor(0)?, to)))
        }
        "Where" => Box::new(|backend, given| {
            one(backend.where_(&*given.tensor(0)?, &*given.tensor(1)?, &*given.tensor(2)?))
        }),
        "Constant" => {
            let value = constant(node)?;
            Box::new(move |backend, _| one(backend.constant(&value)))
        }
        "Gather" => Box::new(move |backend, given| {
            let extent = given.shape(0).and_then(|shape| Some(shape[position(axis, shape.len())?]));
            one(backend.gather(&*given.tensor(0)?, &*given.indices(1, extent)?, axis))
        }),
        _ => return None,
    })
}

fn one<T, E: std::error::Error + Send + Sync + 'static>(
    result: Result<T, E>,
) -> Result<SmallVec<[T; 1]>, ComponentError> {
    Ok(smallvec![result.map_err(ComponentError::failed)?])
}

fn unary<B: Backend<Tensor: ToOwned>>(op: Unary<B>) -> Primitive<B> {
    Box::new(move |backend, given| one(op(backend, &*given.tensor(0)?)))
}

fn binary<B: Backend<Tensor: ToOwned>>(op: Binary<B>) -> Primitive<B> {
    Box::new(move |backend, given| one(op(backend, &*given.tensor(0)?, &*given.tensor(1)?)))
}

fn reduction<B: Backend<Tensor: ToOwned>>(op: Reduction<B>, node: &NodeProto) -> Primitive<B> {
    let int = |name: &str, default: i64| node.find_attribute(name).map_or(default, AttributeProto::i);
    let own = node.find_attribute("axes").map(|attribute| attribute.ints.clone());
    let keepdims = int("keepdims", 1) != 0;
    let is_noop_without_axes = int("noop_with_empty_axes", 0) != 0;
    Box::new(move |backend, given| {
        let axes = given.ints(1)?.or_else(|| own.clone()).filter(|axes| !axes.is_empty());
        let a = &*given.tensor(0)?;
        match axes {
            None if is_noop_without_axes => one(backend.identity(a)),
            axes => one(op(backend, a, axes.as_deref(), keepdims)),
        }
    })
}

/// Reshapes a tensor without elements to a shape whose extent at axis `zero` is 0. In the method `reshape`, 0
/// would copy an extent of the operand, so the other axes are inserted with extent 1 and then repeated.
fn reshape_empty<B: Backend<Tensor: ToOwned>>(
    backend: &B,
    a: &B::Tensor,
    shape: &[i64],
    zero: usize,
) -> Computed<B> {
    let others = (0_i64..).zip(shape).enumerate().filter(|(at, _)| *at != zero).map(|(_, other)| other);
    let axes: Vec<i64> = others.clone().map(|(axis, _)| axis).collect();
    let mut x = backend.unsqueeze(&backend.reshape(a, &[-1])?, &axes)?;
    for (axis, extent) in others {
        let mut size = 1;
        while size < *extent {
            x = backend.concat(&[&x, &x], axis)?;
            size *= 2;
        }
        x = backend.slice(&x, &[0], &[*extent], &[axis], &[1])?;
    }
    Ok(x)
}

fn unknown(what: &str) -> ComponentError {
    ComponentError::Inconsistent(format!(
        "the storage type of the component does not determine {what} of input 0"
    ))
}

/// The value of a `Constant` node, from any of its attributes.
pub(crate) fn constant(node: &NodeProto) -> Option<TensorProto> {
    if let Some(value) = node.find_attribute("value").and_then(|attribute| attribute.t.as_deref()) {
        return Some(value.clone());
    }
    let attributes = Attributes::decode(&node.attribute).ok()?;
    let value = operator::run("Constant", &attributes, Vec::new()).ok()?;
    value.as_tensor().map(TensorProto::from)
}

/// The sizes of `parts` equal parts. If the extent is not divisible, the last parts are smaller or empty.
fn even(shape: &[usize], axis: i64, parts: usize) -> Result<Vec<i64>, ComponentError> {
    let (Some(extent), 1..) = (position(axis, shape.len()).map(|at| shape[at]), parts) else {
        return Err(ComponentError::Inconsistent(format!(
            "axis {axis} cannot be split in {}",
            counted(parts, "part")
        )));
    };
    let each = extent.div_ceil(parts);
    let size = |at: usize| i64::try_from(each.min(extent.saturating_sub(at * each))).unwrap_or(0);
    Ok((0..parts).map(size).collect())
}

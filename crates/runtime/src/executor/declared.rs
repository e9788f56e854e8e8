//! What was proved of a value, and values held against it.

use typeloom_cpu::value::Value;
use typeloom_onnx::messages::TypeProto;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::lattice::lookup_denotation;
use typeloom_types::tree::TypeNode;

use typeloom_wire::datum::{Datum, Scalar};
use typeloom_wire::stamp::Mismatch;
use typeloom_wire::stamp::{Extent, Stamp, Symbols};

/// The type that a value is stamped with.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The node of the type tree; nothing for containers and what is not settled.
    pub node: Option<&'static TypeNode>,
    /// What ONNX says of it.
    pub stamp: Stamp,
}

impl Default for Declared {
    fn default() -> Self {
        Self { node: None, stamp: Stamp::Open }
    }
}

impl std::fmt::Display for Declared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.stamp, self.node) {
            (Stamp::Open, Some(node)) => f.write_str(node.id),
            (stamp, _) => stamp.fmt(f),
        }
    }
}

impl Declared {
    /// What a stamp says.
    #[must_use]
    pub fn of(ty: &TypeProto) -> Self {
        let denotation = ty.denotation.as_deref().filter(|denotation| !denotation.is_empty());
        Self { node: denotation.and_then(lookup_denotation), stamp: Stamp::of(ty) }
    }

    fn is_tensor(&self) -> bool {
        let rest = |node: &'static TypeNode| node.id.strip_prefix("tensor");
        self.node.is_none_or(|node| rest(node).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }

    /// Holds a value against the stamp, and binds the symbols of its shape.
    ///
    /// # Errors
    /// [`Mismatch`] where they contradict each other.
    pub(crate) fn check(&self, datum: &Datum, symbols: &mut Symbols) -> Result<(), Mismatch> {
        let fits = match datum {
            Datum::Tensor(tensor) if self.is_tensor() => {
                if plainly_fits(tensor, &self.stamp, symbols) {
                    return Ok(());
                }
                if !matches!(self.stamp, Stamp::Open) {
                    return symbols.check(&Value::Tensor(tensor.clone()), &self.stamp);
                }
                self.node.is_none_or(|node| node.id == "tensor" || node.id == tensor.type_node().id)
            }
            // A scalar can be given as a tensor of rank 0.
            Datum::Tensor(tensor) => {
                tensor.rank() == 0 && self.node.is_some_and(|node| scalar(datum, node).is_some())
            }
            Datum::Sequence(_) | Datum::Optional(_) => match datum.clone().into_value() {
                Ok(value) => return symbols.check(&value, &self.stamp),
                Err(_) => matches!(self.stamp, Stamp::Open),
            },
            Datum::Scalar(_)
            | Datum::Trigger
            | Datum::Bytes(_)
            | Datum::Peer(_)
            | Datum::Peers(_)
            | Datum::Request(_)
            | Datum::Address(_)
            | Datum::Addresses(_)
            | Datum::Composite(_)
            | Datum::Leaf(_) => match (self.node, datum.type_node()) {
                (Some(node), Some(own)) => node.id == own.id || own.is_subtype_of(node),
                (None, _) => matches!(self.stamp, Stamp::Open),
                (Some(_), None) => false,
            },
        };
        if fits { Ok(()) } else { Err(Mismatch { found: datum.describe(), proved: self.to_string() }) }
    }

    /// A result of an operator of tensors in the form that the stamp asks for: a scalar is no tensor of rank 0.
    pub(crate) fn settled(&self, datum: Datum) -> Datum {
        match self.node {
            Some(node) if node.id.starts_with("scalar.") => scalar(&datum, node).unwrap_or(datum),
            Some(_) | None => datum,
        }
    }

    /// What is known of the extents at this point of a run.
    pub(crate) fn extents(&self, symbols: &Symbols) -> Option<Vec<Option<usize>>> {
        let Stamp::Tensor { shape: Some(shape), .. } = &self.stamp else { return None };
        let extent = |extent: &Extent| match extent {
            Extent::Open => None,
            Extent::Known(extent) => Some(*extent),
            Extent::Symbol(text) => symbols.get(text),
            Extent::Expression(text) => symbols.evaluate(text),
        };
        Some(shape.iter().map(extent).collect())
    }
}

/// Whether a tensor is of a type whose extents are numbers, or symbols that stand for one already: most are.
fn plainly_fits(tensor: &AnyTensor, stamp: &Stamp, symbols: &Symbols) -> bool {
    let Stamp::Tensor { dtype, shape } = stamp else { return false };
    let fits = |(extent, proved): (&usize, &Extent)| match proved {
        Extent::Open => true,
        Extent::Known(known) => known == extent,
        Extent::Symbol(text) | Extent::Expression(text) => symbols.get(text) == Some(*extent),
    };
    dtype.is_none_or(|dtype| dtype == tensor.dtype())
        && shape
            .as_ref()
            .is_none_or(|shape| shape.len() == tensor.rank() && tensor.shape().iter().zip(shape).all(fits))
}

/// A tensor of one element as the scalar of this node, where it is one.
fn scalar(datum: &Datum, node: &TypeNode) -> Option<Datum> {
    use crate::carry::Carried;
    let scalar = match node.id {
        "scalar.f32" => Scalar::F32(*f32::of(datum)?),
        "scalar.f64" => Scalar::F64(*f64::of(datum)?),
        "scalar.f16" => Scalar::F16(*half::f16::of(datum)?),
        "scalar.u8" => Scalar::U8(*u8::of(datum)?),
        "scalar.i32" => Scalar::I32(*i32::of(datum)?),
        _ => return None,
    };
    Some(Datum::Scalar(scalar))
}

/// What an operator of tensors takes: a scalar is a tensor of rank 0 to it.
pub(crate) fn value(datum: Datum, index: usize) -> Result<Value, super::error::StepFault> {
    if let Datum::Scalar(scalar) = datum {
        return Ok(Value::Tensor(match scalar {
            Scalar::F32(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::F64(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::F16(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::U8(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::I32(scalar) => AnyTensor::from_scalar(scalar),
        }));
    }
    let found = |odd: Datum| super::error::StepFault::NoValue { index, found: odd.describe() };
    datum.into_value().map_err(found)
}

//! Numbers, bools and texts that get their element type from the input that they are given to.
//!
//! A number that the type does not contain exactly is an error, except that floats are rounded. A bool is
//! also written as 0 or 1.
//!
//! ```
//! use typeloom_runtime::literal::Literal;
//! use typeloom_types::dtype::Dtype;
//!
//! let list = Literal::list(vec![1.into(), 300.into()]);
//! assert_eq!(list.tensor(Dtype::F16)?.to_string(), "f16[2] [1.0, 300.0]");
//! assert_eq!(list.tensor(Dtype::U8).unwrap_err().to_string(), "`300` is no value of type uint8");
//! # Ok::<(), typeloom_runtime::literal::LiteralError>(())
//! ```

use std::fmt;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_tensor::value_type::{Element, ValueType};
use typeloom_types::dtype::{Dtype, DtypeClass};
use typeloom_types::plural::counted;
use typeloom_types::tree::builtin::{TYPE_PEER_ID, TYPE_PEER_ID_VEC};

use crate::error::NodeError;
use crate::operator;

/// Elements without an element type, with their shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// The extents. Their product is the number of elements.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub elements: Vec<Scalar>,
    /// The lengths of the rows of a matrix if they differ, which is an error of the conversion.
    pub ragged: Option<Vec<usize>>,
}

/// An element.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

/// Error of a conversion to an element type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LiteralError {
    /// An element is no value of the type.
    #[error("`{element}` is no value of type {}", dtype.onnx_name())]
    Element {
        element: Scalar,
        dtype: Dtype,
        /// The position of the element in row-major order.
        at: usize,
    },
    /// The type is neither that of tensors of one element type nor that of peers.
    #[error("a literal is no value of type {ty}")]
    NoValue { ty: ValueType },
    /// Complex numbers have no notation.
    #[error("a value of type {} cannot be written", dtype.onnx_name())]
    Complex { dtype: Dtype },
    /// The rows of a matrix have different lengths.
    #[error("the rows have different lengths: row 0 has {}, and row {row} has {found}", counted(*first, "element"))]
    Ragged {
        /// The length of the first row.
        first: usize,
        /// The first row of another length, counted from 0.
        row: usize,
        /// Its length.
        found: usize,
    },
    /// A shape does not fit its elements.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error("the elements cannot be converted: {0}")]
    Cast(String),
}

impl Literal {
    /// A single element.
    #[must_use]
    pub fn scalar(element: Scalar) -> Self {
        Self { shape: Vec::new(), elements: vec![element], ragged: None }
    }

    /// A list of elements.
    #[must_use]
    pub fn list(elements: Vec<Scalar>) -> Self {
        Self { shape: vec![elements.len()], elements, ragged: None }
    }

    /// A matrix by its rows. Rows of different lengths are an error of the conversion.
    ///
    /// ```
    /// # use typeloom_runtime::literal::Literal;
    /// # use typeloom_types::dtype::Dtype;
    /// let matrix = Literal::matrix([vec![1.into(), 2.into()], vec![3.into()]]);
    /// let message = "the rows have different lengths: row 0 has 2 elements, and row 1 has 1";
    /// assert_eq!(matrix.tensor(Dtype::F32).unwrap_err().to_string(), message);
    /// ```
    #[must_use]
    pub fn matrix<const N: usize>(rows: [Vec<Scalar>; N]) -> Self {
        let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
        let width = lengths.first().copied().unwrap_or(0);
        let ragged = lengths.iter().any(|length| *length != width).then_some(lengths);
        Self { shape: vec![N, width], elements: rows.into_iter().flatten().collect(), ragged }
    }

    /// The value of a type: a tensor, or the peers that texts name.
    ///
    /// # Errors
    /// [`LiteralError`].
    pub fn value(&self, ty: &ValueType) -> Result<Datum, LiteralError> {
        if let Element::Tensor(Some(dtype)) = ty.element {
            return Ok(self.tensor(dtype)?.into());
        }
        let peer = |element: &Scalar| match element {
            Scalar::Text(name) => Some(PeerId::from(name.as_str())),
            Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_) => None,
        };
        let peers: Option<Vec<PeerId>> = self.elements.iter().map(peer).collect();
        match (ty.node, peers, &self.shape[..]) {
            (Some(node), Some(peers), [] | [_]) if *node == TYPE_PEER_ID_VEC => Ok(peers.into()),
            (Some(node), Some(mut peers), []) if *node == TYPE_PEER_ID => Ok(peers.remove(0).into()),
            _ => Err(LiteralError::NoValue { ty: ty.clone() }),
        }
    }

    /// The tensor of an element type.
    ///
    /// # Errors
    /// [`LiteralError`].
    pub fn tensor(&self, dtype: Dtype) -> Result<AnyTensor, LiteralError> {
        if let Some([first, others @ ..]) = self.ragged.as_deref()
            && let Some(at) = others.iter().position(|length| length != first)
        {
            return Err(LiteralError::Ragged { first: *first, row: at + 1, found: others[at] });
        }
        let wrong = |at: usize| LiteralError::Element { element: self.elements[at].clone(), dtype, at };
        let all = |read: &dyn Fn(&Scalar) -> Option<i128>| {
            let elements = self.elements.iter().enumerate();
            elements.map(|(at, it)| read(it).ok_or_else(|| wrong(at))).collect::<Result<Vec<i128>, _>>()
        };
        let shape = &self.shape;
        let plain = match dtype.class() {
            DtypeClass::String => {
                let strings = self.elements.iter().enumerate().map(|(at, it)| match it {
                    Scalar::Text(text) => Ok(text.as_str()),
                    Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_) => Err(wrong(at)),
                });
                return Ok(AnyTensor::from_strings(shape, &strings.collect::<Result<Vec<_>, _>>()?)?);
            }
            DtypeClass::Complex => return Err(LiteralError::Complex { dtype }),
            DtypeClass::Bool => {
                let bools = all(&|it| match *it {
                    Scalar::Bool(value) => Some(i128::from(value)),
                    Scalar::Int(value @ (0 | 1)) => Some(value),
                    Scalar::Int(_) | Scalar::Float(_) | Scalar::Text(_) => None,
                })?;
                AnyTensor::from_slice(shape, &bools.iter().map(|value| *value as i64).collect::<Vec<_>>())?
            }
            DtypeClass::Float => {
                let floats = self.elements.iter().enumerate().map(|(at, it)| match *it {
                    Scalar::Int(value) => Ok(value as f64),
                    Scalar::Float(value) => Ok(value),
                    Scalar::Bool(_) | Scalar::Text(_) => Err(wrong(at)),
                });
                AnyTensor::from_slice(shape, &floats.collect::<Result<Vec<f64>, _>>()?)?
            }
            DtypeClass::SignedInt | DtypeClass::UnsignedInt => {
                let bits = dtype.size_bits().unwrap_or(64);
                let is_signed = dtype.class() == DtypeClass::SignedInt;
                let range =
                    if is_signed { -(1 << (bits - 1))..1_i128 << (bits - 1) } else { 0..1_i128 << bits };
                let integers = all(&|it| match *it {
                    Scalar::Int(value) => Some(value).filter(|value| range.contains(value)),
                    Scalar::Bool(_) | Scalar::Float(_) | Scalar::Text(_) => None,
                })?;
                if is_signed {
                    AnyTensor::from_slice(shape, &integers.iter().map(|it| *it as i64).collect::<Vec<_>>())?
                } else {
                    AnyTensor::from_slice(shape, &integers.iter().map(|it| *it as u64).collect::<Vec<_>>())?
                }
            }
        };
        cast(&plain, dtype).map_err(|error| LiteralError::Cast(error.to_string()))
    }
}

/// Converts the elements to another type, as the operator `Cast` does.
///
/// # Errors
/// [`NodeError`] if `Cast` does not convert between the two types.
pub fn cast(tensor: &AnyTensor, to: Dtype) -> Result<AnyTensor, NodeError> {
    let converted = operator::cast(Datum::Tensor(tensor.clone()), to)?;
    Ok(converted.as_tensor().unwrap_or(tensor).clone())
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => text.fmt(f),
        }
    }
}

macro_rules! scalars {
    ($($variant:ident: $($ty:ty),*;)*) => {
        $($(
            impl From<$ty> for Scalar {
                fn from(value: $ty) -> Self {
                    Self::$variant(value.into())
                }
            }
        )*)*
    };
}

scalars! {
    Bool: bool;
    Int: u8, u16, u32, u64, i8, i16, i32, i64;
    Float: f32, f64;
    Text: &str, String;
}

//! Stored tensors, sequences and optionals as values.
//!
//! ONNX keeps the elements of a tensor in `raw_data`, or in one of five typed lists; types without a list
//! of their own share `int32_data`, whole bytes of packed elements included.

use bytes::Bytes;
use typeloom_onnx::messages::sequence_proto::DataType as Kind;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{OptionalProto, SequenceProto, SparseTensorProto, TensorProto};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::value::Value;

/// The least bytes that are shared with the file that they come from.
const SHARED: usize = 1 << 12;

/// The deepest sequence of sequences that is read.
const MAX_DEPTH: usize = 32;

/// Why a stored tensor is not one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeTensorError {
    /// The number of the element type is nobody's.
    #[error("tensor `{name}` has the unknown element type {number}")]
    ElementType {
        /// The tensor.
        name: String,
        /// The number.
        number: i32,
    },
    /// An extent is negative.
    #[error("tensor `{name}` has the extent {extent}")]
    Extent {
        /// The tensor.
        name: String,
        /// The extent.
        extent: i64,
    },
    /// The elements are in a file that nobody has read.
    #[error("tensor `{name}` is kept in another file")]
    External {
        /// The tensor.
        name: String,
    },
    /// Something that ONNX can say and this cannot read.
    #[error("`{name}` {what}")]
    Unsupported {
        /// The tensor.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// The elements do not fit the type.
    #[error("tensor `{name}`: {error}")]
    Elements {
        /// The tensor.
        name: String,
        /// In which way.
        #[source]
        error: TensorError,
    },
}

/// The extents of a stored tensor.
fn extents(name: &str, dims: &[i64]) -> Result<Vec<usize>, DecodeTensorError> {
    let extent = |extent: &i64| {
        usize::try_from(*extent)
            .map_err(|_| DecodeTensorError::Extent { name: name.to_owned(), extent: *extent })
    };
    dims.iter().map(extent).collect()
}

/// The element type and shape of a stored tensor, wherever its elements are.
///
/// # Errors
/// [`DecodeTensorError`] for an unknown element type and negative extents.
pub fn header(proto: &TensorProto) -> Result<(Dtype, Vec<usize>), DecodeTensorError> {
    let number = proto.data_type();
    let dtype = Dtype::from_onnx_number(number)
        .ok_or_else(|| DecodeTensorError::ElementType { name: proto.name().to_owned(), number })?;
    Ok((dtype, extents(proto.name(), &proto.dims)?))
}

/// A stored tensor.
///
/// # Errors
/// [`DecodeTensorError`].
pub fn tensor(proto: &TensorProto) -> Result<AnyTensor, DecodeTensorError> {
    let (dtype, shape) = header(proto)?;
    let name = proto.name();
    if proto.data_location() == DataLocation::External {
        return Err(DecodeTensorError::External { name: name.to_owned() });
    }
    let made = match &proto.raw_data {
        Some(raw) if dtype != Dtype::String => packed(dtype, &shape, raw),
        Some(_) | None => typed(proto, dtype, &shape),
    };
    made.map_err(|error| DecodeTensorError::Elements { name: name.to_owned(), error })
}

/// A stored tensor whose bytes are in another file.
///
/// # Errors
/// [`DecodeTensorError`].
pub fn tensor_of_bytes(proto: &TensorProto, bytes: &Bytes) -> Result<AnyTensor, DecodeTensorError> {
    let (dtype, shape) = header(proto)?;
    packed(dtype, &shape, bytes)
        .map_err(|error| DecodeTensorError::Elements { name: proto.name().to_owned(), error })
}

/// A tensor of packed bytes. Large ones are looked at where they are; small ones would keep a whole file in memory.
fn packed(dtype: Dtype, shape: &[usize], bytes: &Bytes) -> Result<AnyTensor, TensorError> {
    if bytes.len() < SHARED {
        AnyTensor::from_le_bytes(dtype, shape, bytes)
    } else {
        AnyTensor::from_shared(dtype, shape, bytes.clone())
    }
}

/// A tensor whose elements are in a typed list.
fn typed(proto: &TensorProto, dtype: Dtype, shape: &[usize]) -> Result<AnyTensor, TensorError> {
    let low = |width: usize| -> Vec<u8> {
        proto.int32_data.iter().flat_map(|word| word.to_le_bytes().into_iter().take(width)).collect()
    };
    let bytes: Vec<u8> = match dtype {
        Dtype::F32 | Dtype::Complex64 => proto.float_data.iter().flat_map(|it| it.to_le_bytes()).collect(),
        Dtype::F64 | Dtype::Complex128 => proto.double_data.iter().flat_map(|it| it.to_le_bytes()).collect(),
        Dtype::I64 => proto.int64_data.iter().flat_map(|it| it.to_le_bytes()).collect(),
        Dtype::U64 => proto.uint64_data.iter().flat_map(|it| it.to_le_bytes()).collect(),
        Dtype::U32 => proto.uint64_data.iter().flat_map(|it| it.to_le_bytes().into_iter().take(4)).collect(),
        Dtype::I32 => low(4),
        Dtype::I16 | Dtype::U16 | Dtype::F16 | Dtype::BF16 => low(2),
        Dtype::I8
        | Dtype::U8
        | Dtype::Bool
        | Dtype::Float8E4M3Fn
        | Dtype::Float8E4M3Fnuz
        | Dtype::Float8E5M2
        | Dtype::Float8E5M2Fnuz
        | Dtype::Float8E8M0
        | Dtype::Uint4
        | Dtype::Int4
        | Dtype::Float4E2M1
        | Dtype::Uint2
        | Dtype::Int2
        | Dtype::Float6E2M3
        | Dtype::Float6E3M2 => low(1),
        Dtype::String => {
            let texts: Vec<_> = proto.string_data.iter().map(|it| String::from_utf8_lossy(it)).collect();
            if let Some(index) = proto.string_data.iter().position(|it| std::str::from_utf8(it).is_err()) {
                return Err(TensorError::NotUtf8 { index });
            }
            return AnyTensor::from_strings(shape, &texts);
        }
    };
    AnyTensor::from_le_bytes(dtype, shape, &bytes)
}

/// A sparse tensor, written out with zeros.
///
/// # Errors
/// [`DecodeTensorError`].
pub fn sparse(proto: &SparseTensorProto) -> Result<AnyTensor, DecodeTensorError> {
    let name = proto.values.as_ref().map_or("", |values| values.name());
    let bad = |what| DecodeTensorError::Unsupported { name: name.to_owned(), what };
    let (Some(values), Some(indices)) = (&proto.values, &proto.indices) else {
        return Err(bad("is a sparse tensor without values or indices"));
    };
    let shape = extents(name, &proto.dims)?;
    let values = tensor(values)?;
    let indices = tensor(indices)?;
    let elements = |error| DecodeTensorError::Elements { name: name.to_owned(), error };
    let width = values.dtype().size_bytes().ok_or_else(|| bad("is a sparse tensor of packed elements"))?;
    let places = indices.as_slice::<i64>().map_err(elements)?;
    let rank = shape.len();
    let mut offsets = Vec::with_capacity(values.len());
    for at in 0..values.len() {
        let place = if indices.rank() == 2 {
            let row = places.get(at * rank..(at + 1) * rank);
            row.ok_or_else(|| bad("has too few indices"))?.iter().zip(&shape).try_fold(
                0_usize,
                |sum, (i, n)| {
                    let i = usize::try_from(*i).ok().filter(|i| i < n)?;
                    sum.checked_mul(*n)?.checked_add(i)
                },
            )
        } else {
            places.get(at).and_then(|place| usize::try_from(*place).ok())
        };
        let offset = place.and_then(|place| place.checked_mul(width));
        offsets.push(offset.ok_or_else(|| bad("has an index outside its shape"))?);
    }
    let len = AnyTensor::byte_len(values.dtype(), &shape).map_err(elements)?;
    if offsets.iter().any(|offset| offset.checked_add(width).is_none_or(|end| end > len)) {
        return Err(bad("has an index outside its shape"));
    }
    // Nothing is allocated for a shape that exceeds the memory of the run.
    AnyTensor::from_bytes_with(values.dtype(), &shape, |bytes| {
        for (offset, value) in offsets.iter().zip(values.bytes().chunks_exact(width.max(1))) {
            if let Some(slot) = bytes.get_mut(*offset..).and_then(|rest| rest.get_mut(..width)) {
                slot.copy_from_slice(value);
            }
        }
    })
    .map_err(elements)
}

/// A stored sequence.
///
/// # Errors
/// [`DecodeTensorError`].
pub fn sequence(proto: &SequenceProto) -> Result<Value, DecodeTensorError> {
    sequence_at(proto, 0)
}

/// A stored optional.
///
/// # Errors
/// [`DecodeTensorError`].
pub fn optional(proto: &OptionalProto) -> Result<Value, DecodeTensorError> {
    optional_at(proto, 0)
}

fn sequence_at(proto: &SequenceProto, depth: usize) -> Result<Value, DecodeTensorError> {
    let bad = |what| DecodeTensorError::Unsupported { name: proto.name().to_owned(), what };
    if depth > MAX_DEPTH {
        return Err(bad("is nested too deeply"));
    }
    if !proto.map_values.is_empty() {
        return Err(bad("is a sequence of maps"));
    }
    let tensors = proto.tensor_values.iter().map(|it| tensor(it).map(Value::Tensor));
    let sparse = proto.sparse_tensor_values.iter().map(|it| sparse(it).map(Value::Tensor));
    let sequences = proto.sequence_values.iter().map(|it| sequence_at(it, depth + 1));
    let optionals = proto.optional_values.iter().map(|it| optional_at(it, depth + 1));
    let values = tensors.chain(sparse).chain(sequences).chain(optionals);
    values.collect::<Result<_, _>>().map(Value::Sequence)
}

fn optional_at(proto: &OptionalProto, depth: usize) -> Result<Value, DecodeTensorError> {
    let bad = |what| DecodeTensorError::Unsupported { name: proto.name().to_owned(), what };
    if depth > MAX_DEPTH {
        return Err(bad("is nested too deeply"));
    }
    let kind = Kind::try_from(proto.elem_type.unwrap_or(0)).unwrap_or(Kind::Undefined);
    let held = match kind {
        Kind::Tensor => proto.tensor_value.as_ref().map(|it| tensor(it).map(Value::Tensor)),
        Kind::SparseTensor => proto.sparse_tensor_value.as_deref().map(|it| sparse(it).map(Value::Tensor)),
        Kind::Sequence => proto.sequence_value.as_deref().map(|it| sequence_at(it, depth + 1)),
        Kind::Optional => proto.optional_value.as_deref().map(|it| optional_at(it, depth + 1)),
        Kind::Map => return Err(bad("is an optional map")),
        Kind::Undefined => None,
    };
    Ok(Value::Optional(held.transpose()?.map(Box::new)))
}

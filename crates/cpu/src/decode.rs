//! Decoding of stored tensors, sequences, optionals and maps.
//!
//! ONNX stores the elements of a tensor in `raw_data` or in one of five typed lists. Types without a
//! dedicated list use `int32_data`; packed elements are stored there as whole bytes.

use bytes::Bytes;
use typeloom_onnx::header::{HeaderError, extents, header};
use typeloom_onnx::messages::sequence_proto::DataType as Kind;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{MapProto, OptionalProto, SequenceProto, SparseTensorProto, TensorProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::MapDatum;

use crate::movement::reshape;
use crate::ops::slice::join;

/// Minimum size in bytes of a tensor that shares the memory of its file instead of being copied.
const MIN_SHARED: usize = 1 << 12;

/// Maximum nesting depth of sequences.
const MAX_DEPTH: usize = 32;

/// Error returned when a stored tensor cannot be decoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeTensorError {
    /// The type of the tensor is invalid.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The elements are in an external file that was not loaded.
    #[error("tensor `{name}` is kept in another file")]
    External {
        /// Name of the tensor.
        name: String,
    },
    /// A valid ONNX feature that is not supported.
    #[error("`{name}` {what}")]
    Unsupported {
        /// Name of the tensor.
        name: String,
        /// Description of the feature.
        what: &'static str,
    },
    /// The elements do not match the type or shape.
    #[error("tensor `{name}`: {error}")]
    Elements {
        /// Name of the tensor.
        name: String,
        /// Description of the mismatch.
        #[source]
        error: TensorError,
    },
}

/// Decodes a stored tensor.
///
/// # Errors
/// [`DecodeTensorError`] if the tensor is malformed or unsupported.
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

/// Decodes a stored tensor whose bytes are in another file.
///
/// # Errors
/// [`DecodeTensorError`] if the tensor is malformed or unsupported.
pub fn tensor_of_bytes(proto: &TensorProto, bytes: &Bytes) -> Result<AnyTensor, DecodeTensorError> {
    let (dtype, shape) = header(proto)?;
    packed(dtype, &shape, bytes)
        .map_err(|error| DecodeTensorError::Elements { name: proto.name().to_owned(), error })
}

/// A tensor of packed bytes. Large tensors share the file's memory; small ones are copied, so that they do
/// not keep a whole file alive.
fn packed(dtype: Dtype, shape: &[usize], bytes: &Bytes) -> Result<AnyTensor, TensorError> {
    if bytes.len() < MIN_SHARED {
        AnyTensor::from_le_bytes(dtype, shape, bytes)
    } else {
        AnyTensor::from_shared(dtype, shape, bytes.clone())
    }
}

/// Decodes a tensor whose elements are in a typed list.
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
        Dtype::String => {
            let texts: Vec<_> = proto.string_data.iter().map(|it| String::from_utf8_lossy(it)).collect();
            if let Some(index) = proto.string_data.iter().position(|it| std::str::from_utf8(it).is_err()) {
                return Err(TensorError::NotUtf8 { index });
            }
            return AnyTensor::from_strings(shape, &texts);
        }
        narrow => low(narrow.size_bytes().unwrap_or(1)),
    };
    AnyTensor::from_le_bytes(dtype, shape, &bytes)
}

/// Decodes a sparse tensor to a dense one.
///
/// # Errors
/// [`DecodeTensorError`] if the tensor is malformed or unsupported.
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
    let numbers = indices.as_slice::<i64>().map_err(elements)?;
    let rank = shape.len();
    let mut offsets = Vec::with_capacity(values.len());
    for at in 0..values.len() {
        let index = if indices.rank() == 2 {
            let row = numbers.get(at * rank..(at + 1) * rank);
            row.ok_or_else(|| bad("has too few indices"))?.iter().zip(&shape).try_fold(
                0_usize,
                |sum, (i, n)| {
                    let i = usize::try_from(*i).ok().filter(|i| i < n)?;
                    sum.checked_mul(*n)?.checked_add(i)
                },
            )
        } else {
            numbers.get(at).and_then(|index| usize::try_from(*index).ok())
        };
        let offset = index.and_then(|index| index.checked_mul(width));
        offsets.push(offset.ok_or_else(|| bad("has an index outside its shape"))?);
    }
    let len = AnyTensor::byte_len(values.dtype(), &shape).map_err(elements)?;
    if offsets.iter().any(|offset| offset.checked_add(width).is_none_or(|end| end > len)) {
        return Err(bad("has an index outside its shape"));
    }
    // Checked before the allocation: the dense shape may exceed the memory budget of the run.
    AnyTensor::from_bytes_with(values.dtype(), &shape, |bytes| {
        for (offset, value) in offsets.iter().zip(values.bytes().chunks_exact(width.max(1))) {
            if let Some(slot) = bytes.get_mut(*offset..).and_then(|rest| rest.get_mut(..width)) {
                slot.copy_from_slice(value);
            }
        }
    })
    .map_err(elements)
}

/// Decodes a stored sequence.
///
/// # Errors
/// [`DecodeTensorError`] if a tensor is malformed or unsupported, or sequences are nested too deeply.
pub fn sequence(proto: &SequenceProto) -> Result<Datum, DecodeTensorError> {
    sequence_at(proto, 0)
}

/// Decodes a stored optional.
///
/// # Errors
/// [`DecodeTensorError`] if a tensor is malformed or unsupported, or sequences are nested too deeply.
pub fn optional(proto: &OptionalProto) -> Result<Datum, DecodeTensorError> {
    optional_at(proto, 0)
}

/// Decodes a stored map, whose entries are in any order.
///
/// # Errors
/// [`DecodeTensorError`] if a tensor is malformed, or the map has no form as [`MapDatum`].
pub fn map(proto: &MapProto) -> Result<Datum, DecodeTensorError> {
    let bad = |what| DecodeTensorError::Unsupported { name: proto.name().to_owned(), what };
    let stored = proto.values.as_deref().map(|values| &*values.tensor_values).unwrap_or_default();
    let mut order: Vec<usize> = (0..stored.len()).collect();
    let has_values = |keys: usize| {
        let differs = bad("has not one tensor for each key");
        if keys == stored.len() { Ok(()) } else { Err(differs) }
    };
    let keys = match proto.key_type.and_then(Dtype::from_onnx_number) {
        Some(Dtype::I64) => {
            has_values(proto.keys.len())?;
            order.sort_by_key(|at| proto.keys[*at]);
            AnyTensor::from(order.iter().map(|at| proto.keys[*at]).collect::<Vec<_>>())
        }
        Some(Dtype::String) => {
            has_values(proto.string_keys.len())?;
            order.sort_by_key(|at| &proto.string_keys[*at]);
            let texts: Result<Vec<&str>, _> =
                order.iter().map(|at| std::str::from_utf8(&proto.string_keys[*at])).collect();
            let texts = texts.map_err(|_| bad("has a key that is not UTF-8"))?;
            AnyTensor::from_strings(&[texts.len()], &texts).map_err(|_| bad("has too large keys"))?
        }
        _ => return Err(bad("has keys that are neither int64 nor string")),
    };
    let mut values = Vec::with_capacity(order.len());
    for at in order {
        let value = tensor(&stored[at])?;
        let shape = [&[1], value.shape()].concat();
        values.push(reshape(value, &shape).map_err(|_| bad("has too large values"))?);
    }
    if values.is_empty() {
        return Err(bad("is an empty map, which does not state the type of its values"));
    }
    if values.iter().any(|value| value.dtype() != values[0].dtype()) {
        return Err(bad("has values of several element types"));
    }
    let values =
        join(&values.iter().collect::<Vec<_>>(), 0).map_err(|_| bad("has values of several shapes"))?;
    let made = MapDatum::new(keys, values).map_err(|_| bad("has a key twice"))?;
    Ok(Datum::Map(Box::new(made)))
}

fn sequence_at(proto: &SequenceProto, depth: usize) -> Result<Datum, DecodeTensorError> {
    let bad = |what| DecodeTensorError::Unsupported { name: proto.name().to_owned(), what };
    if depth > MAX_DEPTH {
        return Err(bad("is nested too deeply"));
    }
    let tensors = proto.tensor_values.iter().map(|it| tensor(it).map(Datum::Tensor));
    let sparse = proto.sparse_tensor_values.iter().map(|it| sparse(it).map(Datum::Tensor));
    let sequences = proto.sequence_values.iter().map(|it| sequence_at(it, depth + 1));
    let optionals = proto.optional_values.iter().map(|it| optional_at(it, depth + 1));
    let maps = proto.map_values.iter().map(map);
    let values = tensors.chain(sparse).chain(sequences).chain(optionals).chain(maps);
    values.collect::<Result<_, _>>().map(Datum::Sequence)
}

fn optional_at(proto: &OptionalProto, depth: usize) -> Result<Datum, DecodeTensorError> {
    let bad = |what| DecodeTensorError::Unsupported { name: proto.name().to_owned(), what };
    if depth > MAX_DEPTH {
        return Err(bad("is nested too deeply"));
    }
    let kind = Kind::try_from(proto.elem_type.unwrap_or(0)).unwrap_or(Kind::Undefined);
    let held = match kind {
        Kind::Tensor => proto.tensor_value.as_ref().map(|it| tensor(it).map(Datum::Tensor)),
        Kind::SparseTensor => proto.sparse_tensor_value.as_deref().map(|it| sparse(it).map(Datum::Tensor)),
        Kind::Sequence => proto.sequence_value.as_deref().map(|it| sequence_at(it, depth + 1)),
        Kind::Optional => proto.optional_value.as_deref().map(|it| optional_at(it, depth + 1)),
        Kind::Map => proto.map_value.as_deref().map(map),
        Kind::Undefined => None,
    };
    Ok(Datum::Optional(held.transpose()?.map(Box::new)))
}

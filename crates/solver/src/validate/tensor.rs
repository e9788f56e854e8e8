//! Tensors: one payload, in the field of the element type, with as many entries as the shape needs.

use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{SparseTensorProto, TensorProto};
use typeloom_types::dtype::Dtype;

use super::{Context, Invalid, Validity, ensure, present};

/// The payload fields of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Payload {
    Float,
    Double,
    Int32,
    Int64,
    Uint64,
    String,
    Raw,
}

impl Payload {
    const ALL: [Self; 7] =
        [Self::Float, Self::Int32, Self::String, Self::Int64, Self::Raw, Self::Double, Self::Uint64];

    fn name(self) -> &'static str {
        match self {
            Self::Float => "float_data",
            Self::Double => "double_data",
            Self::Int32 => "int32_data",
            Self::Int64 => "int64_data",
            Self::Uint64 => "uint64_data",
            Self::String => "string_data",
            Self::Raw => "raw_data",
        }
    }

    /// The number of entries; that of bytes for raw data. `None` without the field.
    fn entries(self, tensor: &TensorProto) -> Option<usize> {
        let count = match self {
            Self::Float => tensor.float_data.len(),
            Self::Double => tensor.double_data.len(),
            Self::Int32 => tensor.int32_data.len(),
            Self::Int64 => tensor.int64_data.len(),
            Self::Uint64 => tensor.uint64_data.len(),
            Self::String => tensor.string_data.len(),
            Self::Raw => return tensor.raw_data.as_ref().map(bytes::Bytes::len),
        };
        (count > 0).then_some(count)
    }

    /// The field that stores an element type apart from raw data.
    fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::F32 | Dtype::Complex64 => Self::Float,
            Dtype::F64 | Dtype::Complex128 => Self::Double,
            Dtype::I64 => Self::Int64,
            Dtype::U32 | Dtype::U64 => Self::Uint64,
            Dtype::String => Self::String,
            _ => Self::Int32,
        }
    }
}

/// The number of entries that `elements` elements take in the field of their type.
fn entries_needed(dtype: Dtype, elements: usize) -> Option<usize> {
    match (Payload::of(dtype), dtype.size_bits()) {
        (Payload::Float | Payload::Double, _) if matches!(dtype, Dtype::Complex64 | Dtype::Complex128) => {
            elements.checked_mul(2)
        }
        // Entries of 32 bits hold packed elements, except for six-bit ones.
        (Payload::Int32, Some(bits @ (2 | 4))) => Some(elements.div_ceil(32 / bits as usize)),
        _ => Some(elements),
    }
}

pub(super) fn dense(cx: &Context<'_>, tensor: &TensorProto) -> Validity {
    let name = tensor.name.as_str();
    present(tensor.data_type.is_some(), "data_type", "tensor")?;
    let number = tensor.data_type.unwrap_or_default();
    ensure!(number != 0, "setting data_type field (tensor name: {name}) to UNDEFINED is not allowed");
    let payloads: Vec<(Payload, usize)> =
        Payload::ALL.iter().filter_map(|field| Some((*field, field.entries(tensor)?))).collect();
    if tensor.data_location == Some(DataLocation::External as i32) {
        ensure!(
            payloads.is_empty(),
            "TensorProto ( tensor name: {name}) is stored externally and should not have data fields"
        );
        return external(cx, tensor);
    }
    let elements = elements(&tensor.dims)
        .ok_or_else(|| Invalid(format!("TensorProto (tensor name: {name}) has invalid dimensions")))?;
    let Some(dtype) = Dtype::from_onnx_number(number) else {
        return Err(Invalid(format!("Unrecognized data_type (tensor name: {name}): {number}")));
    };
    if elements == 0 {
        let is_empty = payloads.iter().all(|(_, entries)| *entries == 0);
        ensure!(is_empty, "TensorProto (tensor name: {name}) is 0-element but contains data!");
        return Ok(());
    }
    let [(field, found)] = payloads[..] else {
        return Err(Invalid(format!(
            "TensorProto (tensor name: {name}) should contain one and only one value field."
        )));
    };
    if field == Payload::Raw {
        let needed = dtype.packed_len(elements);
        ensure!(
            dtype != Dtype::String,
            "STRING data (tensor name: {name}) should not be stored in raw_data field"
        );
        ensure!(
            needed.is_some_and(|needed| found >= needed),
            "TensorProto (tensor name: {name}) raw_data size ({found}) is too small for the declared shape"
        );
        return padding(tensor, dtype, elements);
    }
    let expected = Payload::of(dtype);
    ensure!(
        field == expected,
        "values of data_type '{number}' should be stored in field '{}' instead of '{}'",
        expected.name(),
        field.name()
    );
    ensure!(
        entries_needed(dtype, elements).is_some_and(|needed| found >= needed),
        "TensorProto (tensor name: {name}) {} size ({found}) is too small for the declared shape",
        field.name()
    );
    let is_six_bits = dtype.size_bits() == Some(6);
    ensure!(
        !is_six_bits || tensor.int32_data.iter().all(|entry| (0..64).contains(entry)),
        "TensorProto (tensor name: {name}): each entry of a six-bit type must use only bits 0-5"
    );
    Ok(())
}

/// The unused bits of the last byte of six-bit elements are zero.
fn padding(tensor: &TensorProto, dtype: Dtype, elements: usize) -> Validity {
    let (Some(6), Some(raw)) = (dtype.size_bits(), &tensor.raw_data) else { return Ok(()) };
    let used = elements % 4 * 6 % 8;
    let Some(last) = dtype.packed_len(elements).and_then(|len| raw.get(len.checked_sub(1)?)) else {
        return Ok(());
    };
    let name = tensor.name.as_str();
    ensure!(used == 0 || *last >> used == 0, "TensorProto (tensor name: {name}) has non-zero padding bits");
    Ok(())
}

/// The product of extents; `None` if one is negative or the product is too large.
fn elements(dims: &[i64]) -> Option<usize> {
    let sizes: Option<Vec<usize>> = dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
    let product = sizes?.into_iter().try_fold(1usize, usize::checked_mul)?;
    i64::try_from(product).is_ok().then_some(product)
}

fn external(cx: &Context<'_>, tensor: &TensorProto) -> Validity {
    let name = tensor.name.as_str();
    let entry = tensor.external_data.iter().find(|entry| entry.key.as_str() == "location");
    let Some(location) = entry.map(|entry| entry.value.as_str()) else {
        return Err(Invalid(format!(
            "TensorProto ( tensor name: {name}) is stored externally but doesn't have a location."
        )));
    };
    // The reference's containers keep such tensors in memory.
    if location.starts_with('#') {
        return Ok(());
    }
    (cx.external)(location)
        .map_err(|reason| Invalid(format!("Data of TensorProto ( tensor name: {name}): {reason}")))
}

pub(super) fn sparse(cx: &Context<'_>, sparse: &SparseTensorProto) -> Validity {
    present(sparse.values.is_some(), "values", "sparse_tensor_proto")?;
    let Some(values) = &sparse.values else { return Ok(()) };
    dense(cx, values)?;
    let name = values.name.as_str();
    let [count] = values.dims[..] else {
        return Err(Invalid(format!("Sparse tensor values ({name}) must have rank 1.")));
    };
    ensure!(!sparse.dims.is_empty(), "Sparse tensor ({name}) must have a dense-rank > 0");
    ensure!(sparse.dims.iter().all(|dim| *dim > 0), "Sparse tensor ({name}) dimensions are not positive.");
    ensure!(sparse.indices.is_some() || count == 0, "Sparse tensor ({name}) has no index values.");
    let Some(indices) = &sparse.indices else { return Ok(()) };
    dense(cx, indices)?;
    let own = indices.name.as_str();
    ensure!(
        indices.data_type == Some(Dtype::I64.onnx_number()),
        "Sparse tensor indices ({own}) must have INT64 type."
    );
    let width = match indices.dims[..] {
        [found] => {
            ensure!(found == count, "Sparse tensor indices ({own}) has {found} values, but NNZ is {count}");
            1
        }
        [found, rank] => {
            ensure!(found == count, "Sparse tensor indices ({own}) first dimension size does not equal NNZ.");
            ensure!(
                usize::try_from(rank) == Ok(sparse.dims.len()),
                "Sparse tensor indices ({own}) second dimension size does not match rank of tensor."
            );
            sparse.dims.len()
        }
        _ => return Err(Invalid(format!("Sparse tensor indices ({own}) must have rank 1 or 2."))),
    };
    let stored = stored(indices);
    // Indices into the whole tensor if there is one for each value, and otherwise one for each axis.
    let total = sparse.dims.iter().try_fold(1i64, |product, dim| product.checked_mul(*dim));
    let linear = indices.dims.len() == 1;
    let mut last: Option<&[i64]> = None;
    for (at, index) in stored.chunks_exact(width).enumerate() {
        let is_inside = if linear {
            total.is_none_or(|total| (0..total).contains(&index[0]))
        } else {
            index.iter().zip(&sparse.dims).all(|(index, dim)| (0..*dim).contains(index))
        };
        ensure!(is_inside, "Sparse tensor ({own}) index value at position [{at}] out of range");
        ensure!(
            last.is_none_or(|last| last < index),
            "Sparse tensor ({own}) index value at position [{at}] not in sorted order."
        );
        last = Some(index);
    }
    Ok(())
}

/// The integers of a tensor.
fn stored(tensor: &TensorProto) -> Vec<i64> {
    match &tensor.raw_data {
        Some(raw) => raw.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect(),
        None => tensor.int64_data.clone(),
    }
}

//! Slow reference for payloads: decodes owned messages, one element type at a time.

use prost::Message;
use typeloom_types::dtype::Dtype;

use crate::error::{ErrorKind, FieldName};
use crate::messages as owned;

pub(super) fn int_values(tensor: &owned::TensorProto, limit: usize) -> Result<Option<Vec<i64>>, ErrorKind> {
    let raw = tensor.raw_data().to_vec();
    let typed32 = || tensor.int32_data.iter();
    // The elements, and the size of an element in `raw_data`.
    type Typed = Vec<i128>;
    let (from_raw, from_typed): (fn(&[u8]) -> Typed, Typed) =
        match Dtype::from_onnx_number(tensor.data_type()) {
            Some(Dtype::Bool) => (
                |raw| raw.iter().map(|&b| i128::from(b != 0)).collect(),
                typed32().map(|&n| i128::from(n != 0)).collect(),
            ),
            Some(Dtype::U8) => (
                |raw| raw.iter().map(|&b| b.into()).collect(),
                typed32().map(|&n| (n as u8).into()).collect(),
            ),
            Some(Dtype::I8) => (
                |raw| raw.iter().map(|&b| (b as i8).into()).collect(),
                typed32().map(|&n| (n as i8).into()).collect(),
            ),
            Some(Dtype::U16) => (
                |raw| raw.chunks(2).map(|b| u16::from_le_bytes(b.try_into().unwrap()).into()).collect(),
                typed32().map(|&n| (n as u16).into()).collect(),
            ),
            Some(Dtype::I16) => (
                |raw| raw.chunks(2).map(|b| i16::from_le_bytes(b.try_into().unwrap()).into()).collect(),
                typed32().map(|&n| (n as i16).into()).collect(),
            ),
            Some(Dtype::I32) => (
                |raw| raw.chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
                typed32().map(|&n| n.into()).collect(),
            ),
            Some(Dtype::U32) => (
                |raw| raw.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()).into()).collect(),
                tensor.uint64_data.iter().map(|&n| (n as u32).into()).collect(),
            ),
            Some(Dtype::I64) => (
                |raw| raw.chunks(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()).into()).collect(),
                tensor.int64_data.iter().map(|&n| n.into()).collect(),
            ),
            Some(Dtype::U64) => (
                |raw| raw.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()).into()).collect(),
                tensor.uint64_data.iter().map(|&n| n.into()).collect(),
            ),
            Some(Dtype::Uint4 | Dtype::Int4 | Dtype::Uint2 | Dtype::Int2) => {
                return sub_byte(tensor, limit);
            }
            _ => return Ok(None),
        };
    let Some(count) = count(tensor, limit)? else { return Ok(None) };
    let typed = tensor.int32_data.len()
        + tensor.int64_data.len()
        + tensor.uint64_data.len()
        + tensor.float_data.len()
        + tensor.double_data.len()
        + tensor.string_data.len();
    let elements = if tensor.raw_data.is_some() && (!raw.is_empty() || typed == 0) {
        let size = 8.min(match tensor.data_type() {
            2 | 3 | 9 => 1,
            4 | 5 => 2,
            6 | 12 => 4,
            _ => 8,
        });
        expect("raw_data", "bytes", count * size, raw.len())?;
        from_raw(&raw)
    } else {
        let field = match tensor.data_type() {
            7 => "int64_data",
            12 | 13 => "uint64_data",
            _ => "int32_data",
        };
        expect(field, "elements", count, from_typed.len())?;
        from_typed
    };
    Ok(elements.into_iter().map(|element| i64::try_from(element).ok()).collect())
}

fn sub_byte(tensor: &owned::TensorProto, limit: usize) -> Result<Option<Vec<i64>>, ErrorKind> {
    let Some(count) = count(tensor, limit)? else { return Ok(None) };
    let (bits, signed) = match tensor.data_type() {
        21 => (4, false),
        22 => (4, true),
        25 => (2, false),
        _ => (2, true),
    };
    let per_byte = 8 / bits;
    let has_typed = tensor.encoded_len() != {
        let mut bare = tensor.clone();
        (bare.int32_data, bare.int64_data, bare.uint64_data) = Default::default();
        (bare.float_data, bare.double_data, bare.string_data) = Default::default();
        bare.encoded_len()
    };
    let bytes: Vec<u8> = if tensor.raw_data.is_some() && (!tensor.raw_data().is_empty() || !has_typed) {
        expect("raw_data", "bytes", count.div_ceil(per_byte), tensor.raw_data().len())?;
        tensor.raw_data().to_vec()
    } else {
        expect("int32_data", "elements", count.div_ceil(per_byte), tensor.int32_data.len())?;
        tensor.int32_data.iter().map(|&n| n as u8).collect()
    };
    let mut elements = Vec::new();
    for byte in bytes {
        for part in 0..per_byte {
            let value = i64::from(byte) >> (part * bits) & ((1 << bits) - 1);
            let negative = signed && value >= 1 << (bits - 1);
            elements.push(if negative { value - (1 << bits) } else { value });
        }
    }
    elements.truncate(count);
    Ok(Some(elements))
}

fn count(tensor: &owned::TensorProto, limit: usize) -> Result<Option<usize>, ErrorKind> {
    if tensor.data_location == Some(1) {
        return Ok(None);
    }
    if let Some(&dim) = tensor.dims.iter().find(|&&dim| dim < 0) {
        return Err(ErrorKind::NegativeDim { dim });
    }
    if tensor.dims.contains(&0) {
        return Ok(Some(0));
    }
    let mut count = 1_u128;
    for &dim in &tensor.dims {
        count = count.saturating_mul(dim as u128);
    }
    let count = u64::try_from(count).map_err(|_| ErrorKind::ElementCountOverflow)?;
    Ok(usize::try_from(count).ok().filter(|&count| count <= limit))
}

fn expect(field: &'static str, unit: &'static str, expected: usize, found: usize) -> Result<(), ErrorKind> {
    if expected == found {
        return Ok(());
    }
    let field = Box::leak(Box::new(FieldName { message: "TensorProto", field }));
    Err(ErrorKind::PayloadSize { field, unit, expected: expected as u64, found: found as u64 })
}

//! NumPy's files of one array, versions 1 to 3.
//!
//! The header is a Python dict with three keys; it is read as exactly that. Fortran order and big-endian numbers are put in
//! order. Types that NumPy does not have are not written.

use anyhow::{Context as _, bail};
use typeloom::{AnyTensor, Dtype};

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy's names of types, without the byte order.
const TYPES: &[(Dtype, &str)] = &[
    (Dtype::F32, "f4"),
    (Dtype::F64, "f8"),
    (Dtype::F16, "f2"),
    (Dtype::I8, "i1"),
    (Dtype::I16, "i2"),
    (Dtype::I32, "i4"),
    (Dtype::I64, "i8"),
    (Dtype::U8, "u1"),
    (Dtype::U16, "u2"),
    (Dtype::U32, "u4"),
    (Dtype::U64, "u8"),
    (Dtype::Bool, "b1"),
    (Dtype::Complex64, "c8"),
    (Dtype::Complex128, "c16"),
];

/// What the header says.
struct Header {
    dtype: Dtype,
    is_big_endian: bool,
    is_fortran: bool,
    shape: Vec<usize>,
}

/// The text behind a key of the header, up to where its value cannot go on.
fn value_of<'a>(header: &'a str, key: &str) -> anyhow::Result<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let at = quoted.iter().find_map(|quoted| header.find(quoted.as_str()).map(|at| at + quoted.len()));
    let rest = at.and_then(|at| header[at..].trim_start().strip_prefix(':'));
    rest.map(str::trim_start).with_context(|| format!("the header has no `{key}`"))
}

fn header(text: &str) -> anyhow::Result<Header> {
    let descr = value_of(text, "descr")?;
    let descr = descr.trim_start_matches(['\'', '"']).split(['\'', '"']).next().unwrap_or_default();
    let (order, name) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '=' | '|')) => (order, &descr[1..]),
        Some(_) | None => ('=', descr),
    };
    let known = TYPES.iter().find(|(_, known)| *known == name);
    let Some((dtype, _)) = known else { bail!("elements of type `{descr}` are not supported") };
    let shape = value_of(text, "shape")?;
    let shape =
        shape.strip_prefix('(').and_then(|rest| rest.split_once(')')).context("the shape is no tuple")?.0;
    let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(|extent| extent.trim_end_matches('L').parse::<usize>()).collect::<Result<_, _>>();
    Ok(Header {
        dtype: *dtype,
        is_big_endian: order == '>',
        is_fortran: value_of(text, "fortran_order")?.starts_with("True"),
        shape: shape.context("the shape is not made of numbers")?,
    })
}

/// The array of a file.
pub(crate) fn read(bytes: &[u8]) -> anyhow::Result<AnyTensor> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else { bail!("this is no `.npy` file") };
    let (length, rest) = match rest {
        [1, _, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => bail!("the version of the format is not known"),
    };
    let (text, data) = rest.split_at_checked(length).context("the header is cut off")?;
    let header = header(std::str::from_utf8(text).context("the header is no text")?)?;
    let mut data = data.to_vec();
    if header.is_big_endian {
        // Complex numbers are two numbers, each swapped by itself.
        let width = match header.dtype {
            Dtype::Complex64 => 4,
            Dtype::Complex128 => 8,
            other => other.size_bytes().unwrap_or(1),
        };
        data.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    if header.is_fortran {
        data = row_major(&header, &data)?;
    }
    AnyTensor::from_le_bytes(header.dtype, &header.shape, &data).context("the data do not fit the header")
}

/// Elements that were stored with the first axis fastest, with the last axis fastest.
fn row_major(header: &Header, data: &[u8]) -> anyhow::Result<Vec<u8>> {
    let width = header.dtype.size_bytes().unwrap_or(1);
    let count = header.shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
    if count.and_then(|count| count.checked_mul(width)) != Some(data.len()) {
        bail!("the data do not fit the header");
    }
    let mut ordered = Vec::with_capacity(data.len());
    for flat in 0..count.unwrap_or(0) {
        let (mut rest, mut offset) = (flat, 0);
        let mut scale: usize = header.shape.iter().product();
        for extent in header.shape.iter().rev() {
            scale /= extent;
            offset += rest % extent * scale;
            rest /= extent;
        }
        ordered.extend_from_slice(&data[offset * width..][..width]);
    }
    Ok(ordered)
}

/// The file of an array; nothing where NumPy has no such type.
pub(crate) fn written(tensor: &AnyTensor) -> Option<Vec<u8>> {
    let (_, name) = TYPES.iter().find(|(dtype, _)| *dtype == tensor.dtype())?;
    let order = if tensor.dtype().size_bytes() == Some(1) { '|' } else { '<' };
    let extents: String = tensor.shape().iter().map(|extent| format!("{extent}, ")).collect();
    let mut text =
        format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
    // The data start at a multiple of 64, and the header ends with a line break.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(u16::try_from(length).ok()?.to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(tensor.bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{read, written};
    use typeloom::AnyTensor;

    #[test]
    fn what_is_written_is_read() {
        for shape in [&[][..], &[4], &[2, 0], &[2, 1, 3]] {
            let count = shape.iter().product();
            let elements: Vec<f32> = (0..count).map(|at| at as f32).collect();
            let tensor = AnyTensor::from_slice(shape, &elements).unwrap();
            assert_eq!(read(&written(&tensor).unwrap()).unwrap(), tensor);
        }
    }

    #[test]
    fn fortran_order_and_big_endian_are_put_in_order() {
        let text = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.as_bytes());
        [1_i16, 4, 2, 5, 3, 6].iter().for_each(|value| bytes.extend(value.to_be_bytes()));
        let expected = AnyTensor::from_slice(&[2, 3], &[1_i16, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(read(&bytes).unwrap(), expected);
    }

    #[test]
    fn malformed_files_are_refused() {
        let good = written(&AnyTensor::from([1_i64, 2, 3])).unwrap();
        for end in 0..good.len() {
            assert!(read(&good[..end]).is_err());
        }
    }
}

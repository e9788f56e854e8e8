//! NumPy `.npy` files, versions 1 to 3.
//!
//! The header is a Python dict with three keys, and only this form is parsed. Fortran order and big-endian
//! numbers are converted to row-major and little-endian. Element types that NumPy does not have cannot be
//! written.
//!
//! The crates for this format parse the header with a parser of Python literals whose time is exponential in
//! the nesting of the header (decision 0025), so this reader is our own.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum number of axes of an array of NumPy. Each element is moved in a time proportional to this number.
const MAX_RANK: usize = 64;

/// NumPy names of element types, without the byte order.
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

/// Error of reading an `.npy` file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NpyError {
    /// The magic number is missing.
    #[error("this is not an `.npy` file")]
    Magic,
    /// The version of the format is not supported.
    #[error("version {major} of the format is not supported")]
    Version { major: u8 },
    /// The file ends within its header.
    #[error("the header is cut off at byte {at}")]
    CutOff {
        /// Length of the file in bytes.
        at: usize,
    },
    /// The header is not valid text.
    #[error("the header is not valid text")]
    NoText,
    /// A key is missing from the header.
    #[error("the header has no `{key}`")]
    NoKey { key: &'static str },
    /// The element type is not supported.
    #[error("{}", unsupported(descr))]
    ElementType {
        /// Element type in NumPy notation.
        descr: String,
    },
    /// The shape is not a tuple of numbers.
    #[error("the shape is not a tuple of numbers")]
    Shape,
    /// The array has more axes than arrays of NumPy.
    #[error("the array has {}, more than {MAX_RANK}", counted(*rank, "axis"))]
    Rank {
        /// Number of axes.
        rank: usize,
    },
    /// The data does not match the header.
    #[error("the data do not fit the header: {0}")]
    Data(TensorError),
}

// Not a `#[from]` field: the message already contains the text of the error.
impl From<TensorError> for NpyError {
    fn from(error: TensorError) -> Self {
        Self::Data(error)
    }
}

fn unsupported(descr: &str) -> String {
    match descr.trim_start_matches(['|', '<', '>', '=']).chars().next() {
        Some('O') => "its elements are Python objects, which are not supported".to_owned(),
        Some('U' | 'S') => format!("its elements are text (`{descr}`), which is read from `.pb` files only"),
        Some('[') => "its elements have fields, which tensors do not support".to_owned(),
        Some(_) | None => format!("elements of type `{descr}` are not supported"),
    }
}

/// Fields of the header.
struct Header {
    dtype: Dtype,
    order: ByteOrder,
    first_axis: FirstAxis,
    shape: Vec<usize>,
}

#[derive(PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

#[derive(PartialEq, Eq)]
enum FirstAxis {
    Slowest,
    Fastest,
}

/// Returns the header text after a key and its colon.
fn value_of<'a>(header: &'a str, key: &'static str) -> Result<&'a str, NpyError> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let at = quoted.iter().find_map(|quoted| header.find(quoted.as_str()).map(|at| at + quoted.len()));
    let rest = at.and_then(|at| header[at..].trim_start().strip_prefix(':'));
    rest.map(str::trim_start).ok_or(NpyError::NoKey { key })
}

fn header(text: &str) -> Result<Header, NpyError> {
    let descr = value_of(text, "descr")?;
    let descr = descr.trim_start_matches(['\'', '"']).split(['\'', '"']).next().unwrap_or_default();
    let (order, name) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '=' | '|')) => (order, &descr[1..]),
        Some(_) | None => ('=', descr),
    };
    let known = TYPES.iter().find(|(_, known)| *known == name);
    let Some((dtype, _)) = known else {
        return Err(NpyError::ElementType { descr: descr.chars().take(40).collect() });
    };
    let shape = value_of(text, "shape")?;
    let shape = shape.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or(NpyError::Shape)?.0;
    let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(|extent| extent.trim_end_matches('L').parse::<usize>()).collect::<Result<_, _>>();
    let is_fortran = value_of(text, "fortran_order")?.starts_with("True");
    Ok(Header {
        dtype: *dtype,
        order: if order == '>' { ByteOrder::Big } else { ByteOrder::Little },
        first_axis: if is_fortran { FirstAxis::Fastest } else { FirstAxis::Slowest },
        shape: shape.map_err(|_| NpyError::Shape)?,
    })
}

/// Reads the array of a file.
///
/// # Errors
/// [`NpyError`].
pub fn read(bytes: &[u8]) -> Result<AnyTensor, NpyError> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else { return Err(NpyError::Magic) };
    let cut_off = || NpyError::CutOff { at: bytes.len() };
    let (length, rest) = match rest {
        [1, _, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [] | [1..=3, ..] => return Err(cut_off()),
        [major, ..] => return Err(NpyError::Version { major: *major }),
    };
    let (text, data) = rest.split_at_checked(length).ok_or_else(cut_off)?;
    let Header { dtype, order, first_axis, shape } =
        header(std::str::from_utf8(text).map_err(|_| NpyError::NoText)?)?;
    if shape.len() > MAX_RANK {
        return Err(NpyError::Rank { rank: shape.len() });
    }
    // Validate the claimed size against the data before the data is reordered.
    let tensor = AnyTensor::from_le_bytes(dtype, &shape, data);
    if order == ByteOrder::Little && first_axis == FirstAxis::Slowest {
        return Ok(tensor?);
    }
    tensor?;
    let mut data = data.to_vec();
    if order == ByteOrder::Big {
        // A complex number consists of two numbers, and the bytes of each are swapped.
        let width = match dtype {
            Dtype::Complex64 => 4,
            Dtype::Complex128 => 8,
            other => other.size_bytes().unwrap_or(1),
        };
        data.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    if first_axis == FirstAxis::Fastest {
        data = row_major(dtype, &shape, &data);
    }
    Ok(AnyTensor::from_le_bytes(dtype, &shape, &data)?)
}

/// Converts elements from column-major to row-major order. `data` has as many elements as `shape`.
fn row_major(dtype: Dtype, shape: &[usize], data: &[u8]) -> Vec<u8> {
    let width = dtype.size_bytes().unwrap_or(1);
    let mut ordered = Vec::with_capacity(data.len());
    for flat in 0..data.len() / width {
        let (mut rest, mut offset) = (flat, 0);
        let mut scale: usize = shape.iter().product();
        for extent in shape.iter().rev() {
            scale /= extent;
            offset += rest % extent * scale;
            rest /= extent;
        }
        ordered.extend_from_slice(&data[offset * width..][..width]);
    }
    ordered
}

/// Encodes an array as a file; `None` if NumPy has no such element type.
#[must_use]
pub fn written(tensor: &AnyTensor) -> Option<Vec<u8>> {
    let (_, name) = TYPES.iter().find(|(dtype, _)| *dtype == tensor.dtype())?;
    let order = if tensor.dtype().size_bytes() == Some(1) { '|' } else { '<' };
    let extents: String = tensor.shape().iter().map(|extent| format!("{extent}, ")).collect();
    let mut text =
        format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
    // The data is aligned to 64 bytes, and the header ends with a line break.
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
    use super::{NpyError, read, written};
    use typeloom_tensor::any_tensor::AnyTensor;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn written_arrays_are_read_back() {
        for shape in [&[][..], &[4], &[2, 0], &[2, 1, 3]] {
            let count = shape.iter().product();
            let elements: Vec<f32> = (0..count).map(|at| at as f32).collect();
            let tensor = AnyTensor::from_slice(shape, &elements).expect("it fits");
            assert_eq!(read(&written(&tensor).expect("NumPy has the type")), Ok(tensor));
        }
    }

    #[test]
    fn fortran_order_and_big_endian_are_converted() {
        let data: Vec<u8> = [1_i16, 4, 2, 5, 3, 6].iter().flat_map(|value| value.to_be_bytes()).collect();
        let bytes = file("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", &data);
        let expected = AnyTensor::from_slice(&[2, 3], &[1_i16, 2, 3, 4, 5, 6]).expect("it fits");
        assert_eq!(read(&bytes), Ok(expected));
    }

    #[test]
    fn cut_off_files_are_refused() {
        let good = written(&AnyTensor::from([1_i64, 2, 3])).expect("NumPy has the type");
        for end in 0..good.len() {
            assert!(read(&good[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn hostile_headers_are_refused_with_the_reason() {
        let refused = |header: &str| read(&file(header, &[0; 8])).expect_err("the header is hostile");
        assert_eq!(refused("{}"), NpyError::NoKey { key: "descr" });
        let object = refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }");
        assert_eq!(object, NpyError::ElementType { descr: "|O".to_owned() });
        let negative = refused("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }");
        assert_eq!(negative, NpyError::Shape);
        for shape in ["(4294967296, 4294967296, 4294967296)", "(2,)", "(0, 99999999999)"] {
            for fortran in ["True", "False"] {
                let header = format!("{{'descr': '<f8', 'fortran_order': {fortran}, 'shape': {shape}, }}");
                assert!(matches!(refused(&header), NpyError::Data(_)), "{header}");
            }
        }
        assert_eq!(read(b"\x93NUMPY\x09\x00"), Err(NpyError::Version { major: 9 }));
    }
}

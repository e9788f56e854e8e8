//! Tensors in safetensors files, read by the crate `safetensors`, which verifies that tensors neither overlap
//! nor leave gaps.

use safetensors::{Dtype as Stored, SafeTensorError, SafeTensors};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

/// Error of reading a safetensors file.
#[derive(Debug, thiserror::Error)]
pub enum SafeTensorsError {
    /// The bytes are not a safetensors file.
    #[error("this is no safetensors file: {0}")]
    Malformed(#[source] SafeTensorError),
    /// The file does not contain a tensor with this name.
    #[error("the file has no tensor `{name}`; it has {}", listed(.present))]
    NoTensor { name: String, present: Vec<String> },
    /// The element type is not supported.
    #[error("the elements of `{name}` are of type {dtype}, which is not supported")]
    ElementType {
        name: String,
        /// Element type in the notation of the file.
        dtype: String,
    },
    /// The data of a tensor is invalid for its type.
    #[error("tensor `{name}`: {error}")]
    Elements { name: String, error: TensorError },
}

/// Formats a list of names, shortened if it is long.
fn listed(names: &[String]) -> String {
    const MAX_SHOWN: usize = 8;
    let mut shown: Vec<String> = names.iter().take(MAX_SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > MAX_SHOWN {
        shown.push(format!("{} more", names.len() - MAX_SHOWN));
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// Reads the tensor with this name from a file.
///
/// # Errors
/// [`SafeTensorsError`].
pub fn read(bytes: &[u8], name: &str) -> Result<AnyTensor, SafeTensorsError> {
    let file = SafeTensors::deserialize(bytes).map_err(SafeTensorsError::Malformed)?;
    let Ok(view) = file.tensor(name) else {
        let mut present: Vec<String> = file.names().into_iter().map(str::to_owned).collect();
        present.sort();
        return Err(SafeTensorsError::NoTensor { name: name.to_owned(), present });
    };
    let Some(dtype) = dtype(view.dtype()) else {
        let dtype = format!("{:?}", view.dtype());
        return Err(SafeTensorsError::ElementType { name: name.to_owned(), dtype });
    };
    AnyTensor::from_le_bytes(dtype, view.shape(), view.data())
        .map_err(|error| SafeTensorsError::Elements { name: name.to_owned(), error })
}

fn dtype(stored: Stored) -> Option<Dtype> {
    match stored {
        Stored::BOOL => Some(Dtype::Bool),
        Stored::U8 => Some(Dtype::U8),
        Stored::I8 => Some(Dtype::I8),
        Stored::U16 => Some(Dtype::U16),
        Stored::I16 => Some(Dtype::I16),
        Stored::U32 => Some(Dtype::U32),
        Stored::I32 => Some(Dtype::I32),
        Stored::U64 => Some(Dtype::U64),
        Stored::I64 => Some(Dtype::I64),
        Stored::F16 => Some(Dtype::F16),
        Stored::BF16 => Some(Dtype::BF16),
        Stored::F32 => Some(Dtype::F32),
        Stored::F64 => Some(Dtype::F64),
        Stored::C64 => Some(Dtype::Complex64),
        Stored::F8_E5M2 => Some(Dtype::Float8E5M2),
        Stored::F8_E4M3 => Some(Dtype::Float8E4M3Fn),
        Stored::F8_E8M0 => Some(Dtype::Float8E8M0),
        Stored::F8_E5M2FNUZ => Some(Dtype::Float8E5M2Fnuz),
        Stored::F8_E4M3FNUZ => Some(Dtype::Float8E4M3Fnuz),
        // The crate may add types, and does not specify the packing order of types smaller than a byte.
        _ => None,
    }
}

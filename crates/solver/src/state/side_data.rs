//! Tensors whose data is in other files.

use std::fmt;

use typeloom_onnx::view::{TensorHeader, TensorView};

use crate::solve_error::ErrorSite;

/// A source of tensors that a model stores in other files.
pub trait SideData: fmt::Debug + Send + Sync {
    /// The bytes of a tensor of few elements; `None` if they cannot be read.
    fn bytes(&self, tensor: &ExternalTensor<'_>) -> Option<Vec<u8>>;
}

/// A tensor with its data in another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalTensor<'a> {
    /// The initializer or node with the tensor.
    pub site: ErrorSite,
    /// The file relative to the model's directory, as written in the model. Empty if the model names none.
    pub location: &'a str,
    /// Start of the data in the file.
    pub offset: u64,
    /// The number of bytes; `None` if the dims or the element type have no size.
    pub bytes: Option<u64>,
}

impl<'a> ExternalTensor<'a> {
    /// The position of the data of a tensor; `None` if it is in the model.
    #[must_use]
    pub fn of(tensor: TensorView<'a>) -> Option<Self> {
        let header = tensor.header().ok().filter(TensorHeader::is_external)?;
        let bytes = header.payload_bytes();
        let mut external = Self { site: ErrorSite::Body, location: "", offset: 0, bytes };
        for entry in tensor.external_data().flatten() {
            match (entry.key(), entry.value()) {
                (Ok("location"), Ok(location)) => external.location = location,
                (Ok("offset"), Ok(offset)) => external.offset = offset.parse().unwrap_or(u64::MAX),
                (Ok(_) | Err(_), Ok(_) | Err(_)) => {}
            }
        }
        Some(external)
    }
}

//! Element type and extents of stored tensors.

use typeloom_types::dtype::Dtype;

use crate::messages::TensorProto;

/// Error of a tensor whose type is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The element type number is unknown.
    #[error("tensor `{name}` has the unknown element type {number}")]
    ElementType {
        /// Name of the tensor.
        name: String,
        /// Element type number.
        number: i32,
    },
    /// An extent is negative.
    #[error("tensor `{name}` has the extent {extent}")]
    Extent {
        /// Name of the tensor.
        name: String,
        /// The negative extent.
        extent: i64,
    },
}

/// Element type and extents of a stored tensor. Also works for external data.
///
/// # Errors
/// [`HeaderError`] for an unknown element type or a negative extent.
pub fn header(proto: &TensorProto) -> Result<(Dtype, Vec<usize>), HeaderError> {
    let number = proto.data_type();
    let dtype = Dtype::from_onnx_number(number)
        .ok_or_else(|| HeaderError::ElementType { name: proto.name().to_owned(), number })?;
    Ok((dtype, extents(proto.name(), &proto.dims)?))
}

/// The extents of a stored tensor called `name`.
///
/// # Errors
/// [`HeaderError::Extent`] for a negative extent.
pub fn extents(name: &str, dims: &[i64]) -> Result<Vec<usize>, HeaderError> {
    let extent = |extent: &i64| {
        usize::try_from(*extent).map_err(|_| HeaderError::Extent { name: name.to_owned(), extent: *extent })
    };
    dims.iter().map(extent).collect()
}

//! What operators take and give.

use typeloom_types::any_tensor::AnyTensor;

/// A value at run time. Clones of tensors share their bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(AnyTensor),
    /// A sequence of values.
    Sequence(Vec<Value>),
    /// A value that may be missing.
    Optional(Option<Box<Value>>),
}

impl Value {
    /// The tensor, where this is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&AnyTensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Sequence(_) | Self::Optional(_) => None,
        }
    }

    /// The sequence, where this is one.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Value]> {
        match self {
            Self::Sequence(values) => Some(values),
            Self::Tensor(_) | Self::Optional(_) => None,
        }
    }
}

impl From<AnyTensor> for Value {
    fn from(tensor: AnyTensor) -> Self {
        Self::Tensor(tensor)
    }
}

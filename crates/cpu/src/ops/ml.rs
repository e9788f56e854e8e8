//! Classical machine learning, domain `ai.onnx.ml`.
//!
//! Results and the order of additions follow ONNX Runtime, because the specification leaves both open.
//! Kernels accept every element type of the specification; ONNX Runtime rejects some of them. Attributes are
//! checked and converted once per node, see [`Attributes::derived`](crate::attributes::Attributes::derived).

use typeloom_tensor::any_tensor::AnyTensor;

use crate::attributes::Attributes;
use crate::element::{Number, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::memory;

pub(super) mod encode;
pub(super) mod feature;
mod forest;
pub(super) mod linear;
pub(super) mod map;
mod scores;
pub(super) mod svm;
pub(super) mod trees;

/// Number of rows and of columns: a vector is one row.
fn table(x: &AnyTensor) -> Result<(usize, usize), KernelErrorKind> {
    match *x.shape() {
        [columns] => Ok((1, columns)),
        [rows, columns] => Ok((rows, columns)),
        _ => invalid(format!("the input has rank {}, neither 1 nor 2", x.rank())),
    }
}

/// Elements of a numeric tensor as `T`.
fn numbers<T: Number>(x: &AnyTensor) -> Result<Vec<T>, KernelErrorKind> {
    memory::admit(x.len().saturating_mul(size_of::<T>()))?;
    if x.dtype() == T::DTYPE {
        return Ok(x.to_vec::<T>()?);
    }
    Ok(super::cast::convert(x, T::DTYPE)?.to_vec::<T>()?)
}

/// Labels of classes: texts or integers.
#[derive(Debug)]
enum Labels {
    Texts(Vec<String>),
    Ints(Vec<i64>),
}

impl Labels {
    /// The labels in these attributes. Texts are used if both lists are present.
    fn of(attributes: &Attributes, texts: &str, ints: &str) -> Result<Self, KernelErrorKind> {
        let found = attributes.texts(texts)?.unwrap_or_default();
        if found.is_empty() {
            return Ok(Self::Ints(attributes.ints(ints)?.unwrap_or_default().to_vec()));
        }
        Ok(Self::Texts(found.into_iter().map(str::to_owned).collect()))
    }

    fn len(&self) -> usize {
        match self {
            Self::Texts(list) => list.len(),
            Self::Ints(list) => list.len(),
        }
    }

    /// The labels of two classes: the given ones, or 0 and 1.
    fn pair(self) -> Self {
        match self {
            _ if self.len() == 2 => self,
            Self::Texts(_) => Self::Texts(vec!["0".to_owned(), "1".to_owned()]),
            Self::Ints(_) => Self::Ints(vec![0, 1]),
        }
    }

    /// The label of each row, given the class of each row.
    fn column(&self, classes: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
        if let Some(class) = classes.iter().find(|class| **class >= self.len()) {
            return invalid(format!("class {class} has no label"));
        }
        let shape = [classes.len()];
        match self {
            Self::Texts(list) => {
                let texts: Vec<&str> = classes.iter().map(|class| list[*class].as_str()).collect();
                Ok(AnyTensor::from_strings(&shape, &texts)?)
            }
            Self::Ints(list) => {
                from_slice(&shape, &classes.iter().map(|class| list[*class]).collect::<Vec<_>>())
            }
        }
    }
}

/// Index of the first greatest element.
fn argmax(list: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in list.iter().enumerate() {
        if *value > list[best] {
            best = at;
        }
    }
    best
}

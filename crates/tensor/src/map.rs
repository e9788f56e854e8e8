//! Maps at run time, such as the scores of a classifier by label.
//!
//! **Limit:** keys are `int64` or `string`, and the values of one map are tensors of one element type and
//! shape. ONNX allows more, ONNX Runtime less: its values are single numbers or strings.

use crate::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

/// A map from keys to tensors.
///
/// **Invariant:** the keys are a vector of `int64` or `string` in strictly ascending order, strings by their
/// bytes. The first axis of `values` has one element per key. So maps are equal if their entries are, and an
/// empty map has types.
#[derive(Clone, Debug, PartialEq)]
pub struct MapDatum {
    keys: AnyTensor,
    values: AnyTensor,
}

/// Keys and values that are no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    #[error("the keys of a map are a vector of int64 or string, not {0}")]
    Keys(String),
    #[error("the keys of a map are in ascending order, and each occurs once")]
    Order,
    #[error("a map of {} has no values of shape {shape:?}", counted(*keys, "key"))]
    Values { keys: usize, shape: Vec<usize> },
}

impl MapDatum {
    /// A map of these keys, in ascending order, to the slices of `values` along the first axis.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn new(keys: AnyTensor, values: AnyTensor) -> Result<Self, MapError> {
        let is_ascending = match (keys.rank(), keys.strings(), keys.as_slice::<i64>()) {
            (1, Ok(texts), _) => texts.clone().zip(texts.skip(1)).all(|(one, next)| one < next),
            (1, _, Ok(numbers)) => numbers.is_sorted_by(|one, next| one < next),
            _ => return Err(MapError::Keys(format!("{}{:?}", keys.dtype().onnx_name(), keys.shape()))),
        };
        if !is_ascending {
            return Err(MapError::Order);
        }
        Self::of(keys, values)
    }

    /// A map of ascending keys.
    fn of(keys: AnyTensor, values: AnyTensor) -> Result<Self, MapError> {
        if values.shape().first() != Some(&keys.len()) {
            return Err(MapError::Values { keys: keys.len(), shape: values.shape().to_vec() });
        }
        Ok(Self { keys, values })
    }

    /// A map with the same keys.
    ///
    /// # Errors
    /// [`MapError::Values`] if there is not one value per key.
    pub fn with_values(self, values: AnyTensor) -> Result<Self, MapError> {
        Self::of(self.keys, values)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys as a vector.
    #[must_use]
    pub fn keys(&self) -> &AnyTensor {
        &self.keys
    }

    /// The values, stacked along the first axis.
    #[must_use]
    pub fn values(&self) -> &AnyTensor {
        &self.values
    }

    /// Type of a key, type of a value and shape of a value.
    #[must_use]
    pub fn types(&self) -> (Dtype, Dtype, &[usize]) {
        (self.keys.dtype(), self.values.dtype(), self.values.shape().get(1..).unwrap_or_default())
    }

    /// Size of keys and values in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.keys.bytes().len() + self.values.bytes().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_and_have_one_value_each() {
        let keys = |keys: &[i64]| AnyTensor::from(keys);
        let map = MapDatum::new(keys(&[-1, 3]), AnyTensor::from([0.5_f32, 1.0])).expect("a map");
        assert_eq!(map.types(), (Dtype::I64, Dtype::F32, &[][..]));
        assert_eq!(MapDatum::new(keys(&[3, 3]), AnyTensor::from([0.5_f32, 1.0])), Err(MapError::Order));
        let texts = AnyTensor::from_strings(&[2], &["b", "a"]).expect("two texts");
        assert_eq!(MapDatum::new(texts, AnyTensor::from([0.5_f32, 1.0])), Err(MapError::Order));
        let error = MapDatum::new(keys(&[1]), AnyTensor::from([0.5_f32, 1.0]));
        assert_eq!(error, Err(MapError::Values { keys: 1, shape: vec![2] }));
        assert_eq!(map.clone().with_values(AnyTensor::from_scalar(1.0_f32)).ok(), None);
        let error = MapDatum::new(AnyTensor::from([0.5_f32]), AnyTensor::from([0.5_f32]));
        assert_eq!(error, Err(MapError::Keys("float[1]".to_owned())));
        let empty = MapDatum::new(keys(&[]), AnyTensor::from_slice::<f32>(&[0, 2], &[]).expect("nothing"));
        assert_eq!(empty.map(|map| (map.is_empty(), map.byte_len())), Ok((true, 0)));
    }
}

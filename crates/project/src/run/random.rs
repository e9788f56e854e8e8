//! Random inputs generated from their types.

use std::sync::Arc;

use typeloom_cpu::ops::generate::Random;
use typeloom_runtime::error::NodeError;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::budget;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::{MapDatum, MapError};
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::{Dtype, DtypeClass};

/// Error of generating a value.
#[derive(Debug, thiserror::Error)]
pub enum RandomError {
    #[error("no value of type {ty} can be generated: keys are int64 or string")]
    Keys { ty: ValueType },
    #[error("no value of type {ty} can be generated: the values of maps are tensors")]
    Values { ty: ValueType },
    #[error("no value of type {ty} can be generated: the type is not specific enough")]
    Vague { ty: ValueType },
    #[error("the extent {dim} has no value; choose others with --size")]
    Extent { dim: Dim },
    #[error("an input of shape {shape:?} is too large to be generated")]
    TooLarge { shape: Vec<usize> },
    #[error("an input of shape {shape:?} is too large to be generated (see --max-memory): {error}")]
    Memory { shape: Vec<usize>, error: TensorError },
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error(transparent)]
    Cast(#[from] NodeError),
    #[error(transparent)]
    Map(#[from] MapError),
}

/// Maximum number of elements of a generated input.
const MAX_ELEMENTS: usize = 1 << 28;

/// Text of an anonymous extent.
pub const UNNAMED: &str = "?";

/// Default value of an unknown extent.
const DEFAULT_EXTENT: usize = 2;

/// Generates a value of a type. Unbound symbols are bound to a small number.
pub fn value(
    ty: &ValueType,
    symbols: &mut SymbolBindings,
    random: &mut Random,
) -> Result<Datum, RandomError> {
    match (&ty.element, ty.shape.as_deref()) {
        (Element::Tensor(Some(dtype)), Some(shape)) => {
            let extents = shape.iter().map(|dim| extent(dim, symbols, random));
            tensor(*dtype, &extents.collect::<Result<Vec<_>, RandomError>>()?, random).map(Datum::Tensor)
        }
        (Element::Sequence(inner), _) => Ok(Datum::Sequence(
            (0..2).map(|_| value(inner, &mut symbols.clone(), random)).collect::<Result<_, RandomError>>()?,
        )),
        (Element::Optional(inner), _) => Ok(Datum::Optional(Some(Box::new(value(inner, symbols, random)?)))),
        (Element::Map(key, inner), _) => {
            let keys = match key {
                Dtype::I64 => AnyTensor::from([0_i64, 1]),
                Dtype::String => AnyTensor::from_strings(&[2], &["word0", "word1"])?,
                _ => return Err(RandomError::Keys { ty: ty.clone() }),
            };
            let values = ValueType { shape: stacked(inner, 2), ..ValueType::clone(inner) };
            match value(&values, symbols, random)? {
                Datum::Tensor(values) => Ok(Datum::Map(Box::new(MapDatum::new(keys, values)?))),
                _ => Err(RandomError::Values { ty: ty.clone() }),
            }
        }
        _ => Err(RandomError::Vague { ty: ty.clone() }),
    }
}

/// The shape of the values of a map of this many entries; a value of unknown rank is a single one.
pub fn stacked(value: &ValueType, entries: usize) -> Option<Arc<[Dim]>> {
    Some(
        std::iter::once(Dim::Fixed(entries))
            .chain(value.shape.iter().flat_map(|shape| shape.iter().cloned()))
            .collect(),
    )
}

fn extent(dim: &Dim, symbols: &mut SymbolBindings, random: &mut Random) -> Result<usize, RandomError> {
    if *dim == Dim::Unknown {
        return Ok(symbols.get(UNNAMED).unwrap_or(DEFAULT_EXTENT));
    }
    let unbound: Vec<&str> = symbols.unbound(dim).collect();
    for symbol in unbound {
        let size = 2 + usize::try_from(random.bits() % 4).unwrap_or(0);
        symbols.bind(symbol, size);
    }
    symbols.evaluate(dim).ok_or_else(|| RandomError::Extent { dim: dim.clone() })
}

fn tensor(dtype: Dtype, shape: &[usize], random: &mut Random) -> Result<AnyTensor, RandomError> {
    let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
    let Some(count) = count.filter(|count| *count <= MAX_ELEMENTS) else {
        return Err(RandomError::TooLarge { shape: shape.to_vec() });
    };
    // Numbers are drawn as 32-bit floats and cast; strings are generated element by element.
    let width = if dtype == Dtype::String { 64 } else { 8 + dtype.size_bytes().unwrap_or(1) };
    budget::admit(count.saturating_mul(width))
        .map_err(|error| RandomError::Memory { shape: shape.to_vec(), error })?;
    if dtype == Dtype::String {
        let words: Vec<String> = (0..count).map(|_| format!("word{}", random.bits() % 10)).collect();
        return Ok(AnyTensor::from_strings(shape, &words)?);
    }
    let numbers: Vec<f32> = (0..count)
        .map(|_| match dtype.class() {
            DtypeClass::Float => random.normal() as f32,
            // Integers often are counts or indices; 0 and 1 are valid in most ranges.
            _ => (random.bits() % 2) as f32,
        })
        .collect();
    let made = AnyTensor::from_slice(shape, &numbers)?;
    Ok(super::cast(&made, dtype)?)
}

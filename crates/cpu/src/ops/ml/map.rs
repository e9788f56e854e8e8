//! Conversions between maps and tables.
//!
//! As in ONNX Runtime, entries are in the order of their keys, the last of equal class labels counts, a
//! missing text of `CastMap` is `0.f` and a number as text has six decimals. Texts are read, and numbers
//! beyond `int64` converted, as `Cast` does.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::MapDatum;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::encode::Keys;
use super::{Labels, table};
use crate::attributes::Attributes;
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{picked, reshape};
use crate::ops::slice::join;
use crate::ops::{ML_DOMAIN, Operator, native};

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("CastMap", cast_map).of(ML_DOMAIN),
    native("DictVectorizer", vectorize).of(ML_DOMAIN),
    native("ZipMap", zip_map).of(ML_DOMAIN),
];

/// Size of a map in memory, without its values.
const MAP_SIZE: usize = size_of::<Datum>() + size_of::<MapDatum>();

/// The texts or integers in these attributes, as a vector.
fn list(attributes: &Attributes, texts: &str, ints: &str) -> Result<AnyTensor, KernelErrorKind> {
    let labels = Labels::of(attributes, texts, ints)?;
    if labels.len() == 0 {
        return invalid(format!("neither `{texts}` nor `{ints}` is given"));
    }
    labels.column(&(0..labels.len()).collect::<Vec<_>>())
}

/// The class labels of a node.
struct Classes {
    /// Number of labels, and of columns.
    count: usize,
    /// A map from the labels.
    map: MapDatum,
    /// The column of each key.
    columns: Vec<usize>,
}

impl Classes {
    fn of(attributes: &Attributes) -> Result<Self, KernelErrorKind> {
        let labels = list(attributes, "classlabels_strings", "classlabels_int64s")?;
        let columns = match labels.strings() {
            Ok(texts) => ascending(&texts.collect::<Vec<_>>()),
            Err(_) => ascending(labels.as_slice::<i64>()?),
        };
        let keys = picked(&labels, &columns, &[columns.len()])?;
        let map = MapDatum::new(keys.clone(), keys).or_else(|error| invalid(error.to_string()))?;
        Ok(Self { count: labels.len(), map, columns })
    }
}

/// Positions of the labels in ascending order; the last one of equal labels.
fn ascending<T: Ord>(labels: &[T]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).rev().collect();
    order.sort_by(|one, next| labels[*one].cmp(&labels[*next]));
    order.dedup_by(|next, one| labels[*next] == labels[*one]);
    order
}

/// One map per row.
fn zip_map(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let (rows, columns) = table(x)?;
    let classes = call.attributes.derived(Classes::of)?;
    if columns != classes.count {
        return invalid(format!(
            "the input has {}, but there are {}",
            counted(columns, "column"),
            counted(classes.count, "label")
        ));
    }
    check_size(&[rows], MAP_SIZE + classes.columns.len() * size_of::<f32>())?;
    let map = |row: &[f32]| {
        let values: Vec<f32> = classes.columns.iter().map(|column| row[*column]).collect();
        let map = classes.map.clone().with_values(from_slice(&[values.len()], &values)?);
        map.map(|map| Datum::Map(Box::new(map))).or_else(|error| invalid(error.to_string()))
    };
    let maps = x.as_slice::<f32>()?.chunks_exact(columns).map(map);
    Ok(vec![Datum::Sequence(maps.collect::<Result<_, KernelErrorKind>>()?)])
}

/// A map of single numbers or texts.
fn flat_map<'c>(call: &'c Call<'_>) -> Result<&'c MapDatum, KernelErrorKind> {
    let wrong = KernelErrorKind::InputKind { index: 0, wanted: "a map to single numbers or texts" };
    call.value(0)?.as_map().filter(|map| map.values().rank() == 1).ok_or(wrong)
}

/// The values at these positions as one row; `other` for a position beyond them.
fn row(values: &AnyTensor, other: &AnyTensor, positions: &[usize]) -> Outcome {
    one(picked(&join(&[values, other], 0)?, positions, &[1, positions.len()])?)
}

fn cast_map(call: &mut Call<'_>) -> Outcome {
    let types = [("TO_FLOAT", Dtype::F32), ("TO_STRING", Dtype::String), ("TO_INT64", Dtype::I64)];
    let to = call.choice("cast_to", &types)?;
    let is_sparse = call.choice("map_form", &[("DENSE", false), ("SPARSE", true)])?;
    let map = flat_map(call)?;
    let values = match (map.values().dtype(), to) {
        (Dtype::F32, Dtype::String) => {
            let text = |value: &f32| format!("{value:.6}").to_lowercase();
            let texts: Vec<String> = map.values().as_slice::<f32>()?.iter().map(text).collect();
            AnyTensor::from_strings(&[texts.len()], &texts)?
        }
        (_, to) => crate::ops::cast::convert(map.values(), to)?,
    };
    if !is_sparse {
        return one(reshape(values, &[1, map.len()])?);
    }
    let Some(width) = usize::try_from(call.int("max_map", 1)?).ok().filter(|width| *width > 0) else {
        return invalid("`max_map` is not positive");
    };
    check_size(&[width], size_of::<usize>())?;
    let mut positions = vec![map.len(); width];
    for (at, key) in map.keys().as_slice::<i64>()?.iter().enumerate() {
        match usize::try_from(*key) {
            Ok(key) if key < width => positions[key] = at,
            // Entries beyond the row are dropped.
            Ok(_) => {}
            Err(_) => return invalid(format!("key {key} is negative")),
        }
    }
    let missing = match to {
        Dtype::String => AnyTensor::from_strings(&[1], &["0.f"])?,
        to => AnyTensor::zeros(to, &[1])?,
    };
    row(&values, &missing, &positions)
}

/// The values of the words of a vocabulary; 0 or an empty text for other words than the keys.
fn vectorize(call: &mut Call<'_>) -> Outcome {
    let words =
        call.attributes.derived(|attributes| list(attributes, "string_vocabulary", "int64_vocabulary"))?;
    let map = flat_map(call)?;
    let (key, value, _) = map.types();
    if key != words.dtype() {
        let (keys, words) = (key.onnx_name(), words.dtype().onnx_name());
        return invalid(format!("the keys are of type {keys}, but the vocabulary is of type {words}"));
    }
    let positions = Keys::of(map.keys())?.positions(&words, map.len())?;
    row(map.values(), &AnyTensor::zeros(value, &[1])?, &positions)
}

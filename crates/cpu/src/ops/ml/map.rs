//! Conversions between maps and tables.
//!
//! As in ONNX Runtime, entries are in the order of their keys, the last of equal class labels counts, a missing text of `CastMap` is `0.f`
//! and a number as text has six decimals. Texts are read, and numbers beyond `int64` converted, as `Cast` does.

use typeloom_contracts::datum::Datum;
use typeloom_contracts::map::MapDatum;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

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
        return invalid(format!("the input has {columns} columns, but there are {} labels", classes.count));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attribute;
    use crate::error::KernelError;
    use crate::ops::named;

    fn run(name: &str, attributes: &Attributes, x: Datum) -> Result<Datum, KernelError> {
        let call = Call { version: 3, attributes, inputs: vec![Some(x)], outputs: 1 };
        let results = named(&[OPERATORS], name).run(call)?;
        Ok(results.into_iter().next().expect("one result"))
    }

    fn texts(list: &[&str]) -> AnyTensor {
        AnyTensor::from_strings(&[list.len()], list).expect("a vector")
    }

    fn of_texts(list: &[&str]) -> Attribute {
        Attribute::Strings(list.iter().map(|text| (*text).into()).collect())
    }

    fn map(keys: AnyTensor, values: AnyTensor) -> Datum {
        Datum::Map(Box::new(MapDatum::new(keys, values).expect("a map")))
    }

    fn shaped(x: AnyTensor, shape: &[usize]) -> Datum {
        x.reshape(shape).expect("as many elements").into()
    }

    fn message(result: Result<Datum, KernelError>) -> String {
        result.expect_err("the call is wrong").to_string()
    }

    #[test]
    fn rows_are_maps_in_the_order_of_the_labels() {
        let x = || shaped(AnyTensor::from([0.1_f32, 0.2, 0.7, 0.5, 0.3, 0.2]), &[2, 3]);
        let ints = Attributes::default().with("classlabels_int64s", Attribute::Ints(vec![5, 1, 3]));
        let keys = || AnyTensor::from([1_i64, 3, 5]);
        let maps = vec![
            map(keys(), AnyTensor::from([0.2_f32, 0.7, 0.1])),
            map(keys(), AnyTensor::from([0.3_f32, 0.2, 0.5])),
        ];
        assert_eq!(run("ZipMap", &ints, x()), Ok(Datum::Sequence(maps)));
        // The last of equal labels counts.
        let names = Attributes::default().with("classlabels_strings", of_texts(&["b", "a", "b"]));
        let first = map(texts(&["a", "b"]), AnyTensor::from([0.2_f32, 0.7]));
        let result = run("ZipMap", &names, AnyTensor::from([0.1_f32, 0.2, 0.7]).into());
        assert_eq!(result, Ok(Datum::Sequence(vec![first])));
        let none = run("ZipMap", &ints, shaped(AnyTensor::from([0.0_f32; 0]), &[0, 3]));
        assert_eq!(none, Ok(Datum::Sequence(Vec::new())));
    }

    #[test]
    fn a_row_has_one_column_per_label() {
        let two = Attributes::default().with("classlabels_int64s", Attribute::Ints(vec![5, 1]));
        let x = AnyTensor::from([0.1_f32, 0.2, 0.7]);
        let columns = "`ZipMap`: the input has 3 columns, but there are 2 labels";
        assert_eq!(message(run("ZipMap", &two, x.clone().into())), columns);
        let missing = "`ZipMap`: neither `classlabels_strings` nor `classlabels_int64s` is given";
        assert_eq!(message(run("ZipMap", &Attributes::default(), x.clone().into())), missing);
        let cube = message(run("ZipMap", &two, shaped(x, &[1, 1, 3])));
        assert_eq!(cube, "`ZipMap`: the input has rank 3, neither 1 nor 2");
    }

    #[test]
    fn maps_are_cast_to_dense_and_sparse_rows() {
        let cast = |to: &str| Attributes::default().with("cast_to", Attribute::Bytes(to.to_owned().into()));
        let sparse = |to: &str, width| {
            let form = Attribute::Bytes("SPARSE".into());
            cast(to).with("map_form", form).with("max_map", Attribute::Int(width))
        };
        let x = || map(AnyTensor::from([0_i64, 1, 3]), AnyTensor::from([9.75_f32, -2.5, 1e10]));
        assert_eq!(
            run("CastMap", &Attributes::default(), x()),
            Ok(shaped(AnyTensor::from([9.75_f32, -2.5, 1e10]), &[1, 3]))
        );
        assert_eq!(
            run("CastMap", &sparse("TO_INT64", 5), x()),
            Ok(shaped(AnyTensor::from([9_i64, -2, 0, 10_000_000_000, 0]), &[1, 5]))
        );
        let shown = ["9.750000", "-2.500000", "0.f"];
        assert_eq!(run("CastMap", &sparse("TO_STRING", 3), x()), Ok(shaped(texts(&shown), &[1, 3])));
        let named = map(AnyTensor::from([1_i64, 2]), texts(&["1.5", "nan"]));
        let floats = run("CastMap", &sparse("TO_FLOAT", 2), named.clone());
        assert_eq!(floats, Ok(shaped(AnyTensor::from([0.0_f32, 1.5]), &[1, 2])));
        assert_eq!(run("CastMap", &cast("TO_STRING"), named), Ok(shaped(texts(&["1.5", "nan"]), &[1, 2])));
        let odd = map(AnyTensor::from([1_i64, 2, 3]), AnyTensor::from([f32::NAN, f32::INFINITY, -0.0]));
        let shown = ["nan", "inf", "-0.000000"];
        assert_eq!(run("CastMap", &cast("TO_STRING"), odd), Ok(shaped(texts(&shown), &[1, 3])));

        let below = map(AnyTensor::from([-1_i64]), AnyTensor::from([1.0_f32]));
        assert_eq!(message(run("CastMap", &sparse("TO_FLOAT", 2), below)), "`CastMap`: key -1 is negative");
        assert_eq!(
            message(run("CastMap", &sparse("TO_FLOAT", 0), x())),
            "`CastMap`: `max_map` is not positive"
        );
        let word = map(AnyTensor::from([1_i64]), texts(&["one"]));
        assert_eq!(message(run("CastMap", &cast("TO_FLOAT"), word)), "`CastMap`: `one` is not a number");
        let tensor = message(run("CastMap", &cast("TO_FLOAT"), AnyTensor::from([1.0_f32]).into()));
        assert_eq!(tensor, "`CastMap`: input 0 is not a map to single numbers or texts");
    }

    #[test]
    fn a_vocabulary_selects_the_values_of_a_map() {
        let words = Attributes::default().with("string_vocabulary", of_texts(&["c", "b", "a", "c"]));
        let x = map(texts(&["a", "c", "z"]), AnyTensor::from([1.5_f64, 2.0, 7.0]));
        let row = shaped(AnyTensor::from([2.0_f64, 0.0, 1.5, 2.0]), &[1, 4]);
        assert_eq!(run("DictVectorizer", &words, x), Ok(row));
        let numbers = Attributes::default().with("int64_vocabulary", Attribute::Ints(vec![3, 2]));
        let x = map(AnyTensor::from([3_i64]), texts(&["x"]));
        assert_eq!(run("DictVectorizer", &numbers, x.clone()), Ok(shaped(texts(&["x", ""]), &[1, 2])));
        let wrong = "`DictVectorizer`: the keys are of type int64, but the vocabulary is of type string";
        assert_eq!(message(run("DictVectorizer", &words, x)), wrong);
    }
}

//! Operators of the domain `ai.onnx.ml` without recorded cases: features, maps and a linear model.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::error::KernelError;
use typeloom_cpu::ops::{self, Operator};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::map::MapDatum;

fn operator(name: &str) -> &'static Operator {
    ops::find("ai.onnx.ml", name).expect("the operator is known")
}

fn run(name: &str, attributes: &Attributes, x: Datum) -> Result<Datum, KernelError> {
    let call = Call { version: 5, attributes, inputs: vec![Some(x)], outputs: 1 };
    let results = operator(name).run(call)?;
    Ok(results.into_iter().next().expect("one result"))
}

fn floats(name: &str, attributes: &Attributes, x: AnyTensor) -> Vec<f32> {
    let result = run(name, attributes, x.into()).expect("the call is right");
    result.as_tensor().expect("a tensor").to_vec().expect("floats")
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
    assert_eq!(message(run("CastMap", &sparse("TO_FLOAT", 0), x())), "`CastMap`: `max_map` is not positive");
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

#[test]
fn rows_are_divided_by_their_norm_unless_it_is_zero() {
    let x = || AnyTensor::from_slice(&[2, 2], &[3.0_f32, -4.0, 0.0, 0.0]).expect("four elements");
    let norm = |norm: &str| Attributes::default().with("norm", Attribute::Bytes(norm.into()));
    assert_eq!(floats("Normalizer", &norm("L1"), x()), [3.0 / 7.0, -4.0 / 7.0, 0.0, 0.0]);
    assert_eq!(floats("Normalizer", &norm("L2"), x()), [0.6, -0.8, 0.0, 0.0]);
    // The greatest element, not the greatest magnitude.
    assert_eq!(floats("Normalizer", &norm("MAX"), x()), [1.0, -4.0 / 3.0, 0.0, 0.0]);
}

#[test]
fn missing_values_are_replaced_by_the_value_of_their_column() {
    let attributes = Attributes::default()
        .with("imputed_value_floats", Attribute::Floats(vec![7.0, 8.0]))
        .with("replaced_value_float", Attribute::Float(f32::NAN));
    let x = AnyTensor::from_slice(&[2, 2], &[f32::NAN, 1.0, 2.0, f32::NAN]).expect("four elements");
    assert_eq!(floats("Imputer", &attributes, x), [7.0, 1.0, 2.0, 8.0]);
}

#[test]
fn one_score_separates_two_classes() {
    let attributes = Attributes::default()
        .with("coefficients", Attribute::Floats(vec![1.0, 2.0]))
        .with("intercepts", Attribute::Floats(vec![-4.0]))
        .with("classlabels_strings", Attribute::Strings(vec![b"no".into(), b"yes".into()]));
    // 1 + 4 - 4 = 1 and 1 + 2 - 4 = -1.
    let x = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 2.0, 1.0, 1.0]).expect("four elements");
    let call = Call { version: 1, attributes: &attributes, inputs: vec![Some(x.into())], outputs: 2 };
    let results = operator("LinearClassifier").run(call).expect("the call is right");
    let [labels, scores] = &results[..] else { panic!("two results") };
    let labels: Vec<_> = labels.as_tensor().expect("a tensor").strings().expect("texts").collect();
    assert_eq!(labels, ["yes", "no"]);
    let scores = scores.as_tensor().expect("a tensor").to_vec::<f32>().expect("floats");
    assert_eq!(scores, [0.0, 1.0, 2.0, -1.0]);
}

//! The operators of classical machine learning, domain `ai.onnx.ml`.

use typeloom_solver::dim::DimId;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Failure, Rule, RuleCx};

use super::Entry;
use super::elementwise::SAME_SHAPE;

mod tree;

const DOMAIN: &str = "ai.onnx.ml";

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal, $run:expr;)*) => {
        $($(#[$doc])* const $rule: Rule = Rule { name: $name, run: $run };)*
    };
}

rules! {
    /// Source: ArrayFeatureExtractor, `Y` and `Z`.
    EXTRACT = "arrayfeatureextractor.columns", extract;
    /// Source: CastMap, `cast_to`.
    CAST_MAP = "castmap.to", cast_map;
    /// Strings become integers and integers strings. Source: CategoryMapper, `Y`.
    CATEGORY = "categorymapper.type", category;
    /// Source: DictVectorizer, `Y`.
    DICTIONARY = "dictvectorizer.values", dictionary;
    /// Source: FeatureVectorizer, `inputdimensions`.
    FEATURES = "featurevectorizer.columns", features;
    /// Source: LabelEncoder, `values_*` and `default_*`.
    LABELS = "labelencoder.values", labels;
    /// Source: LinearClassifier, `Y` and `Z`.
    LINEAR_CLASSIFIER = "linearclassifier.classes", |cx| classifier(cx, "classlabels_strings", "classlabels_ints");
    /// Source: SVMClassifier, `Y` and `Z`.
    SVM_CLASSIFIER = "svmclassifier.classes", |cx| classifier(cx, "classlabels_strings", "classlabels_ints");
    /// Source: LinearRegressor, `targets`.
    LINEAR_REGRESSOR = "linearregressor.targets", |cx| {
        let targets = cx.attr_int("targets")?.unwrap_or(1);
        targets_per_row(cx, "targets", targets)
    };
    /// One number for each row. Source: SVMRegressor, `Y`.
    SVM_REGRESSOR = "svmregressor.rows", |cx| targets_per_row(cx, "n_supports", 1);
    /// Source: OneHotEncoder, `cats_int64s` and `cats_strings`.
    ONE_HOT = "onehotencoder.categories", one_hot;
    /// Source: ZipMap, `classlabels_int64s` and `classlabels_strings`.
    ZIP = "zipmap.classes", zip_map;
}

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("ArrayFeatureExtractor", &[EXTRACT]).in_domain(DOMAIN),
    Entry::of("Binarizer", &[SAME_SHAPE]).in_domain(DOMAIN),
    Entry::of("CastMap", &[CAST_MAP]).in_domain(DOMAIN),
    Entry::of("CategoryMapper", &[SAME_SHAPE, CATEGORY]).in_domain(DOMAIN),
    Entry::of("DictVectorizer", &[DICTIONARY]).in_domain(DOMAIN),
    Entry::of("FeatureVectorizer", &[FEATURES]).in_domain(DOMAIN),
    Entry::of("Imputer", &[SAME_SHAPE]).in_domain(DOMAIN),
    Entry::of("LabelEncoder", &[SAME_SHAPE, LABELS]).in_domain(DOMAIN),
    Entry::of("LinearClassifier", &[LINEAR_CLASSIFIER]).in_domain(DOMAIN),
    Entry::of("LinearRegressor", &[LINEAR_REGRESSOR]).in_domain(DOMAIN),
    Entry::of("Normalizer", &[SAME_SHAPE]).in_domain(DOMAIN),
    Entry::of("OneHotEncoder", &[ONE_HOT]).in_domain(DOMAIN),
    Entry::of("SVMClassifier", &[SVM_CLASSIFIER]).in_domain(DOMAIN),
    Entry::of("SVMRegressor", &[SVM_REGRESSOR]).in_domain(DOMAIN),
    Entry::of("Scaler", &[SAME_SHAPE]).in_domain(DOMAIN),
    Entry::of("TreeEnsemble", &[tree::ENSEMBLE]).in_domain(DOMAIN),
    Entry::of("TreeEnsembleClassifier", &[tree::CLASSIFIER, tree::WEIGHTS]).in_domain(DOMAIN),
    Entry::of("TreeEnsembleRegressor", &[tree::REGRESSOR, tree::WEIGHTS]).in_domain(DOMAIN),
    Entry::of("ZipMap", &[ZIP]).in_domain(DOMAIN),
];

/// The rows of a table: its first axis, or one for a single row.
fn rows(cx: &mut RuleCx<'_, '_>) -> Result<Option<DimId>, Failure> {
    cx.require_rank(In(0), 1..=2)?;
    let Some(shape) = cx.shape(In(0)) else { return Ok(None) };
    Ok(Some(if shape.len() == 1 { cx.dims().constant(1) } else { shape[0] }))
}

fn extract(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    cx.require_rank(In(0), 1..)?;
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let count = match cx.shape(In(1)) {
        Some(indices) => match indices[..] {
            [] => cx.dims().constant(1),
            [.., last] => last,
        },
        None => match cx.shape(Out(0)).and_then(|known| known.last().copied()) {
            Some(known) => known,
            None => cx.fresh(),
        },
    };
    match shape[..] {
        [_] => {
            let one = cx.dims().constant(1);
            cx.set_shape(Out(0), &[one, count])
        }
        [ref before @ .., _] => {
            let mut extracted: typeloom_solver::rule::DimVec = before.into();
            extracted.push(count);
            cx.set_shape(Out(0), &extracted)
        }
        [] => Ok(()),
    }
}

fn cast_map(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let elem = match cx.attr_str("cast_to")? {
        Some("TO_FLOAT") | None => Elem::FLOAT,
        Some("TO_STRING") => Elem::STRING,
        Some("TO_INT64") => Elem::INT64,
        Some(other) => {
            let message = format!("is `{other}`, but must be TO_FLOAT, TO_STRING or TO_INT64");
            return Err(Failure::attribute("cast_to", message));
        }
    };
    cx.set_elem(Out(0), elem)
}

fn category(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let ints = cx.attr_ints("cats_int64s")?.unwrap_or_default().len();
    let strings = cx.attr_strings("cats_strings")?.unwrap_or_default().len();
    if ints == 0 || ints != strings {
        let message =
            format!("has {ints} items, but must have as many as `cats_strings` ({strings}), at least one");
        return Err(Failure::attribute("cats_int64s", message));
    }
    for (from, to) in [(In(0), Out(0)), (Out(0), In(0))] {
        match cx.elem(from) {
            Some(Elem::STRING) => cx.set_elem(to, Elem::INT64)?,
            Some(Elem::INT64) => cx.set_elem(to, Elem::STRING)?,
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn dictionary(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    if cx.has_attr("string_vocabulary")? == cx.has_attr("int64_vocabulary")? {
        return Err(Failure::attribute(
            "string_vocabulary",
            "or `int64_vocabulary` must be given, but not both",
        ));
    }
    cx.same_elem(In(0), Out(0))?;
    let words = match cx.attr_strings("string_vocabulary")? {
        Some(words) => words.len(),
        None => cx.attr_ints("int64_vocabulary")?.unwrap_or_default().len(),
    };
    let one = cx.dims().constant(1);
    let words = cx.dims().constant(i64::try_from(words).unwrap_or(i64::MAX));
    cx.set_shape(Out(0), &[one, words])
}

fn features(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let Some(dims) = cx.attr_ints("inputdimensions")? else { return Ok(()) };
    let Some(columns) = dims.iter().try_fold(0_i64, |sum, dim| sum.checked_add(*dim)) else { return Ok(()) };
    let columns = cx.dims().constant(columns);
    match rows(cx)? {
        Some(rows) => cx.set_shape(Out(0), &[rows, columns]),
        None => Ok(()),
    }
}

/// The element type of the one list of values, keys or default among those that can be given.
fn labels(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    if cx.since_version() < 2 {
        return category_labels(cx);
    }
    for (port, prefix) in [
        (In(0), ["keys_strings", "keys_int64s", "keys_floats", "keys_tensor"]),
        (Out(0), ["values_strings", "values_int64s", "values_floats", "values_tensor"]),
    ] {
        let mut given = Vec::new();
        for (name, elem) in
            prefix.into_iter().zip([Some(Elem::STRING), Some(Elem::INT64), Some(Elem::FLOAT), None])
        {
            if cx.has_attr(name)? {
                let of_tensor = match (elem, cx.attr_tensor(name)?) {
                    (None, Some(tensor)) => Elem::from_onnx(tensor.header()?.data_type),
                    (elem, _) => elem,
                };
                given.push((name, of_tensor));
            }
        }
        match given[..] {
            [(_, Some(elem))] => cx.set_elem(port, elem)?,
            [(_, None)] => {}
            [] => return Err(Failure::attribute(prefix[0], "or another of its kind must be given")),
            [(name, _), ..] => {
                return Err(Failure::attribute(name, "is one of several lists where only one can be given"));
            }
        }
    }
    if let Some(default) = cx.attr_tensor("default_tensor")? {
        let header = default.header()?;
        if Elem::from_onnx(header.data_type) != cx.elem(Out(0)) {
            return Err(Failure::attribute("default_tensor", "must have the element type of the values"));
        }
        if header.dims.iter().any(|dim| *dim != 1) || header.dims.len() > 1 {
            return Err(Failure::attribute("default_tensor", "must hold a single value"));
        }
    }
    Ok(())
}

/// Version 1 maps strings to integers and back.
fn category_labels(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    match cx.elem(In(0)) {
        Some(Elem::STRING) => cx.set_elem(Out(0), Elem::INT64),
        Some(Elem::INT64) => cx.set_elem(Out(0), Elem::STRING),
        Some(_) | None => Ok(()),
    }
}

/// The type of the class labels, and how many there are.
fn classes(
    cx: &mut RuleCx<'_, '_>,
    strings: &'static str,
    ints: &'static str,
) -> Result<Option<i64>, Failure> {
    let strings = cx.attr_strings(strings)?.unwrap_or_default().len();
    let ints = cx.attr_ints(ints)?.unwrap_or_default().len();
    cx.set_elem(Out(0), if strings > 0 { Elem::STRING } else { Elem::INT64 })?;
    Ok(i64::try_from(strings.max(ints)).ok().filter(|count| *count > 0))
}

fn classifier(cx: &mut RuleCx<'_, '_>, strings: &'static str, ints: &'static str) -> Result<(), Failure> {
    let count = classes(cx, strings, ints)?;
    let Some(rows) = rows(cx)? else { return Ok(()) };
    cx.set_shape(Out(0), &[rows])?;
    match count {
        Some(count) => {
            let count = cx.dims().constant(count);
            cx.set_shape(Out(1), &[rows, count])
        }
        None => cx.set_rank(Out(1), 2),
    }
}

fn targets_per_row(cx: &mut RuleCx<'_, '_>, name: &'static str, targets: i64) -> Result<(), Failure> {
    if targets < 0 {
        return Err(Failure::attribute(name, format!("is {targets}, but cannot be negative")));
    }
    let targets = cx.dims().constant(targets);
    match rows(cx)? {
        Some(rows) => cx.set_shape(Out(0), &[rows, targets]),
        None => Ok(()),
    }
}

fn one_hot(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let ints = cx.attr_ints("cats_int64s")?.unwrap_or_default().len();
    let strings = cx.attr_strings("cats_strings")?.unwrap_or_default().len();
    if (ints > 0) == (strings > 0) {
        return Err(Failure::attribute("cats_int64s", "or `cats_strings` must be given, but not both"));
    }
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let count = i64::try_from(ints.max(strings)).unwrap_or(i64::MAX);
    shape.push(cx.dims().constant(count));
    cx.set_shape(Out(0), &shape)
}

fn zip_map(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    cx.require_rank(In(0), 1..=2)?;
    let strings = cx.attr_strings("classlabels_strings")?.unwrap_or_default().len();
    let ints = cx.attr_ints("classlabels_int64s")?.unwrap_or_default().len();
    let key = match (strings > 0, ints > 0) {
        (true, false) => Elem::STRING,
        (false, true) => Elem::INT64,
        _ => {
            return Err(Failure::attribute(
                "classlabels_strings",
                "or `classlabels_int64s` must be given, but not both",
            ));
        }
    };
    let value = cx.types().tensor_of(ElemSet::of(Elem::FLOAT));
    let map = cx.types().map(key, value);
    let sequence = cx.types().sequence(map);
    cx.set_ty(Out(0), sequence, "a sequence of maps")?;
    cx.set_shape(Out(0), &[])
}

//! The operators of classical machine learning, domain `ai.onnx.ml`.
//!
//! Models of tables have rows of features. These rules relate the numbers of features and of results to the
//! lengths of attributes, and to the few attributes that are counts or indices:
//!
//! ```text
//! LinearClassifier <coefficients: 12 numbers, intercepts: 3 numbers> (x: float[N, F])
//!   y: int64[N]    z: float[N, 3]    F is at most 12 / 3
//! ```
//!
//! | operators | relation |
//! |---|---|
//! | classifiers | labels and scores for each row ([`scores`]); the type of the labels ([`classes`]) |
//! | regressors | targets for each row ([`targets_per_row`]) |
//! | encoders | element types from the lists of keys and values |
//! | vectorizers | columns from the lengths of lists |
//! | others | the shape of the input, and checks of the attributes |
//!
//! The trees are in [`tree`]. A vector is one row ([`rows`]).
//!
//! The specification leaves the number of features of some operators open. Their rules require what ONNX
//! Runtime requires. For example, a linear model may have more coefficients than features.
//!
//! **Invariant:** the labels and the scores of a classifier have the same rows.
//!
//! **Invariant:** a rule sets its results before it compares features, so they are known even if these are
//! wrong.
//!
//! The time is linear in the attributes.
//!
//! Limits: values are not followed. The features of a support vector machine are compared only if the length
//! of its list is a multiple of the number of vectors.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::common::{choice, require_at_most, set_extents, unknown_extent};
use super::elementwise::SAME_SHAPE;
use super::{Entry, rule};

mod tree;

const DOMAIN: &str = "ai.onnx.ml";

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("ArrayFeatureExtractor", &[rule("arrayfeatureextractor.columns", extract)]).in_domain(DOMAIN),
    Entry::of("Binarizer", &[SAME_SHAPE]).in_domain(DOMAIN),
    Entry::of("CastMap", &[rule("castmap.to", cast_map)]).in_domain(DOMAIN),
    Entry::of("CategoryMapper", &[SAME_SHAPE, rule("categorymapper.type", category)]).in_domain(DOMAIN),
    Entry::of("DictVectorizer", &[rule("dictvectorizer.values", dictionary)]).in_domain(DOMAIN),
    Entry::of("FeatureVectorizer", &[rule("featurevectorizer.columns", features)]).in_domain(DOMAIN),
    Entry::of("Imputer", &[SAME_SHAPE, rule("imputer.values", imputer)]).in_domain(DOMAIN),
    Entry::of("LabelEncoder", &[SAME_SHAPE, rule("labelencoder.values", labels)]).in_domain(DOMAIN),
    Entry::of("LinearClassifier", &[rule("linearclassifier.classes", linear_classifier)]).in_domain(DOMAIN),
    Entry::of("LinearRegressor", &[rule("linearregressor.targets", linear_regressor)]).in_domain(DOMAIN),
    // A vector or rows. Source: Normalizer, `X` and `norm`.
    Entry::of("Normalizer", &[SAME_SHAPE, rule("normalizer.rows", |cx| rows(cx).map(drop))])
        .in_domain(DOMAIN),
    Entry::of("OneHotEncoder", &[rule("onehotencoder.categories", one_hot)]).in_domain(DOMAIN),
    Entry::of("SVMClassifier", &[rule("svmclassifier.classes", svm_classifier)]).in_domain(DOMAIN),
    Entry::of("SVMRegressor", &[rule("svmregressor.rows", svm_regressor)]).in_domain(DOMAIN),
    Entry::of("Scaler", &[SAME_SHAPE, rule("scaler.features", scaler)]).in_domain(DOMAIN),
    Entry::of("TreeEnsemble", &[rule("treeensemble.targets", tree::ensemble)]).in_domain(DOMAIN),
    Entry::of("TreeEnsembleClassifier", &[tree::CLASSIFIER, tree::WEIGHTS]).in_domain(DOMAIN),
    Entry::of("TreeEnsembleRegressor", &[tree::REGRESSOR, tree::WEIGHTS]).in_domain(DOMAIN),
    Entry::of("ZipMap", &[rule("zipmap.classes", zip_map)]).in_domain(DOMAIN),
];

/// The number of rows of a table: its first extent, or 1 for a single row.
fn rows(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<DimId>> {
    let Some(shape) = cx.shape_of_rank(In(0), 1..=2)? else { return Ok(None) };
    Ok(Some(if shape.len() == 1 { DimId::ONE } else { shape[0] }))
}

/// The last axis of `X` has one element per index, for indices of any rank; a vector becomes a row.
/// Source: ArrayFeatureExtractor, `Y` and `Z`.
fn extract(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(shape) = cx.shape_of_rank(In(0), 1..)? else { return Ok(()) };
    let last = shape.len() - 1;
    let count = cx.shape(In(1)).map(|indices| cx.dims().product(&indices));
    let mut extracted: DimVec =
        if last == 0 { [DimId::ONE].into_iter().collect() } else { shape[..last].into() };
    extracted.push(count.unwrap_or_else(|| unknown_extent(cx, Out(0), extracted.len())));
    cx.set_shape(Out(0), &extracted)?;
    for index in cx.const_ints(In(1)).unwrap_or_default() {
        index_below(cx, index, In(1), (In(0), last, shape[last]))?;
    }
    Ok(())
}

/// Requires a constant index to be less than a number of elements.
fn index_below(
    cx: &mut RuleCx<'_, '_>,
    index: i64,
    port: Port,
    (data, axis, extent): (Port, usize, DimId),
) -> RuleResult {
    if index < 0 {
        let message = format!("holds the index {index}, but indices cannot be negative");
        return Err(RuleError::value(port, message));
    }
    let needed = cx.dims().constant(index.saturating_add(1));
    let relation = "are an index plus 1 and the extent that it indexes";
    require_at_most(cx, (port, needed), (data, axis, extent), relation)
}

/// Source: CastMap, `cast_to`.
fn cast_map(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let elems = [("TO_FLOAT", Elem::FLOAT), ("TO_STRING", Elem::STRING), ("TO_INT64", Elem::INT64)];
    let elem = choice(cx, "cast_to", &elems)?.unwrap_or(Elem::FLOAT);
    cx.set_elem(Out(0), elem)?;
    let width = match cx.attr_str("map_form")? {
        Some("SPARSE") => {
            let width = cx.attr_at_least("max_map", 1, 1)?;
            Some(cx.dims().constant(width))
        }
        // One column per entry of the map.
        Some(_) | None => None,
    };
    set_extents(cx, Out(0), [Some(DimId::ONE), width])
}

/// Strings are mapped to integers and integers to strings. Source: CategoryMapper, `Y`.
fn category(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (strings, ints) = alternatives(cx, "cats_strings", "cats_int64s")?;
    if ints == 0 || ints != strings {
        let message = format!(
            "has {}, but must have as many as `cats_strings` ({strings}), at least one",
            counted(ints, "item")
        );
        return Err(RuleError::attribute("cats_int64s", message));
    }
    strings_to_integers(cx, In(0), Out(0))?;
    strings_to_integers(cx, Out(0), In(0))
}

/// Source: DictVectorizer, `Y`.
fn dictionary(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let given = [cx.has_attr("string_vocabulary")?, cx.has_attr("int64_vocabulary")?];
    require_one(given, "string_vocabulary", "int64_vocabulary")?;
    cx.same_elem(In(0), Out(0))?;
    let (strings, ints) = alternatives(cx, "string_vocabulary", "int64_vocabulary")?;
    let words = cx.count(strings.max(ints));
    cx.set_shape(Out(0), &[DimId::ONE, words])
}

/// A row has the columns of all inputs; the attribute states their numbers.
/// Source: FeatureVectorizer, `inputdimensions`.
fn features(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let mut rows: Option<(Port, usize, DimId)> = None;
    for port in (0..cx.input_count()).map(In) {
        let Some(shape) = cx.shape(port) else { continue };
        let own = if shape.len() < 2 { DimId::ONE } else { shape[0] };
        rows = Some(match rows {
            None => (port, 0, own),
            Some(first) => {
                let same = cx.require_equal(first, (port, own), "count the rows of the inputs")?;
                (first.0, first.1, same)
            }
        });
    }
    let columns = match cx.attr_ints("inputdimensions")? {
        Some(dims) if dims.len() != cx.input_count() => {
            let message =
                format!("has {} for {}", counted(dims.len(), "item"), counted(cx.input_count(), "input"));
            return Err(RuleError::attribute("inputdimensions", message));
        }
        Some(dims) => dims.iter().try_fold(0_i64, |sum, dim| sum.checked_add(*dim)),
        None => None,
    };
    let columns = columns.map(|columns| cx.dims().constant(columns));
    set_extents(cx, Out(0), [rows.map(|(_, _, rows)| rows), columns])
}

/// The element type of the only list of values, keys or default among the alternatives.
/// Source: LabelEncoder, `values_*` and `default_*`.
fn labels(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if cx.since_version() < 2 {
        return strings_to_integers(cx, In(0), Out(0));
    }
    let mut lengths = Vec::new();
    for (port, prefix) in [
        (In(0), ["keys_strings", "keys_int64s", "keys_floats", "keys_tensor"]),
        (Out(0), ["values_strings", "values_int64s", "values_floats", "values_tensor"]),
    ] {
        let mut given = Vec::new();
        let mut length = None;
        for (name, elem) in
            prefix.into_iter().zip([Some(Elem::STRING), Some(Elem::INT64), Some(Elem::FLOAT), None])
        {
            if cx.has_attr(name)? {
                let of_tensor = match (elem, cx.attr_tensor(name)?) {
                    (None, Some(tensor)) => Elem::from_onnx(tensor.header()?.data_type),
                    (elem, _) => elem,
                };
                given.push((name, of_tensor));
                length = list_length(cx, name)?;
            }
        }
        lengths.push(length);
        match given[..] {
            [(_, Some(elem))] => cx.set_elem(port, elem)?,
            [(_, None)] => {}
            [] => {
                return Err(RuleError::attribute(
                    prefix[0],
                    "or the same list with another element type must be given",
                ));
            }
            [(name, _), ..] => {
                let message = "is one of several lists, but only one of them is allowed";
                return Err(RuleError::attribute(name, message));
            }
        }
    }
    if let (Some(keys), Some(values)) = (lengths[0], lengths[1])
        && keys != values
    {
        let message = format!(
            "or another list of keys has {}, but there are {}",
            counted(keys, "item"),
            counted(values, "value")
        );
        return Err(RuleError::attribute("keys_strings", message));
    }
    if let Some(default) = cx.attr_tensor("default_tensor")? {
        let header = default.header()?;
        if Elem::from_onnx(header.data_type) != cx.elem(Out(0)) {
            return Err(RuleError::attribute("default_tensor", "must have the element type of the values"));
        }
        if header.dims.iter().any(|dim| *dim != 1) || header.dims.len() > 1 {
            return Err(RuleError::attribute("default_tensor", "must hold a single value"));
        }
    }
    Ok(())
}

/// Number of items of the list in an attribute; the suffix of its name determines their type.
fn list_length(cx: &RuleCx<'_, '_>, name: &'static str) -> RuleResult<Option<usize>> {
    let kind = name.rsplit('_').next();
    Ok(match kind {
        Some("strings") => cx.attr_strings(name)?.map(|items| items.len()),
        Some("int64s") => cx.attr_ints(name)?.map(|items| items.len()),
        Some("floats") => cx.attr_floats(name)?.map(|items| items.len()),
        _ => match cx.attr_tensor(name)? {
            Some(tensor) => match tensor.header()?.dims[..] {
                [items] => usize::try_from(items).ok(),
                _ => None,
            },
            None => None,
        },
    })
}

/// Strings are mapped to integers and vice versa.
fn strings_to_integers(cx: &mut RuleCx<'_, '_>, from: Port, to: Port) -> RuleResult {
    match cx.elem(from) {
        Some(Elem::STRING) => cx.set_elem(to, Elem::INT64),
        Some(Elem::INT64) => cx.set_elem(to, Elem::STRING),
        Some(_) | None => Ok(()),
    }
}

/// Lengths of two lists that exclude each other, of strings and of integers.
fn alternatives(cx: &RuleCx<'_, '_>, strings: &str, ints: &str) -> RuleResult<(usize, usize)> {
    let of_strings = cx.attr_strings(strings)?.unwrap_or_default().len();
    Ok((of_strings, cx.attr_ints(ints)?.unwrap_or_default().len()))
}

/// Requires exactly one of two attributes.
fn require_one(given: [bool; 2], name: &'static str, other: &str) -> RuleResult {
    if given[0] != given[1] {
        return Ok(());
    }
    Err(RuleError::attribute(name, format!("or `{other}` must be given, but not both")))
}

/// Number of class labels, which are the elements of the first output.
fn classes(cx: &mut RuleCx<'_, '_>, strings: &'static str, ints: &'static str) -> RuleResult<usize> {
    let (of_strings, of_ints) = alternatives(cx, strings, ints)?;
    if of_strings > 0 && of_ints > 0 {
        return Err(RuleError::attribute(strings, format!("and `{ints}` cannot both be given")));
    }
    cx.set_elem(Out(0), if of_strings > 0 { Elem::STRING } else { Elem::INT64 })?;
    Ok(of_strings.max(of_ints))
}

/// Sets the shapes of the label and the scores of each row.
fn scores(cx: &mut RuleCx<'_, '_>, rows: Option<DimId>, columns: Option<usize>) -> RuleResult {
    let rows = rows.unwrap_or_else(|| unknown_extent(cx, Out(0), 0));
    cx.set_shape(Out(0), &[rows])?;
    let columns = columns.map(|columns| cx.count(columns));
    set_extents(cx, Out(1), [Some(rows), columns])
}

/// One score per intercept; for a single one, the score of the other class is implied.
/// Source: LinearClassifier, `Y` and `Z`.
fn linear_classifier(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let labels = classes(cx, "classlabels_strings", "classlabels_ints")?;
    let rows = rows(cx)?;
    let intercepts = cx.attr_floats("intercepts")?.unwrap_or_default().len();
    let columns = match (intercepts, labels) {
        (0, 0) => None,
        (0, labels) => Some(labels),
        (1, 0) => Some(1),
        (1, 2) => Some(2),
        (1, labels) => {
            let message = format!("has one item for {labels} labels, but separates two classes");
            return Err(RuleError::attribute("intercepts", message));
        }
        (many, _) => Some(many),
    };
    scores(cx, rows, columns)?;
    if intercepts > 0 { coefficients(cx, intercepts) } else { Ok(()) }
}

/// Requires a coefficient per feature and class (or target) of a row. The specification does not define the
/// features of a vector.
fn coefficients(cx: &mut RuleCx<'_, '_>, classes: usize) -> RuleResult {
    let Some(given) = cx.attr_floats("coefficients")? else { return Ok(()) };
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let [_, features] = shape[..] else { return Ok(()) };
    let most = cx.count(given.len() / classes.max(1));
    let relation = "is the number of features, at most one per coefficient of a class";
    require_at_most(cx, (In(0), 1, features), (In(0), most), relation)
}

/// Without probabilities, a support vector machine has a score per pair of classes.
/// Source: SVMClassifier, `Y` and `Z`.
fn svm_classifier(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let labels = classes(cx, "classlabels_strings", "classlabels_ints")?;
    let rows = rows(cx)?;
    let vectors: i64 =
        cx.attr_ints("vectors_per_class")?.unwrap_or_default().iter().copied().fold(0, i64::saturating_add);
    let has_vectors = vectors > 0;
    let has_probabilities = !cx.attr_floats("prob_a")?.unwrap_or_default().is_empty();
    let columns = match labels {
        0 => None,
        2 => Some(2),
        many if has_vectors && !has_probabilities => Some(many * (many - 1) / 2),
        many => Some(many),
    };
    scores(cx, rows, columns)?;
    if has_vectors {
        svm_features(cx, "support_vectors", usize::try_from(vectors).unwrap_or(usize::MAX))
    } else {
        svm_features(cx, "coefficients", labels)
    }
}

fn targets_per_row(cx: &mut RuleCx<'_, '_>, name: &'static str, targets: i64) -> RuleResult {
    if targets < 0 {
        return Err(RuleError::attribute(name, format!("is {targets}, but cannot be negative")));
    }
    let targets = cx.dims().constant(targets);
    match rows(cx)? {
        Some(rows) => cx.set_shape(Out(0), &[rows, targets]),
        None => Ok(()),
    }
}

/// Source: LinearRegressor, `targets`.
fn linear_regressor(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let targets = cx.attr_int("targets")?.unwrap_or(1);
    targets_per_row(cx, "targets", targets)?;
    coefficients(cx, usize::try_from(targets).unwrap_or(usize::MAX))
}

/// One number per row. Source: SVMRegressor, `Y`.
fn svm_regressor(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let vectors = cx.attr_int("n_supports")?.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    targets_per_row(cx, "n_supports", 1)?;
    svm_features(cx, "support_vectors", vectors)
}

/// Requires the number of features to equal the number of elements of a vector.
fn svm_features(cx: &mut RuleCx<'_, '_>, vectors_attr: &str, vectors: usize) -> RuleResult {
    let numbers = cx.attr_floats(vectors_attr)?.unwrap_or_default().len();
    if vectors > 0
        && numbers.is_multiple_of(vectors)
        && let Some(shape) = cx.shape(In(0))
        && let Some(last) = shape.len().checked_sub(1)
    {
        let features = cx.count(numbers / vectors);
        let relation = "is the number of features, as in a support vector";
        cx.require_equal((In(0), last, shape[last]), features, relation)?;
    }
    Ok(())
}

/// One value per feature, or one for all; ONNX Runtime also accepts other numbers of values.
/// Source: Imputer, `imputed_value_floats` and `imputed_value_int64s`.
fn imputer(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let floats = cx.attr_floats("imputed_value_floats")?.is_some_and(|values| !values.is_empty());
    let ints = cx.attr_ints("imputed_value_int64s")?.is_some_and(|values| !values.is_empty());
    let (name, other, is_given) = match cx.elem(In(0)) {
        Some(Elem::FLOAT | Elem::DOUBLE) => ("imputed_value_floats", "imputed_value_int64s", floats),
        Some(_) => ("imputed_value_int64s", "imputed_value_floats", ints),
        None => return Ok(()),
    };
    if floats && ints {
        return Err(RuleError::attribute(name, format!("and `{other}` cannot both be given")));
    }
    if !is_given {
        return Err(RuleError::attribute(name, "must be given for this element type"));
    }
    Ok(())
}

/// One number per feature, or one for all. Source: Scaler, `offset` and `scale`.
fn scaler(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (offset, scale) = (cx.attr_floats("offset")?, cx.attr_floats("scale")?);
    let (Some(offset), Some(scale)) = (offset, scale) else { return Ok(()) };
    if offset.len() != scale.len() {
        let message = format!("has {}, but `scale` has {}", counted(offset.len(), "item"), scale.len());
        return Err(RuleError::attribute("offset", message));
    }
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = usize::from(shape.len() > 1);
    if let Some(features) = shape.get(axis).copied()
        && scale.len() != 1
    {
        let needed = cx.count(scale.len());
        cx.require_equal(
            (In(0), axis, features),
            needed,
            "is the number of features, one per item of `scale`",
        )?;
    }
    Ok(())
}

/// Source: OneHotEncoder, `cats_int64s` and `cats_strings`.
fn one_hot(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (strings, ints) = alternatives(cx, "cats_strings", "cats_int64s")?;
    require_one([ints > 0, strings > 0], "cats_int64s", "cats_strings")?;
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let count = i64::try_from(ints.max(strings)).unwrap_or(i64::MAX);
    shape.push(cx.dims().constant(count));
    cx.set_shape(Out(0), &shape)
}

/// Source: ZipMap, `classlabels_int64s` and `classlabels_strings`.
fn zip_map(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..=2)?;
    let (strings, ints) = alternatives(cx, "classlabels_strings", "classlabels_int64s")?;
    require_one([strings > 0, ints > 0], "classlabels_strings", "classlabels_int64s")?;
    let key = if strings > 0 { Elem::STRING } else { Elem::INT64 };
    let value = cx.types().tensor_of(ElemSet::of(Elem::FLOAT));
    let map = cx.types().map(key, value);
    let sequence = cx.types().sequence(map);
    cx.set_ty(Out(0), sequence, "a sequence of maps")?;
    cx.set_shape(Out(0), &[])?;
    if let Some(shape) = cx.shape(In(0))
        && let Some(last) = shape.len().checked_sub(1)
    {
        let labels = cx.count(strings.max(ints));
        cx.require_equal(
            (In(0), last, shape[last]),
            labels,
            "is the number of columns, one per class label",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::outputs_despite_errors;

    /// Each model has 4 features, but parameters for 3 of them or fewer.
    #[test]
    fn results_have_types_even_if_the_features_are_wrong() {
        let of = |node: &str, input: &str, outputs: &str| {
            outputs_despite_errors(&format!(
                r#"<ir_version: 11, opset_import: ["": 23, "ai.onnx.ml": 3]>
                   g ({input} x, int64[1] k) => ({outputs}) <int64[1] index = {{9}}> {{ {outputs} = "ai.onnx.ml".{node} }}"#
            ))
        };
        let labels = "classlabels_ints = [1, 2, 3]";
        let classifier = |node: &str| of(node, "float[N, 4]", "y, z");
        let coefficients = "coefficients = [0.1, 0.2, 0.3]";
        let both = ["int64[N]", "float[N, 3]"];
        assert_eq!(
            classifier(&format!(
                "LinearClassifier <{coefficients}, intercepts = [0.1, 0.2, 0.3], {labels}> (x)"
            )),
            both
        );
        assert_eq!(
            classifier(&format!(
                "SVMClassifier <{labels}, vectors_per_class = [1, 0, 0], support_vectors = [0.1, 0.2, 0.3]> (x)"
            )),
            both
        );
        let nodes = r#"nodes_featureids = [7, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"]"#;
        assert_eq!(
            classifier(&format!("TreeEnsembleClassifier <classlabels_int64s = [1, 2, 3], {nodes}> (x)")),
            both
        );
        let regressor = |node: &str| of(node, "float[N, 4]", "y");
        assert_eq!(regressor(&format!("LinearRegressor <targets = 1, {coefficients}> (x)")), ["float[N, 1]"]);
        assert_eq!(
            regressor("SVMRegressor <n_supports = 1, support_vectors = [0.1, 0.2, 0.3]> (x)"),
            ["float[N, 1]"]
        );
        assert_eq!(
            regressor(&format!("TreeEnsembleRegressor <n_targets = 2, {nodes}> (x)")),
            ["float[N, 2]"]
        );
        assert_eq!(regressor("ArrayFeatureExtractor (x, index)"), ["float[N, 1]"]);
        assert_eq!(regressor("ZipMap <classlabels_int64s = [1, 2]> (x)"), ["seq(map(int64, float))"]);
    }
}

//! Operators that create tensors from attributes and sizes: Constant, ConstantOfShape, EyeLike.
//!
//! These operators are the sources of values that shapes are computed from:
//!
//! ```text
//! shape = Shape (x)                               x: float[N, 3], the value is [N, 3]
//! y = ConstantOfShape (shape)                     float[N, 3], all elements are 0
//! z = ConstantOfShape <value = int64[1] {1}> (s)  int64[?, ?] for s: int64[2] of unknown value
//! ```
//!
//! A node `Constant` has exactly one of eight attributes ([`CONSTANT_FORMS`]). The attribute determines the
//! element type and the shape of the output. `ConstantOfShape` reads the extents of the output from its
//! input. If only the number of extents is known, its rule sets the rank.
//!
//! The elements of `ConstantOfShape` are equal. If all extents are constants and the result is small, the
//! rule records a list of equal elements. If extents are symbols, the number of elements is unknown, but the
//! element is known: [`put_equal`] records an affine function with this constant value for all positions.
//! Other rules read it by [`equal_elements`](super::affine::equal_elements).
//!
//! **Invariant:** no output gets a negative extent. Negative extents in an attribute and in an input are
//! errors.
//!
//! The time is linear in the elements of an attribute or of a listed result. Tensors are not decoded here,
//! except for the one element of `ConstantOfShape`; the solver reads them when a rule asks for them.
//!
//! **Limit:** the elements of a constant with more than [`MAX_ITEMS`] elements are not recorded. The elements
//! of a sparse constant and of `EyeLike` are never recorded.

use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extents, Floats, Ints, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::affine::put_equal;
use super::common::{
    Source, const_extents, element_count, require_extent, set_elem_attr_or_same, set_named_elem,
};
use super::elementwise::SAME_SHAPE;
use super::items::MAX_ITEMS;
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Constant", &[rule("constant.value", constant)]),
    Entry::of("ConstantOfShape", &[rule("constantofshape.shape", constant_of_shape)]),
    Entry::of("EyeLike", &[SAME_SHAPE, rule("eyelike.matrix", eye_like)]),
];

/// The attributes of Constant; exactly one is set.
const CONSTANT_FORMS: [&str; 8] = [
    "value",
    "sparse_value",
    "value_float",
    "value_floats",
    "value_int",
    "value_ints",
    "value_string",
    "value_strings",
];

/// The output is the tensor in the only attribute that is set. Source: Constant, attributes.
fn constant(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let mut given = None;
    for form in cx.attr_names()? {
        let Some(form) = CONSTANT_FORMS.into_iter().find(|known| *known == form) else { continue };
        // The attribute can refer to an attribute of the enclosing function that is not set.
        if !cx.has_attr(form)? {
            continue;
        }
        if let Some(other) = given {
            let message = format!("is given together with {other}, but only one of them is allowed");
            return Err(RuleError::attribute(form, message));
        }
        given = Some(form);
    }
    match given {
        Some("value") => match cx.attr_header("value")? {
            Some(header) => {
                if let Some(extent) = header.dims.iter().find(|extent| **extent < 0) {
                    return Err(RuleError::attribute("value", format!("has the negative extent {extent}")));
                }
                cx.set_tensor(Out(0), &header)
            }
            None => Ok(()),
        },
        Some("sparse_value") => sparse(cx),
        Some(form @ "value_float") => floats(cx, false, &[cx.attr_float(form)?.unwrap_or_default()]),
        Some(form @ "value_floats") => floats(cx, true, &cx.attr_floats(form)?.unwrap_or_default()),
        Some(form @ "value_int") => ints(cx, false, &[cx.attr_int(form)?.unwrap_or_default()]),
        Some(form @ "value_ints") => ints(cx, true, &cx.attr_ints(form)?.unwrap_or_default()),
        Some("value_string") => listed(cx, Elem::STRING, false, 1).map(drop),
        Some(form @ "value_strings") => {
            let count = cx.attr_strings(form)?.unwrap_or_default().len();
            listed(cx, Elem::STRING, true, count).map(drop)
        }
        Some(_) | None => Err(RuleError::attribute("value", "or another form of the constant must be given")),
    }
}

/// Sets the type of a list of `count` elements, or of a scalar, and returns the extents.
fn listed(cx: &mut RuleCx<'_, '_>, elem: Elem, is_list: bool, count: usize) -> RuleResult<Extents> {
    cx.set_elem(Out(0), elem)?;
    let extents: Extents = is_list.then_some(count).into_iter().collect();
    let shape: DimVec = extents.iter().map(|extent| cx.count(*extent)).collect();
    cx.set_shape(Out(0), &shape)?;
    Ok(extents)
}

fn floats(cx: &mut RuleCx<'_, '_>, is_list: bool, items: &[f32]) -> RuleResult {
    let shape = listed(cx, Elem::FLOAT, is_list, items.len())?;
    cx.set_floats(Out(0), Floats { shape, items: items.iter().copied().map(f64::from).collect() });
    Ok(())
}

fn ints(cx: &mut RuleCx<'_, '_>, is_list: bool, items: &[i64]) -> RuleResult {
    let shape = listed(cx, Elem::INT64, is_list, items.len())?;
    let items = items.iter().map(|item| cx.dims().constant(*item)).collect();
    cx.set_ints(Out(0), Ints { shape, items });
    Ok(())
}

/// A dense tensor given by its non-zero elements.
fn sparse(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(tensor) = cx.attr_sparse_tensor("sparse_value")? else { return Ok(()) };
    let parts = tensor.parse()?;
    if let Some(values) = parts.values
        && let Some(elem) = Elem::from_onnx(values.header()?.data_type)
    {
        set_named_elem(cx, Out(0), "sparse_value", elem)?;
    }
    let mut shape = DimVec::new();
    for extent in &parts.dims {
        let extent = cx.dims().constant(*extent);
        shape.push(require_extent(cx, Source::Attribute("sparse_value"), extent)?);
    }
    cx.set_shape(Out(0), &shape)
}

/// The input lists the extents. All elements equal `value`, or the float 0 if `value` is absent. Source:
/// ConstantOfShape, `input` and `value`.
fn constant_of_shape(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let value = cx.attr_header("value")?;
    let mut elem = Elem::FLOAT;
    if let Some(value) = &value {
        let count = value.element_count()?;
        if count != 1 {
            return Err(RuleError::attribute(
                "value",
                format!("has {}, but must have one", counted(count, "element")),
            ));
        }
        // An absent attribute means float; a tensor without a type is an error.
        elem = Elem::from_onnx(value.data_type)
            .ok_or_else(|| RuleError::attribute("value", "has no element type"))?;
    }
    set_named_elem(cx, Out(0), "value", elem)?;
    cx.require_rank(In(0), 1..=1)?;
    let Some(shape) = cx.shape_value(In(0)) else {
        return cx.vector_len(In(0)).map_or(Ok(()), |rank| cx.set_rank(Out(0), rank));
    };
    let extents = const_extents(cx, &shape);
    if extents.is_none() {
        for extent in &shape {
            require_extent(cx, Source::Input(In(0)), *extent)?;
        }
    }
    cx.set_shape(Out(0), &shape)?;
    let Some(extents) = extents else {
        let item = match &value {
            None => Some(0),
            Some(value) => value.int_values(1)?.and_then(|ints| ints.first().copied()),
        };
        if let Some(item) = item {
            let item = cx.dims().constant(item);
            put_equal(cx, Out(0), item);
        }
        return Ok(());
    };
    if element_count(&extents).is_none_or(|count| count > MAX_ITEMS) {
        cx.drop_constant(Out(0));
        return Ok(());
    }
    let extents = Extents::from_slice(&extents);
    let Some(value) = value else {
        cx.set_equal_floats(Out(0), extents, 0.0);
        return Ok(());
    };
    if let Some([item]) = value.float_values(1)?.as_deref() {
        cx.set_equal_floats(Out(0), extents, *item);
        return Ok(());
    }
    if let Some([item]) = value.int_values(1)?.as_deref() {
        let item = cx.dims().constant(*item);
        cx.set_equal_ints(Out(0), extents, item);
    }
    Ok(())
}

/// The output is a matrix with the input's shape. Its element type is `dtype`, or the input's element type if
/// `dtype` is absent. Source: EyeLike, `dtype`.
fn eye_like(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..=2)?;
    cx.set_rank(Out(0), 2)?;
    set_elem_attr_or_same(cx, Out(0), "dtype")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer, infer_y};

    #[test]
    fn every_form_of_a_constant_has_its_own_type() {
        let types = infer(
            13,
            "g () => () {
               a = Constant <value = float16[2, 3] {1, 2, 3, 4, 5, 6}> ()
               b = Constant <value_float = 1.5> ()
               c = Constant <value_floats = [1.5, 2.5]> ()
               d = Constant <value_int = 3> ()
               e = Constant <value_ints = [1, 2, 3]> ()
               f = Constant <value_string = \"s\"> ()
               h = Constant <value_strings = [\"s\", \"t\"]> ()
             }",
        );
        let expected = ["float16[2, 3]", "float", "float[2]", "int64", "int64[3]", "string", "string[2]"];
        assert_eq!(["a", "b", "c", "d", "e", "f", "h"].map(|name| types[name].as_str()), expected);
    }

    #[test]
    fn a_sparse_constant_is_a_dense_tensor() {
        let graph = "g () => (y) {
          y = Constant <sparse_value = sparse_tensor(float[9]) s = (float[2] {1, 2}, int64[2] {0, 8})> ()
        }";
        assert_eq!(infer_y(13, graph), "float[9]");
    }

    #[test]
    fn a_constant_has_exactly_one_form() {
        assert_eq!(
            error(13, "g () => (y) { y = Constant () }"),
            "constant.value: value or another form of the constant must be given"
        );
        assert_eq!(
            error(13, "g () => (y) { y = Constant <value_int = 1, value_float = 1.0> () }"),
            "constant.value: value_float is given together with value_int, but only one of them is allowed"
        );
    }

    #[test]
    fn a_constant_of_a_shape_has_symbols_and_the_type_of_its_value() {
        let types = infer(
            9,
            "g (float[N, 3] x, int64[2] runtime) => () {
               shape = Shape (x)
               a = ConstantOfShape (shape)
               b = ConstantOfShape <value = bool[1] {1}> (shape)
               c = ConstantOfShape (runtime)
             }",
        );
        assert_eq!(
            ["a", "b", "c"].map(|name| types[name].as_str()),
            ["float[N, 3]", "bool[N, 3]", "float[?, ?]"]
        );
    }

    #[test]
    fn a_negative_extent_and_a_value_of_two_elements_are_errors() {
        let graph = "g () => (y) <int64[2] s = {2, -3}> { y = ConstantOfShape (s) }";
        assert_eq!(error(9, graph), "constantofshape.shape: input 0 has the negative extent -3");
        let graph = "g () => (y) <int64[1] s = {2}> { y = ConstantOfShape <value = float[2] {1, 2}> (s) }";
        assert_eq!(error(9, graph), "constantofshape.shape: value has 2 elements, but must have one");
    }

    #[test]
    fn a_rank_that_is_too_large_to_store_stays_unknown() {
        assert_eq!(infer_y(9, "g (int64[2147483648] s) => (y) { y = ConstantOfShape (s) }"), "float[...]");
    }

    #[test]
    fn an_identity_matrix_has_the_requested_type() {
        assert_eq!(infer_y(9, "g (int64[2, N] x) => (y) { y = EyeLike <dtype = 1> (x) }"), "float[2, N]");
        assert_eq!(infer_y(9, "g (int64[2, N] x) => (y) { y = EyeLike (x) }"), "int64[2, N]");
        assert_eq!(
            error(9, "g (int64[2] x) => (y) { y = EyeLike (x) }"),
            "eyelike.matrix: input 0 has rank 1, not 2"
        );
        assert_eq!(
            error(9, "g (int64[2, 2] x) => (y) { y = EyeLike <dtype = 8> (x) }"),
            "eyelike.matrix: dtype is string, which the output cannot have"
        );
    }
}

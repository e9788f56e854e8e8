//! Range: numbers from a start to a limit.
//!
//! The length is computed with dims if all three operands are integral, and with floats if all are float
//! constants. A short range is tracked as a constant.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Floats, Ints, Rule, RuleCx, RuleError, RuleResult};

use super::common::{require_single, set_extents};
use super::items::{MAX_ITEMS, put_whole, whole_items};
use super::{Entry, affine};

/// The output has `max(ceil((limit - start) / delta), 0)` elements, `start + i*delta`.
/// Source: Range, formula.
const RANGE: Rule = Rule { name: "range.length", run: range };

pub(super) const OPERATORS: &[Entry] = &[Entry::of("Range", &[RANGE])];

fn range(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    for port in [In(0), In(1), In(2)] {
        require_single(cx, port)?;
    }
    let length = match range_of_ints(cx)? {
        Some(length) => Some(length),
        None => range_of_floats(cx)?,
    };
    set_extents(cx, Out(0), [length])
}

/// A range of integers, or of integral floats that are not all constants.
fn range_of_ints(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<DimId>> {
    if [0, 1, 2].into_iter().all(|at| !cx.has(In(at)) || cx.floats(In(at)).is_some()) {
        return Ok(None);
    }
    let item =
        |cx: &mut RuleCx<'_, '_>, at| whole_items(cx, In(at)).and_then(|ints| ints.items.first().copied());
    // Only the operator of ONNX Runtime makes the step optional.
    let delta = if cx.has(In(2)) { item(cx, 2) } else { Some(DimId::ONE) };
    let (Some(start), Some(limit), Some(delta)) = (item(cx, 0), item(cx, 1), delta) else {
        return Ok(None);
    };
    if cx.const_dim(delta) == Some(0) {
        return Err(RuleError::value(In(2), "is 0, so the limit is never reached"));
    }
    let (least, most) = cx.dims().bounds(delta);
    let span = cx.dims().sub(limit, start);
    let count = if least.is_some_and(|least| least > 0) {
        cx.dims().ceil_div(span, delta)
    } else if most.is_some_and(|most| most < 0) {
        let (span, step) = (cx.dims().neg(span), cx.dims().neg(delta));
        cx.dims().ceil_div(span, step)
    } else {
        return Ok(None);
    };
    let unclamped = count;
    let count = if cx.is_positive_by_conditions(count) { count } else { cx.dims().max(count, DimId::ZERO) };
    match cx.const_dim(count).and_then(|count| usize::try_from(count).ok()) {
        Some(count) if count <= MAX_ITEMS => {
            let mut item = start;
            let mut items = Vec::with_capacity(count);
            for _ in 0..count {
                items.push(item);
                item = cx.dims().add(item, delta);
            }
            put_whole(cx, Out(0), Ints::vector(items));
        }
        Some(_) | None => affine::moves::range(cx, start, delta, unclamped),
    }
    Ok(Some(count))
}

fn range_of_floats(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<DimId>> {
    let item =
        |cx: &mut RuleCx<'_, '_>, at| cx.floats(In(at)).and_then(|floats| floats.items.first().copied());
    let delta = if cx.has(In(2)) { item(cx, 2) } else { Some(1.0) };
    let (Some(start), Some(limit), Some(delta)) = (item(cx, 0), item(cx, 1), delta) else {
        return Ok(None);
    };
    if delta == 0.0 {
        return Err(RuleError::value(In(2), "is 0, so the limit is never reached"));
    }
    let count = ((limit - start) / delta).ceil().max(0.0);
    // From here on, adjacent doubles are not adjacent integers.
    if !count.is_finite() || count > 9_007_199_254_740_992.0 {
        return Ok(None);
    }
    // An integer in the range of `i64` because of the check above.
    let count = count as i64;
    if usize::try_from(count).is_ok_and(|count| count <= MAX_ITEMS) {
        let items: typeloom_solver::rule::Items<f64> =
            (0..count).map(|at| start + at as f64 * delta).collect();
        cx.set_floats(Out(0), Floats { shape: smallvec::smallvec![items.len()], items });
    }
    Ok(Some(cx.dims().constant(count)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer, infer_y};

    fn range_of(elem: &str, start: &str, limit: &str, delta: &str) -> String {
        format!(
            "g () => (y) <{elem} a = {{{start}}}, {elem} b = {{{limit}}}, {elem} c = {{{delta}}}> {{ y = Range (a, b, c) }}"
        )
    }

    #[test]
    fn a_range_is_counted_by_the_formula_in_either_direction() {
        for (elem, start, limit, delta, y) in [
            ("int64", "3", "9", "3", "int64[2]"),
            ("int64", "10", "4", "-2", "int64[3]"),
            ("int64", "10", "4", "2", "int64[0]"),
            ("int32", "0", "10", "3", "int32[4]"),
            ("int64", "1152921504606846976", "1152921504606846979", "1", "int64[3]"),
            ("float", "1", "5", "2", "float[2]"),
            ("float", "0", "1", "0.3", "float[4]"),
            ("double", "1", "0", "-0.5", "double[2]"),
        ] {
            assert_eq!(infer_y(11, &range_of(elem, start, limit, delta)), y, "{start} {limit} {delta}");
        }
    }

    #[test]
    fn a_range_up_to_an_extent_is_as_long_as_the_extent() {
        let types = infer(
            15,
            "g (float[P + S, S] x) => () <int64 zero = {0}, int64 one = {1}, int64 two = {2}> {
               shape = Shape (x)
               all = Gather (shape, zero)
               new = Gather (shape, one)
               past = Sub (all, new)
               a = Range (zero, all, one)
               b = Range (past, all, one)
               c = Range (zero, new, two)
             }",
        );
        assert_eq!(types["a"], "int64[P + S]");
        assert_eq!(types["b"], "int64[S]");
        assert_eq!(types["c"], "int64[(S - 1)//2 + 1]");
    }

    #[test]
    fn an_infinite_range_is_an_error() {
        let message = "range.length: input 2 is 0, so the limit is never reached";
        assert_eq!(error(11, &range_of("int64", "0", "4", "0")), message);
        assert_eq!(error(11, &range_of("float", "0", "4", "0")), message);
    }

    #[test]
    fn a_range_of_floats_up_to_an_extent_is_as_long_as_the_extent() {
        let types = infer(
            15,
            "g (float[N, 4] x) => () <float start = {0.0}, float delta = {1.0}, float two = {2.0}, float half = {0.5}> {
               shape = Shape <start = 0, end = 1> (x)
               axes = Constant <value_ints = [0]> ()
               extent = Squeeze (shape, axes)
               float_extent = Cast <to = 1> (extent)
               a = Range (start, float_extent, delta)
               doubled = Mul (float_extent, two)
               more = Add (doubled, delta)
               b = Range (delta, more, delta)
               quotient = Div (doubled, two)
               c = Range (start, quotient, delta)
               odd = Div (more, two)
               d = Range (start, odd, delta)
               e = Range (start, float_extent, half)
             }",
        );
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(|name| types[name].as_str()),
            ["float[N]", "float[2*N]", "float[N]", "float[?]", "float[?]"]
        );
    }
}

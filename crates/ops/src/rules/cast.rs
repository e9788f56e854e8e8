//! Operators that change the element type: Cast, CastLike, BitCast.
//!
//! A cast has two results for the solver: the element type of the output, and its value if the input is a
//! constant. The value matters, because exporters convert extents to floats and back:
//!
//! ```text
//! n = Cast <to = FLOAT> (Shape (x))     x: float[N], n is followed as the integer N
//! h = Mul (n, 0.5)                      a ratio, N / 2
//! s = Cast <to = INT64> (h)             N//2
//! ```
//!
//! | input | to a float type | to an integer type or `bool` |
//! |---|---|---|
//! | constant integers | if the conversion is exact | a fresh integer outside of the range |
//! | constant floats | rounded | truncated; a fresh integer outside of the range |
//! | symbols | kept in `float` and `double` | kept in 32 and 64 bits |
//! | ratios | kept in `float` and `double` | floor in 32 and 64 bits, if not negative |
//! | affine positions | kept in `float` and `double` | kept in 32 and 64 bits; equal ones of 0 or 1 in all |
//!
//! `BitCast` relates the sizes of two element types. If the input is unknown, its set of types is narrowed to
//! those of the same size.
//!
//! **Invariant:** an element that may differ from the number of a run is a fresh integer ([`int_range`]). One
//! assumption is made: a symbol fits in 32 bits.
//!
//! The time is linear in the elements of the constant.
//!
//! **Limit:** in half precision only whole numbers that the type represents exactly are followed, and in
//! 8-bit floats none.

use typeloom_dim::{Decision, DimId};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Floats, Ints, Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::dtype::DtypeClass;

use super::affine::{equal_elements, put_equal};
use super::common::{dtype_attr, set_named_elem};
use super::elementwise::SAME_SHAPE;
use super::items::{Items, follows_whole};
use super::{Entry, rule};

/// The value converted to the output's type. Source: Cast, table of conversions.
const VALUE: Rule = Rule { name: "cast.value", run: value };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("BitCast", &[SAME_SHAPE, rule("bitcast.type", bit_cast)]),
    Entry::of("Cast", &[SAME_SHAPE, rule("cast.type_word", to_word), VALUE]).until(6),
    Entry::of("Cast", &[SAME_SHAPE, rule("cast.type", to), VALUE]).since(6),
    Entry::of("CastLike", &[SAME_SHAPE, VALUE]),
];

fn named(cx: &RuleCx<'_, '_>) -> RuleResult<Elem> {
    dtype_attr(cx, "to")?.ok_or_else(|| RuleError::attribute("to", "does not name an element type"))
}

/// The output has the type of attribute `to`. Source: Cast, `to`.
fn to(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let elem = named(cx)?;
    set_named_elem(cx, Out(0), "to", elem)
}

/// Before version 6, `to` is a string. Source: Cast version 1, `to`.
fn to_word(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(word) = cx.attr_str("to")? else { return Ok(()) };
    match Elem::from_onnx_name(&word.to_ascii_lowercase()) {
        Some(elem) => set_named_elem(cx, Out(0), "to", elem),
        None => Err(RuleError::attribute("to", format!("is \"{word}\", which is not an element type"))),
    }
}

/// Size of an element in bits; `None` for strings and custom types.
fn width(elem: Elem) -> Option<u32> {
    elem.dtype()?.size_bits()
}

/// The output has the type of attribute `to`, whose elements have the same size as those of the input.
/// Source: BitCast, `to`.
fn bit_cast(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let elem = named(cx)?;
    set_named_elem(cx, Out(0), "to", elem)?;
    let Some(wide) = width(elem) else { return Ok(()) };
    if let Some(given) = cx.elem(In(0)) {
        return match width(given) {
            Some(bits) if bits != wide => {
                let (to, from) = (elem.onnx_name().unwrap_or("?"), given.onnx_name().unwrap_or("?"));
                let message =
                    format!("is {to} of {wide} bits, but the elements of the input are {from} of {bits}");
                Err(RuleError::attribute("to", message))
            }
            Some(_) | None => Ok(()),
        };
    }
    let same_width = ElemSet::ALL.iter().filter(|elem| width(*elem) == Some(wide) || width(*elem).is_none());
    cx.set_elems(In(0), same_width.collect())
}

/// The range of an integer type; `None` for other types.
fn int_range(elem: Elem) -> Option<(i64, i64)> {
    let dtype = elem.dtype()?;
    let bits = dtype.size_bits()?;
    match dtype.class() {
        DtypeClass::SignedInt => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
        DtypeClass::UnsignedInt => Some((0, i64::MAX >> 63_u32.saturating_sub(bits))),
        DtypeClass::Float | DtypeClass::Bool | DtypeClass::Complex | DtypeClass::String => None,
    }
}

/// Size of the significand of a float type in bits, including the hidden bit.
pub(super) fn significand(elem: Elem) -> Option<u32> {
    match elem {
        Elem::DOUBLE => Some(53),
        Elem::FLOAT => Some(24),
        Elem::FLOAT16 => Some(11),
        Elem::BFLOAT16 => Some(8),
        _ => None,
    }
}

fn value(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (Some(from), Some(to)) = (cx.elem(In(0)), cx.elem(Out(0))) else { return Ok(()) };
    match Items::at(cx, In(0)) {
        Some(Items::Ints(ints)) => {
            if let Some(bits) = significand(to) {
                let constants: Option<Vec<i64>> = ints.items.iter().map(|item| cx.const_dim(*item)).collect();
                match constants {
                    Some(constants) => {
                        let items = constants.into_iter().map(|item| exact(item, bits)).collect();
                        if let Some(items) = items {
                            cx.set_floats(Out(0), Floats { shape: ints.shape.clone(), items });
                        }
                    }
                    None if follows_whole(to) => cx.set_ints(Out(0), Ints::clone(&ints)),
                    None => {}
                }
            } else if to == Elem::BOOL || int_range(to).is_some() {
                // A symbol is an extent or computed from extents, which fit in these types in practice.
                let is_wide = matches!(to, Elem::INT64 | Elem::INT32);
                let item = |item: &DimId| match int_range(to) {
                    None => truth(cx, *item),
                    Some((least, most)) => match cx.const_dim(*item) {
                        Some(constant) if (least..=most).contains(&constant) => *item,
                        None if is_wide || from == Elem::BOOL => *item,
                        Some(_) | None => cx.dims().fresh_integer(),
                    },
                };
                let items = ints.items.iter().map(item).collect();
                cx.set_ints(Out(0), Ints { shape: ints.shape.clone(), items });
            }
        }
        Some(Items::Floats(floats)) => {
            if let Some(bits) = significand(to) {
                let items = floats.items.iter().map(|item| rounded(*item, to, bits)).collect();
                if let Some(items) = items {
                    cx.set_floats(Out(0), Floats { shape: floats.shape.clone(), items });
                }
            } else if to == Elem::BOOL || int_range(to).is_some() {
                let item = |item: &f64| match int_range(to) {
                    None => cx.dims().constant(i64::from(*item != 0.0)),
                    Some(range) => match truncated(*item, range) {
                        Some(constant) => cx.dims().constant(constant),
                        None => cx.dims().fresh_integer(),
                    },
                };
                let items = floats.items.iter().map(item).collect();
                cx.set_ints(Out(0), Ints { shape: floats.shape.clone(), items });
            }
        }
        None => {
            if let Some((numerators, divisor)) = cx.ratios(In(0))
                && follows_whole(to)
            {
                cx.set_ratios(Out(0), Ints::clone(&numerators), divisor);
            }
            // A cast to an integer truncates, which equals a floor for a non-negative number.
            if let Some((numerators, divisor)) = cx.ratios(In(0))
                && matches!(to, Elem::INT64 | Elem::INT32)
            {
                let divisor = cx.dims().constant(divisor);
                let items = numerators.items.iter().map(|item| match cx.dims().bounds(*item) {
                    (Some(0..), _) => cx.dims().floor_div(*item, divisor),
                    _ => cx.dims().fresh_integer(),
                });
                let items = items.collect();
                cx.set_ints(Out(0), Ints { shape: numerators.shape.clone(), items });
            }
            if matches!(to, Elem::INT64 | Elem::INT32) || follows_whole(to) {
                cx.copy_data(In(0), Out(0));
            } else if let Some(item) = equal_elements(cx, In(0))
                && (to == Elem::BOOL || int_range(to).is_some())
                && cx.const_dim(item).is_some_and(|item| (0..=1).contains(&item))
            {
                put_equal(cx, Out(0), item);
            }
        }
    }
    Ok(())
}

/// 1 for a non-zero integer, otherwise 0.
fn truth(cx: &mut RuleCx<'_, '_>, item: DimId) -> DimId {
    match cx.dims().compare(item, DimId::ZERO) {
        Decision::Equal => DimId::ZERO,
        Decision::Different => DimId::ONE,
        Decision::Undecided => match cx.dims().bounds(item) {
            (Some(0), Some(1)) => item,
            _ => cx.dims().fresh_integer(),
        },
    }
}

/// An integer as a float, if the conversion is exact.
fn exact(item: i64, bits: u32) -> Option<f64> {
    // Every integer of up to 53 bits is a double.
    let limit = 1_i64.checked_shl(bits)?;
    (-limit..=limit).contains(&item).then_some(item as f64)
}

/// A float in another float type; for half precision only if the conversion is exact.
pub(super) fn rounded(item: f64, to: Elem, bits: u32) -> Option<f64> {
    match to {
        Elem::DOUBLE => Some(item),
        // The cast rounds to nearest.
        Elem::FLOAT => Some(f64::from(item as f32)),
        _ => truncated(item, (-1 << bits, 1 << bits)).filter(|whole| *whole as f64 == item).map(|_| item),
    }
}

/// A float truncated towards zero, if the result is in the range.
fn truncated(item: f64, (least, most): (i64, i64)) -> Option<i64> {
    let whole = item.trunc();
    // A double is an `i64` if it is whole and in this range. The limit 2^63 is a double.
    const LIMIT: f64 = (1_u64 << 63) as f64;
    if !(-LIMIT..LIMIT).contains(&whole) {
        return None;
    }
    // In the range of `i64` because of the limit above.
    let whole = whole as i64;
    (least..=most).contains(&whole).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer_y};
    use super::{exact, truncated};

    #[test]
    fn a_cast_has_the_type_that_it_names() {
        assert_eq!(infer_y(13, "g (float[N] x) => (y) { y = Cast <to = 7> (x) }"), "int64[N]");
        assert_eq!(infer_y(1, "g (float[N] x) => (y) { y = Cast <to = \"INT32\"> (x) }"), "int32[N]");
        assert_eq!(infer_y(15, "g (float[N] x, bool[2] t) => (y) { y = CastLike (x, t) }"), "bool[N]");
        assert_eq!(infer_y(26, "g (float[N] x) => (y) { y = BitCast <to = 6> (x) }"), "int32[N]");
    }

    #[test]
    fn a_cast_to_no_type_and_to_another_width_are_errors() {
        let graph = "g (float[N] x) => (y) { y = Cast <to = 99> (x) }";
        assert_eq!(error(13, graph), "cast.type: to is 99, which is not an element type");
        let graph = "g (float[N] x) => (y) { y = BitCast <to = 7> (x) }";
        let message = "bitcast.type: to is int64 of 64 bits, but the elements of the input are float of 32";
        assert_eq!(error(26, graph), message);
    }

    #[test]
    fn a_symbol_survives_a_cast_between_integers() {
        let y = infer_y(
            13,
            "g (float[N, 4] x) => (y) {
               shape = Shape (x)
               narrow = Cast <to = 6> (shape)
               wide = Cast <to = 7> (narrow)
               y = ConstantOfShape (wide)
             }",
        );
        assert_eq!(y, "float[N, 4]");
    }

    #[test]
    fn a_float_is_cut_towards_zero() {
        let y = infer_y(
            13,
            "g () => (y) <float[3] sizes = {2.9, 0.5, 7.0}> {
               whole = Cast <to = 7> (sizes)
               y = ConstantOfShape (whole)
             }",
        );
        assert_eq!(y, "float[2, 0, 7]");
        assert_eq!(truncated(-2.9, (-8, 7)), Some(-2));
        assert_eq!(truncated(9e18, (i64::MIN, i64::MAX)), Some(9_000_000_000_000_000_000));
        assert_eq!(truncated(1e19, (i64::MIN, i64::MAX)), None);
        assert_eq!(truncated(f64::NAN, (i64::MIN, i64::MAX)), None);
    }

    #[test]
    fn a_number_outside_the_range_of_a_type_is_not_tracked() {
        let y = infer_y(
            13,
            "g () => (y) <int64[2] sizes = {300, 3}> {
               bytes = Cast <to = 2> (sizes)
               wide = Cast <to = 7> (bytes)
               y = ConstantOfShape (wide)
             }",
        );
        assert_eq!(y, "float[?, 3]");
        assert_eq!(exact(2049, 11), None);
        assert_eq!(exact(-2048, 11), Some(-2048.0));
    }

    #[test]
    fn a_symbol_survives_arithmetic_in_floats_as_long_as_the_result_is_whole() {
        let sized = |steps: &str| {
            infer_y(
                15,
                &format!(
                    "g (float[N, 4] x) => (y) <float[1] two = {{2.0}}, float[1] half = {{0.5}}, float[1] factor = {{1.5}}, float[1] tenth = {{0.1}}, double[1] quarter = {{0.25}}, float[1] seven = {{7.0}}> {{
                       shape = Shape <start = 0, end = 1> (x)
                       n = Cast <to = 1> (shape)
                       {steps}
                       whole = Cast <to = 7> (size)
                       y = ConstantOfShape (whole)
                     }}"
                ),
            )
        };
        assert_eq!(sized("size = Add (n, seven)"), "float[N + 7]");
        assert_eq!(sized("size = Concat <axis = 0> (n, two)"), "float[N, 2]");
        assert_eq!(sized("up = Mul (n, two) size = Ceil (up)"), "float[2*N]");
        assert_eq!(sized("size = Mul (n, half)"), "float[N//2]");
        assert_eq!(sized("up = Mul (half, n) size = Ceil (up)"), "float[(N - 1)//2 + 1]");
        assert_eq!(sized("size = Div (n, half)"), "float[2*N]");
        assert_eq!(
            sized("part = Mul (n, half) more = Add (part, half) size = Floor (more)"),
            "float[(N - 1)//2 + 1]"
        );
        assert_eq!(
            sized("part = Mul (n, half) again = Mul (part, half) size = Floor (again)"),
            "float[N//4]"
        );
        assert_eq!(sized("more = Mul (n, factor) size = Floor (more)"), "float[N + N//2]");
        assert_eq!(
            sized(
                "wide = Cast <to = 11> (n) less = Mul (wide, quarter) low = Floor (less) size = Cast <to = 1> (low)"
            ),
            "float[N//4]"
        );
        assert_eq!(sized("size = Mul (n, tenth)"), "float[?]", "the product is rounded");
        assert_eq!(
            sized("part = Div (n, seven) size = Mul (part, half)"),
            "float[?]",
            "the quotient is rounded"
        );
        assert_eq!(sized("size = Div (n, two)"), "float[N//2]");
        assert_eq!(
            sized("part = Div (n, seven) up = Ceil (part) size = Mul (up, seven)"),
            "float[7*((N - 1)//7) + 7]"
        );
        assert_eq!(sized("more = Add (n, half) size = Div (more, two)"), "float[N//2]");
        assert_eq!(sized("both = Concat <axis = 0> (n, two) size = ReduceMax (both)"), "float[max(2, N)]");
    }
}

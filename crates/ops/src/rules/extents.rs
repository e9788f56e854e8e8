//! Operators that read shapes: Shape and Size. Their outputs are values computed from extents.

use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Ints, Rule, RuleCx, RuleResult};

use super::Entry;
use super::common::unknown_extent;

/// The extents of the axes in `start..end`; negative bounds count from the end, and the range is clamped to
/// the rank. Source: Shape version 15, `start` and `end`.
const SHAPE: Rule = Rule { name: "shape.extents", run: shape };

/// The product of all extents. Source: Size, `size`.
const SIZE: Rule = Rule { name: "size.count", run: size };

pub(crate) const OPERATORS: &[Entry] = &[Entry::of("Shape", &[SHAPE]), Entry::of("Size", &[SIZE])];

fn shape(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let start = cx.attr_int("start")?.unwrap_or(0);
    let end = cx.attr_int("end")?;
    let Some(extents) = cx.shape(In(0)) else {
        let count = unknown_extent(cx, Out(0), 0);
        return cx.set_shape(Out(0), &[count]);
    };
    let rank = i64::try_from(extents.len()).unwrap_or(i64::MAX);
    let position = |at: i64| {
        let at = if at < 0 { at.saturating_add(rank) } else { at };
        usize::try_from(at.clamp(0, rank)).unwrap_or(0)
    };
    let (start, end) = (position(start), end.map_or(extents.len(), position));
    let kept = extents.get(start..end).unwrap_or(&[]);
    let count = cx.count(kept.len());
    cx.set_shape(Out(0), &[count])?;
    cx.set_ints(Out(0), Ints::vector(kept.iter().copied()));
    Ok(())
}

fn size(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.set_shape(Out(0), &[])?;
    if let Some(extents) = cx.shape(In(0)) {
        let count = cx.dims().product(&extents);
        cx.set_ints(Out(0), Ints::scalar(count));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{infer, infer_y};

    #[test]
    fn extents_become_values() {
        let types = infer(
            15,
            "g (float[A, B, 3] x) => () {
               shape = Shape (x)
               all = ConstantOfShape (shape)
               middle = Shape <start = 1, end = -1> (x)
               one = ConstantOfShape (middle)
               none = Shape <start = 2, end = 1> (x)
               scalar = ConstantOfShape (none)
               far = Shape <start = -9, end = 9> (x)
               size = Size (x)
             }",
        );
        assert_eq!(types["shape"], "int64[3]");
        assert_eq!(types["all"], "float[A, B, 3]");
        assert_eq!(types["one"], "float[B]");
        assert_eq!(types["none"], "int64[0]");
        assert_eq!(types["scalar"], "float");
        assert_eq!(types["far"], "int64[3]");
        assert_eq!(types["size"], "int64");
    }

    #[test]
    fn the_size_is_the_product_of_the_extents() {
        let y = infer_y(
            13,
            "g (float[A, B, 3] x) => (y) <int64[1] one = {1}> {
               size = Size (x)
               shape = Reshape (size, one)
               y = ConstantOfShape (shape)
             }",
        );
        assert_eq!(y, "float[3*A*B]");
    }
}

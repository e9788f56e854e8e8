//! Operators that reduce, search or accumulate along axes.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Rule, RuleCx, RuleError, RuleResult};

use super::common::{require_at_most, require_single};
use super::elementwise::SAME_SHAPE;
use super::{Entry, rule};

mod fold;

/// The reduced axes are removed, or kept with extent 1. Source: the reductions, `axes`, `keepdims` and
/// `noop_with_empty_axes`.
const REDUCE: Rule = Rule { name: "reduce.axes", run: reduce };

/// The axis is an axis of the tensor. Source: CumSum, `axis`.
const CUMULATE: Rule = Rule { name: "cumsum.axis", run: cumulate };

/// The tensor has at least one axis, and the attribute `axis` is one of its axes. Source: Softmax, `axis`.
const AXIS: Rule = Rule { name: "softmax.axis", run: axis };

const REDUCTION: &[Rule] = &[REDUCE];

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("ArgMax ArgMin", &[rule("arg.axis", arg)]),
    Entry::of("CumProd", &[SAME_SHAPE, CUMULATE]),
    Entry::of("CumSum", &[SAME_SHAPE, CUMULATE, fold::CUM_SUM]),
    Entry::of("Hardmax LogSoftmax LpNormalization Softmax", &[SAME_SHAPE, AXIS]),
    Entry::of("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceSumSquare", REDUCTION),
    Entry::of("ReduceMax", &[REDUCE, fold::MAX]),
    Entry::of("ReduceMin", &[REDUCE, fold::MIN]),
    Entry::of("ReduceProd", &[REDUCE, fold::PROD]),
    Entry::of("ReduceSum", &[REDUCE, fold::SUM]),
    Entry::of("TopK", &[rule("topk.axis", top_k)]),
];

/// The reduced axes: from the attribute, or from the second input in newer versions.
enum Axes {
    These(Vec<i64>),
    /// No axis: the operator is the identity.
    Nothing,
    /// Every axis.
    All,
    /// A list of unknown axes.
    Unknown,
}

fn axes(cx: &mut RuleCx<'_, '_>) -> RuleResult<Axes> {
    let all_or_nothing = |nothing: bool| if nothing { Axes::Nothing } else { Axes::All };
    if let Some(axes) = cx.attr_ints("axes")? {
        return Ok(if axes.is_empty() { Axes::All } else { Axes::These(axes) });
    }
    let noop = cx.attr_flag("noop_with_empty_axes")?;
    if !cx.has(In(1)) {
        return Ok(all_or_nothing(noop));
    }
    Ok(match cx.const_ints(In(1)) {
        Some(axes) if axes.is_empty() => all_or_nothing(noop),
        Some(axes) => Axes::These(axes),
        None if cx.vector_len(In(1)) == Some(0) => all_or_nothing(noop),
        None => Axes::Unknown,
    })
}

fn reduce(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let keep = cx.attr_int("keepdims")?.unwrap_or(1) != 0;
    let axes = axes(cx)?;
    let Some(shape) = cx.shape(In(0)) else {
        return match axes {
            Axes::Nothing => cx.same_shape(In(0), Out(0)),
            Axes::All if !keep => cx.set_shape(Out(0), &[]),
            Axes::All | Axes::These(_) | Axes::Unknown => Ok(()),
        };
    };
    let rank = shape.len();
    let reduced: Vec<bool> = match axes {
        Axes::Nothing => return cx.same_shape(In(0), Out(0)),
        Axes::All => vec![true; rank],
        Axes::These(axes) => {
            let mut reduced = vec![false; rank];
            for axis in axes {
                reduced[cx.axis_of(In(0), "axes", axis, rank)?] = true;
            }
            reduced
        }
        Axes::Unknown => {
            if keep {
                return cx.set_rank(Out(0), rank);
            }
            let most = cx.vector_len(In(1));
            return match most.and_then(|count| rank.checked_sub(count)) {
                // The axes are distinct, so their number determines the rank.
                Some(left) => cx.set_rank(Out(0), left),
                None => Ok(()),
            };
        }
    };
    let kept = shape.iter().zip(&reduced).filter_map(|(dim, reduced)| match (reduced, keep) {
        (false, _) => Some(*dim),
        (true, true) => Some(DimId::ONE),
        (true, false) => None,
    });
    let shape: DimVec = kept.collect();
    cx.set_shape(Out(0), &shape)
}

/// One axis is reduced to the position of its extreme value. Source: ArgMax, `axis` and `keepdims`.
fn arg(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let keep = cx.attr_int("keepdims")?.unwrap_or(1) != 0;
    let axis = cx.attr_int("axis")?.unwrap_or(0);
    cx.require_rank(In(0), 1..)?;
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis_of(In(0), "axis", axis, shape.len())?;
    if keep {
        shape[axis] = DimId::ONE;
    } else {
        shape.remove(axis);
    }
    cx.set_shape(Out(0), &shape)
}

/// The axis keeps `K` elements, in both outputs. Source: TopK, `K` and `axis`.
fn top_k(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let axis = cx.attr_int("axis")?.unwrap_or(-1);
    cx.require_rank(In(1), 1..=1)?;
    require_single(cx, In(1))?;
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis_of(In(0), "axis", axis, shape.len())?;
    // Up to version 9 the number is an attribute.
    let count = match cx.attr_int("k")? {
        Some(count) => Some(cx.dims().constant(count)),
        None => cx.ints(In(1)).and_then(|count| count.items.first().copied()),
    };
    let extent = shape[axis];
    shape[axis] = match count {
        Some(count) => {
            let port = if cx.has(In(1)) { In(1) } else { In(0) };
            if let Some(count) = cx.const_dim(count)
                && (count < 0 || cx.const_dim(extent).is_some_and(|extent| count > extent))
            {
                let extent = cx.dims().display(extent).to_string();
                let message = format!("requests {count} of the {extent} elements of axis {axis}");
                return Err(RuleError::value(port, message));
            }
            let relation = "are the number of elements to find and those of the axis";
            require_at_most(cx, (port, count), (In(0), axis, extent), relation)?;
            count
        }
        None => cx.shape(Out(0)).and_then(|known| known.get(axis).copied()).unwrap_or_else(|| cx.fresh()),
    };
    if cx.dims().bounds(shape[axis]).0.is_none_or(|least| least < 0) {
        // A number that may be negative is not an extent.
        shape[axis] = cx.fresh();
    }
    cx.set_shape(Out(0), &shape)?;
    cx.same_shape(Out(0), Out(1))
}

/// The axis is a single number. Source: CumSum and CumProd, `axis`.
fn cumulate(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    require_single(cx, In(1))?;
    let (Some(rank), Some(axis)) = (cx.rank(In(0)), cx.const_int(In(1))) else { return Ok(()) };
    if rank == 0 {
        return Err(RuleError::scalar(In(0)));
    }
    let limit = i64::try_from(rank).unwrap_or(i64::MAX);
    if (-limit..limit).contains(&axis) {
        return Ok(());
    }
    Err(RuleError::value(In(1), format!("is axis {axis}, outside [-{limit}, {limit}) for {rank} axes")))
}

fn axis(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..)?;
    let (Some(rank), Some(axis)) = (cx.rank(In(0)), cx.attr_int("axis")?) else { return Ok(()) };
    if !(axis == i64::try_from(rank).unwrap_or(-1) && cx.since_version() < 13) {
        cx.axis("axis", axis, rank)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer_y};

    #[test]
    fn a_scalar_has_no_axis_to_search() {
        let graph = "g (float[3] x) => (y) { r = ReduceMax <keepdims = 0> (x)  y = ArgMax <axis = 0> (r) }";
        assert_eq!(error(18, graph), "arg.axis: input 0 has rank 0, not 1 or more");
        let graph = "g (float[3] x) => (y) { y = ArgMax <axis = 0, keepdims = 0> (x) }";
        assert_eq!(infer_y(18, graph), "int64");
    }

    #[test]
    fn the_largest_elements_are_elements_of_the_axis() {
        let graph = "g (float[B, N] x) => (v, i) <int64[1] k = {5}> { v, i = TopK (x, k) }";
        assert_eq!(conditions(11, graph), ["N >= 5"]);
    }
}

//! Reductions of small vectors of integers or integral floats, with which exporters compute shapes.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Ints, Rule, RuleCx, RuleResult};

use super::{Axes, axes};
use crate::rules::affine;
use crate::rules::affine::moves::{End, Sums};
use crate::rules::items::{put_whole, whole_items};

pub(super) const SUM: Rule =
    Rule { name: "reducesum.value", run: |cx| reduce(cx, Some(0), |cx, a, b| cx.dims().add(a, b)) };
pub(super) const PROD: Rule =
    Rule { name: "reduceprod.value", run: |cx| reduce(cx, Some(1), |cx, a, b| cx.dims().mul(a, b)) };
pub(super) const MAX: Rule =
    Rule { name: "reducemax.value", run: |cx| extreme(cx, End::Greatest, |cx, a, b| cx.dims().max(a, b)) };
pub(super) const MIN: Rule =
    Rule { name: "reducemin.value", run: |cx| extreme(cx, End::Least, |cx, a, b| cx.dims().min(a, b)) };

/// Cumulative sums of a vector. Source: CumSum, `exclusive` and `reverse`.
pub(super) const CUM_SUM: Rule = Rule { name: "cumsum.value", run: cum_sum };

/// The greatest or the least element.
fn extreme(
    cx: &mut RuleCx<'_, '_>,
    end: End,
    combine: fn(&mut RuleCx<'_, '_>, DimId, DimId) -> DimId,
) -> RuleResult {
    if let Some(rank) = cx.rank(In(0))
        && cx.affine(In(0)).is_some()
    {
        let reduced = match axes(cx)? {
            Axes::All => vec![true; rank],
            Axes::Nothing | Axes::Unknown => return Ok(()),
            Axes::These(axes) => {
                let mut reduced = vec![false; rank];
                for axis in axes {
                    reduced[cx.axis("axes", axis, rank)?] = true;
                }
                reduced
            }
        };
        affine::moves::reduce(cx, &reduced, end);
        return Ok(());
    }
    reduce(cx, None, combine)
}

/// Reduces a vector or a scalar to a scalar; other ranks are not tracked.
fn reduce(
    cx: &mut RuleCx<'_, '_>,
    empty: Option<i64>,
    combine: fn(&mut RuleCx<'_, '_>, DimId, DimId) -> DimId,
) -> RuleResult {
    let Some(x) = whole_items(cx, In(0)) else { return Ok(()) };
    let keep = cx.attr_int("keepdims")?.unwrap_or(1) != 0;
    let whole = match axes(cx)? {
        Axes::All => true,
        Axes::These(axes) => x.shape.len() == 1 && axes.iter().all(|axis| [0, -1].contains(axis)),
        Axes::Nothing => {
            put_whole(cx, Out(0), Ints::clone(&x));
            return Ok(());
        }
        Axes::Unknown => false,
    };
    if !whole || x.shape.len() > 1 {
        return Ok(());
    }
    let mut items = x.items.iter().copied();
    let first = match (items.next(), empty) {
        (Some(first), _) => first,
        (None, Some(neutral)) => cx.dims().constant(neutral),
        (None, None) => return Ok(()),
    };
    let result = items.fold(first, |result, item| combine(cx, result, item));
    let shape = if keep { vec![1; x.shape.len()] } else { Vec::new() };
    put_whole(cx, Out(0), Ints { shape: shape.into(), items: smallvec::smallvec![result] });
    Ok(())
}

fn cum_sum(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (exclusive, reverse) = (cx.attr_flag("exclusive")?, cx.attr_flag("reverse")?);
    if affine::moves::cumulate(cx, Sums { exclusive, reverse }) {
        return Ok(());
    }
    let Some(x) = cx.ints(In(0)) else { return Ok(()) };
    if x.shape.len() != 1 {
        return Ok(());
    }
    let mut items: Vec<DimId> = x.items.to_vec();
    if reverse {
        items.reverse();
    }
    let mut sum = DimId::ZERO;
    for item in &mut items {
        let next = cx.dims().add(sum, *item);
        *item = if exclusive { sum } else { next };
        sum = next;
    }
    if reverse {
        items.reverse();
    }
    cx.set_ints(Out(0), Ints { shape: x.shape.clone(), items: items.into() });
    Ok(())
}

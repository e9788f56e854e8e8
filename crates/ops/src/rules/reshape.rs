//! Operators that change the shape but not the order of elements: Reshape, Flatten, Squeeze, Unsqueeze.
//!
//! A reshape keeps the number of elements. That is one equation between the extents of the input and of the
//! target, and it gives an unknown extent or a condition:
//!
//! ```text
//! x: float[B, S, 12, 64], target [0, 0, -1]     float[B, S, 768]
//! x: float[B, S], target [-1, 7]                float[(B*S)//7, 7], if B*S = 7*((B*S)//7)
//! x: float[2, 3], target [5, 5]                 an error: 25 elements, but the input has 6
//! ```
//!
//! The target is often computed, so its items can be symbols, and an item means three things at run time: an
//! extent, a copy of an extent of the input if it is 0, or the rest if it is -1. [`read_target`] classifies
//! items ([`Item`]). A symbol that can be 0 is resolved by [`settle_copies`]: if the numbers of elements
//! cannot agree with a copy, it is the extent; otherwise it is `named + copied * (1 - min(named, 1))`, which
//! holds in both cases. Then the equation is solved: without an open item it is required ([`same_count`]),
//! and with one the rest is the quotient ([`rest_of`]).
//!
//! **Invariant:** a quotient is exact in every run that succeeds. It is noted as such, so that later
//! simplifications can use it.
//!
//! `Flatten` multiplies extents, `Squeeze` requires and `Unsqueeze` inserts ones. Values and positions are
//! relabelled ([`relabel`]).
//!
//! The cost is a product of all extents, and another one for each symbol that can be 0.
//!
//! Limits: with two open items, the shape has unknown extents. `Squeeze` without axes needs to know of each
//! extent whether it is 1, and has no result otherwise.

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Condition, Decision, DimId, Relation};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Rule, RuleCx, RuleError, RuleResult};

use super::common::{List, Source, list, list_or_single, members, require_multiple, unknown_extent};
use super::items::relabel;
use super::{Entry, rule};

/// The elements are unchanged.
const VALUE: Rule = Rule { name: "reshape.value", run: value };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Flatten", &[rule("flatten.axis", flatten), VALUE]),
    Entry::of("Reshape", &[rule("reshape.target", reshape), VALUE]),
    Entry::of("Squeeze", &[rule("squeeze.axes", squeeze), VALUE]),
    Entry::of("Unsqueeze", &[rule("unsqueeze.axes", unsqueeze), VALUE]),
];

fn value(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    relabel(cx, In(0), Out(0));
    Ok(())
}

/// An item of the target of Reshape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Extent(DimId),
    /// The remaining extent (-1).
    Rest,
    /// An extent, the remaining extent, or an extent of the input, depending on the run.
    Open,
    /// A copy of an unknown extent of the input.
    Unknown,
    /// A named extent, or that of the input if it is 0.
    OrCopied {
        named: DimId,
        copied: DimId,
    },
}

/// The target lists the extents; 0 copies that of the input, -1 is the remaining extent; the number of
/// elements is unchanged. Source: Reshape, `shape` and `allowzero`.
fn reshape(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(target) = list(cx, "shape", 1)? else { return Ok(()) };
    if cx.has(In(1)) {
        cx.require_rank(In(1), 1..=1)?;
    }
    let Some(items) = &target.items else {
        return match target.len {
            Some(rank) => reshape_to_rank(cx, rank),
            None => Ok(()),
        };
    };
    let input = cx.shape(In(0));
    let count = input.as_ref().map(|shape| cx.element_count(shape));
    let mut read = read_target(cx, target.source, items, input.as_deref(), count)?;
    settle_copies(cx, &mut read, count);
    let open = |item: &&Item| matches!(item, Item::Rest | Item::Open);
    let unknown = read.contains(&Item::Unknown);
    let extents: DimVec =
        read.iter().filter_map(|item| if let Item::Extent(dim) = item { Some(*dim) } else { None }).collect();
    let known = cx.dims().product(&extents);
    let rest = match (read.iter().filter(open).count(), count) {
        (0, Some(count)) if !unknown => {
            same_count(cx, &target, count, known, &extents)?;
            None
        }
        (1, Some(count)) if !unknown => rest_of(cx, &target, count, known)?,
        _ => None,
    };
    let mut shape = DimVec::new();
    for (axis, item) in read.iter().enumerate() {
        shape.push(match (*item, rest) {
            (Item::Extent(extent), _) => extent,
            (Item::Rest | Item::Open, Some(rest)) => rest,
            (Item::Rest | Item::Open | Item::Unknown | Item::OrCopied { .. }, _) => {
                unknown_extent(cx, Out(0), axis)
            }
        });
    }
    cx.set_shape(Out(0), &shape)
}

/// Only the rank of the target is known; a single axis has all elements.
fn reshape_to_rank(cx: &mut RuleCx<'_, '_>, rank: usize) -> RuleResult {
    match cx.shape(In(0)) {
        Some(shape) if rank == 1 => {
            let count = cx.dims().product(&shape);
            cx.set_shape(Out(0), &[count])
        }
        Some(_) | None => cx.set_rank(Out(0), rank),
    }
}

fn read_target(
    cx: &mut RuleCx<'_, '_>,
    source: Source,
    items: &[DimId],
    input: Option<&[DimId]>,
    count: Option<DimId>,
) -> RuleResult<Vec<Item>> {
    let copies_zero = !cx.attr_flag("allowzero")?;
    let (mut rests, mut zeros) = (0, 0);
    let mut read = Vec::with_capacity(items.len());
    for (axis, item) in items.iter().enumerate() {
        read.push(match cx.const_dim(*item) {
            Some(-1) => {
                rests += 1;
                Item::Rest
            }
            Some(negative) if negative < 0 => {
                return Err(source.error(format!("requests the extent {negative} at axis {axis}")));
            }
            Some(0) if copies_zero => match input.map(|input| input.get(axis)) {
                Some(Some(extent)) => Item::Extent(*extent),
                Some(None) => {
                    return Err(
                        source.error(format!("copies axis {axis} with a 0, but the input has no such axis"))
                    );
                }
                None => Item::Unknown,
            },
            Some(extent) => {
                zeros += usize::from(extent == 0);
                Item::Extent(*item)
            }
            // An anonymous extent that can be 0 copies one of the input, unless the input is empty.
            None if copies_zero && may_copy(cx, *item, count) => Item::Open,
            None if cx.dims().is_non_negative(*item) => {
                named_item(cx, *item, input.and_then(|input| input.get(axis)).filter(|_| copies_zero))
            }
            // An extent of the input is never -1, even if its expression can be negative.
            None if input.is_some_and(|input| input.contains(item)) => Item::Extent(*item),
            None => Item::Open,
        });
    }
    if rests > 1 {
        return Err(source.error("has more than one -1"));
    }
    if rests > 0 && zeros > 0 {
        return Err(source.error("has both an extent 0 and a -1, so the -1 can be anything"));
    }
    // There is at most one -1. If it is known, open items are not -1.
    if rests > 0 {
        for (axis, (read, item)) in read.iter_mut().zip(items).enumerate() {
            if *read != Item::Open {
                continue;
            }
            *read = if cx.dims().is_anonymous(*item) {
                Item::Unknown
            } else {
                named_item(cx, *item, input.and_then(|input| input.get(axis)).filter(|_| copies_zero))
            };
        }
    }
    Ok(read)
}

/// A named item of the target; `copied` is the extent that it copies if it is 0.
fn named_item(cx: &mut RuleCx<'_, '_>, item: DimId, copied: Option<&DimId>) -> Item {
    match copied {
        Some(copied) if may_be_zero(cx, item, *copied) => Item::OrCopied { named: item, copied: *copied },
        Some(_) | None => Item::Extent(item),
    }
}

/// Whether a named item of the target may be 0 in a successful run, and then copies another extent.
fn may_be_zero(cx: &mut RuleCx<'_, '_>, item: DimId, copied: DimId) -> bool {
    let dims = cx.dims();
    let is_plain =
        copied == item || dims.is_anonymous(item) || dims.is_anonymous(copied) || dims.is_positive(item);
    !is_plain && !cx.is_positive_in_runs(item)
}

/// Replaces each item that may be a copy by the named extent, if the numbers of elements never agree with the
/// copy, and otherwise by an expression for both cases.
fn settle_copies(cx: &mut RuleCx<'_, '_>, read: &mut [Item], count: Option<DimId>) {
    for axis in 0..read.len() {
        let Item::OrCopied { named, copied } = read[axis] else { continue };
        let is_named = match (count, with_copy(cx, read, axis, copied)) {
            (Some(count), Some((product, relation))) => {
                let condition = Condition::new(relation, product, count);
                cx.is_never_if_zero(named, condition)
            }
            (Some(_) | None, _) => false,
        };
        let extent = if is_named { named } else { named_or_copied(cx, named, copied) };
        read[axis] = Item::Extent(extent);
    }
}

/// The product of the extents of the target with a copy at one axis, and its relation to the number of
/// elements of the input; `None` if an extent is unknown.
fn with_copy(
    cx: &mut RuleCx<'_, '_>,
    read: &[Item],
    axis: usize,
    copied: DimId,
) -> Option<(DimId, Relation)> {
    let mut relation = Relation::Equal;
    let mut product = copied;
    for (_, item) in read.iter().enumerate().filter(|(at, _)| *at != axis) {
        let extent = match *item {
            Item::Extent(extent) => extent,
            Item::OrCopied { named, copied } => named_or_copied(cx, named, copied),
            Item::Rest | Item::Open if relation == Relation::Equal => {
                relation = Relation::Divides;
                continue;
            }
            Item::Rest | Item::Open | Item::Unknown => return None,
        };
        product = cx.dims().mul(product, extent);
    }
    Some((product, relation))
}

/// A named extent, or the extent of the input that is copied if it is 0.
fn named_or_copied(cx: &mut RuleCx<'_, '_>, named: DimId, copied: DimId) -> DimId {
    let dims = cx.dims();
    let is_positive = dims.min(named, DimId::ONE);
    let is_zero = dims.sub(DimId::ONE, is_positive);
    let copied = dims.mul(copied, is_zero);
    dims.add(named, copied)
}

/// Whether an item is anonymous and can be 0 for a non-empty input.
fn may_copy(cx: &mut RuleCx<'_, '_>, item: DimId, count: Option<DimId>) -> bool {
    let dims = cx.dims();
    dims.is_anonymous(item)
        && dims.bounds(item).0.is_none_or(|least| least <= 0)
        && count.is_none_or(|count| dims.div_exact(count, item).is_none())
}

/// No open extent: the numbers of elements are equal.
fn same_count(
    cx: &mut RuleCx<'_, '_>,
    target: &List,
    count: DimId,
    known: DimId,
    extents: &[DimId],
) -> RuleResult {
    if cx.dims().compare(count, known) == Decision::Different {
        let found = cx.dims().display(count).to_string();
        let (requested, total) = (shape_text(cx, extents), cx.dims().display(known).to_string());
        return Err(target
            .source
            .error(format!("is {requested} with {total} elements, but the input has {found}")));
    }
    cx.require_equal((In(0), count), (In(1), known), "are the number of elements before and after").map(drop)
}

/// One open extent: the number of elements divided by the others.
fn rest_of(cx: &mut RuleCx<'_, '_>, target: &List, count: DimId, known: DimId) -> RuleResult<Option<DimId>> {
    if cx.const_dim(known) == Some(0) {
        return Ok(None);
    }
    if let Some(exact) = cx.dims().div_exact(count, known) {
        return Ok(Some(exact));
    }
    let remainder = cx.dims().modulo(count, known);
    if cx.dims().compare(remainder, DimId::ZERO) == Decision::Different {
        let (has, by) = (cx.dims().display(count).to_string(), cx.dims().display(known).to_string());
        let message = format!(
            "has extents with a product of {by}, which does not divide the {has} elements of the input"
        );
        return Err(target.source.error(message));
    }
    let rest = require_multiple(cx, (In(0), count), known, "are the number of elements before and after")?;
    cx.note_exact(rest, count, known);
    Ok(Some(rest))
}

fn shape_text(cx: &mut RuleCx<'_, '_>, extents: &[DimId]) -> String {
    typeloom_dim::shape::display(cx.dims(), extents).to_string()
}

/// The axes before `axis` are merged, and so are those from it on. Source: Flatten, `axis`.
fn flatten(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let axis = cx.attr_int("axis")?.unwrap_or(1);
    let Some(shape) = cx.shape(In(0)) else { return cx.set_rank(Out(0), 2) };
    let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
    // Negative axes are supported from version 11 on.
    let least = if cx.since_version() < 11 { 0 } else { -rank };
    if !(least..=rank).contains(&axis) {
        let message = format!("is {axis}, outside [{least}, {rank}] for {rank} axes");
        return Err(RuleError::attribute("axis", message));
    }
    let at = usize::try_from(if axis < 0 { axis + rank } else { axis }).unwrap_or(0).min(shape.len());
    let (outer, inner) = shape.split_at(at);
    let (outer, inner) = (cx.dims().product(outer), cx.dims().product(inner));
    cx.set_shape(Out(0), &[outer, inner])
}

/// Axes of extent 1 are removed: those in `axes`, or all of them. Source: Squeeze, `axes`.
fn squeeze(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(axes) = list(cx, "axes", 1)? else { return squeeze_ones(cx) };
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let Some(known) = axes.constants(cx) else {
        return match axes.len.and_then(|count| shape.len().checked_sub(count)) {
            Some(rank) => cx.set_rank(Out(0), rank),
            None => Ok(()),
        };
    };
    // A duplicate axis is squeezed once.
    let mut squeezed = vec![false; shape.len()];
    for axis in known {
        let axis = axes.source.axis(axis, In(0), shape.len())?;
        cx.require_equal((In(0), axis, shape[axis]), DimId::ONE, "is squeezed, so it must be 1")?;
        squeezed[axis] = true;
    }
    let left: DimVec = shape.iter().zip(&squeezed).filter(|(_, gone)| !**gone).map(|(dim, _)| *dim).collect();
    cx.set_shape(Out(0), &left)
}

/// Without axes, all axes of extent 1 are removed, which requires every extent to be known as 1 or not.
fn squeeze_ones(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let mut left = DimVec::new();
    for dim in shape {
        match cx.dims().compare(dim, DimId::ONE) {
            Decision::Equal => {}
            Decision::Different => left.push(dim),
            Decision::Undecided => return Ok(()),
        }
    }
    cx.set_shape(Out(0), &left)
}

/// Axes of extent 1 are inserted at the output positions in `axes`. Source: Unsqueeze, `axes`.
fn unsqueeze(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    // ONNX Runtime accepts a scalar for this list only.
    let Some(axes) = list_or_single(cx, "axes", 1)? else { return Ok(()) };
    let (Some(shape), Some(added)) = (cx.shape(In(0)), axes.len) else { return Ok(()) };
    let rank = shape.len() + added;
    let Some(known) = axes.constants(cx) else { return cx.set_rank(Out(0), rank) };
    let positions = axes.source.axes(&known, In(0), rank)?;
    let mut rest = shape.iter().copied();
    let wide: DimVec = members(&positions, rank)
        .into_iter()
        .map(|is_new| if is_new { DimId::ONE } else { rest.next().unwrap_or(DimId::ONE) })
        .collect();
    cx.set_shape(Out(0), &wide)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer_y};

    fn reshaped(input: &str, target: &str) -> String {
        let count = target.split(',').filter(|item| !item.is_empty()).count();
        format!("g (float[{input}] x) => (y) <int64[{count}] t = {{{target}}}> {{ y = Reshape (x, t) }}")
    }

    #[test]
    fn the_remaining_extent_is_an_exact_quotient() {
        for (input, target, y) in [
            ("2, 3, 4", "6, 4", "float[6, 4]"),
            ("2, 3, 4", "0, -1", "float[2, 12]"),
            ("2, 3, 4", "-1", "float[24]"),
            ("B, S, 768", "0, 0, 12, 64", "float[B, S, 12, 64]"),
            ("B, S, 768", "-1, 768", "float[B*S, 768]"),
            ("B, S, 12, 64", "0, 0, -1", "float[B, S, 768]"),
            ("N, 1001", "-1, 7", "float[143*N, 7]"),
            ("N, 3", "-1, 2", "float[N + N//2, 2]"),
            ("1, 1", "", "float"),
            ("N, M", "-1, 0", "float[N, M]"),
        ] {
            assert_eq!(infer_y(13, &reshaped(input, target)), y, "{input} to {target}");
        }
    }

    #[test]
    fn the_number_of_elements_is_unchanged() {
        assert_eq!(
            error(13, &reshaped("2, 3", "5, 5")),
            "reshape.target: input 1 is [5, 5] with 25 elements, but the input has 6"
        );
        assert_eq!(
            error(13, &reshaped("2*N + 1, 3", "-1, 2")),
            "reshape.target: input 1 has extents with a product of 2, which does not divide the 6*N + 3 elements of the input"
        );
    }

    #[test]
    fn a_target_has_one_rest_and_copies_axes_that_are_there() {
        assert_eq!(error(13, &reshaped("2, 3", "-1, -1")), "reshape.target: input 1 has more than one -1");
        assert_eq!(
            error(13, &reshaped("2, 3", "2, 3, 0")),
            "reshape.target: input 1 copies axis 2 with a 0, but the input has no such axis"
        );
        assert_eq!(
            error(13, &reshaped("2, 3", "-2, 3")),
            "reshape.target: input 1 requests the extent -2 at axis 0"
        );
    }

    #[test]
    fn a_zero_may_mean_zero() {
        let graph =
            "g (float[0, 3] x) => (y) <int64[3] t = {3, 4, 0}> { y = Reshape <allowzero = 1> (x, t) }";
        assert_eq!(infer_y(14, graph), "float[3, 4, 0]");
        let graph = "g (float[0, 3] x) => (y) <int64[2] t = {0, -1}> { y = Reshape <allowzero = 1> (x, t) }";
        let message = "reshape.target: input 1 has both an extent 0 and a -1, so the -1 can be anything";
        assert_eq!(error(14, graph), message);
    }

    #[test]
    fn an_unknown_extent_follows_from_the_number_of_elements() {
        let y = infer_y(
            13,
            "g (float[B, S, 64] x, int64[1] runtime) => (y) <int64[1] zero = {0}, int64[1] eight = {8}, int64[1] one = {1}> {
               shape = Shape (x)
               batch = Gather (shape, zero)
               target = Concat <axis = 0> (batch, runtime, eight)
               y = Reshape (x, target)
             }",
        );
        assert_eq!(y, "float[B, 8*S, 8]");
    }

    #[test]
    fn a_target_of_known_length_determines_the_rank() {
        assert_eq!(infer_y(13, "g (float[N, 3] x, int64[2] t) => (y) { y = Reshape (x, t) }"), "float[?, ?]");
        assert_eq!(infer_y(13, "g (float[N, 3] x, int64[1] t) => (y) { y = Reshape (x, t) }"), "float[3*N]");
        assert_eq!(
            infer_y(1, "g (float[N, 3] x) => (y) { y = Reshape <shape = [3, -1]> (x) }"),
            "float[3, N]"
        );
    }

    #[test]
    fn flattening_multiplies_the_axes_before_and_after() {
        let flat = |axis: i64| format!("g (float[A, B, 3] x) => (y) {{ y = Flatten <axis = {axis}> (x) }}");
        for (axis, y) in
            [(0, "float[1, 3*A*B]"), (1, "float[A, 3*B]"), (3, "float[3*A*B, 1]"), (-1, "float[A*B, 3]")]
        {
            assert_eq!(infer_y(13, &flat(axis)), y);
        }
        assert_eq!(error(13, &flat(4)), "flatten.axis: axis is 4, outside [-3, 3] for 3 axes");
        assert_eq!(error(9, &flat(-1)), "flatten.axis: axis is -1, outside [0, 3] for 3 axes");
    }

    #[test]
    fn squeezed_axes_are_ones() {
        let squeeze = |axes: &str| {
            format!("g (float[1, N, 1, 3] x) => (y) <int64[1] a = {{{axes}}}> {{ y = Squeeze (x, a) }}")
        };
        assert_eq!(infer_y(13, &squeeze("-2")), "float[1, N, 3]");
        assert_eq!(error(13, &squeeze("3")), "squeeze.axes: axis 3 of input 0 is squeezed, so it must be 1");
        assert_eq!(
            error(13, &squeeze("4")),
            "squeeze.axes: input 1 names axis 4, outside [-4, 4) for 4 axes"
        );
        assert_eq!(infer_y(1, "g (float[1, N, 1] x) => (y) { y = Squeeze <axes = [0, 2]> (x) }"), "float[N]");
        assert_eq!(infer_y(13, "g (float[1, 2*N + 2, 1] x) => (y) { y = Squeeze (x) }"), "float[2*N + 2]");
        assert_eq!(infer_y(13, "g (float[1, N] x) => (y) { y = Squeeze (x) }"), "float[...]", "N may be 1");
        assert_eq!(infer_y(13, "g (float[1, N] x, int64[1] a) => (y) { y = Squeeze (x, a) }"), "float[?]");
    }

    #[test]
    fn unsqueezed_axes_are_positions_of_the_output() {
        let unsqueeze = |axes: &str| {
            format!("g (float[N, 3] x) => (y) <int64[2] a = {{{axes}}}> {{ y = Unsqueeze (x, a) }}")
        };
        assert_eq!(infer_y(13, &unsqueeze("0, -1")), "float[1, N, 3, 1]");
        assert_eq!(infer_y(13, &unsqueeze("2, 1")), "float[N, 1, 1, 3]");
        assert_eq!(error(13, &unsqueeze("1, -3")), "unsqueeze.axes: input 1 names axis 1 twice");
        assert_eq!(
            error(13, &unsqueeze("0, 4")),
            "unsqueeze.axes: input 1 names axis 4, outside [-4, 4) for 4 axes"
        );
        assert_eq!(
            infer_y(1, "g (float[N] x) => (y) { y = Unsqueeze <axes = [0, 2]> (x) }"),
            "float[1, N, 1]"
        );
        assert_eq!(
            infer_y(13, "g (float[N] x, int64[2] a) => (y) { y = Unsqueeze (x, a) }"),
            "float[?, ?, ?]"
        );
    }

    #[test]
    fn the_remaining_extent_is_an_integer() {
        let graph = "g (float[B, S] x) => (y) <int64[2] t = {-1, 7}> { y = Reshape (x, t) }";
        assert_eq!(conditions(13, graph), ["B*S = 7*((B*S)//7)"]);
        let graph = "g (float[B, 14] x) => (y) <int64[2] t = {-1, 7}> { y = Reshape (x, t) }";
        assert_eq!(conditions(13, graph), [""; 0]);
    }

    #[test]
    fn an_item_that_is_never_0_where_the_numbers_of_elements_agree_copies_nothing() {
        let y = infer_y(
            17,
            "g (float[b, h, w, 8] x) => (y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] seven = {7}, int64[1] eight = {8}> {
               s = Shape (x)
               batch = Gather (s, zero)
               height = Gather (s, one)
               width = Gather (s, two)
               rows = Div (height, seven)
               columns = Div (width, seven)
               t = Concat <axis = 0> (batch, rows, seven, columns, seven, eight)
               y = Reshape (x, t)
             }",
        );
        assert_eq!(y, "float[b, h//7, 7, w//7, 7, 8]");
        let y = infer_y(
            17,
            "g (float[b, h, 8] x) => (y) <int64[1] rest = {-1}, int64[1] one = {1}, int64[1] four = {4}, int64[1] eight = {8}> {
               s = Shape (x)
               height = Gather (s, one)
               rows = Div (height, four)
               t = Concat <axis = 0> (rest, rows, four, eight)
               y = Reshape (x, t)
             }",
        );
        assert!(y.contains("h*max(0, 1 - h//4) + h//4"), "{y}");
    }

    #[test]
    fn an_extent_of_the_input_is_not_the_rest() {
        let y = infer_y(
            15,
            "g (float[N, 4, S] x, float[32, 4, 30] w) => (y) {
               frames = Conv <strides = [20]> (x, w)
               last = Transpose <perm = [0, 2, 1]> (frames)
               size = Shape <start = 0, end = 2> (last)
               rest = Constant <value_ints = [-1, 8]> ()
               target = Concat <axis = 0> (size, rest)
               y = Reshape (last, target)
             }",
        );
        assert_eq!(y, "float[N, (S - 10)//20, 4, 8]");
    }
}

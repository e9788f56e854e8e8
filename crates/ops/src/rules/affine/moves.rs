//! Operators that move elements, and those that create elements from positions.
//!
//! An operator that moves elements changes the positions on which a form depends. Axes count from the last
//! one:
//!
//! ```text
//! Range (0, B*S), [B*S]                k
//!   Reshape to [B, S]                  S*i + j          the count of j is S, that of i is B
//!   Transpose to [S, B]                S*j + i          i is the first axis
//!   Slice columns 2.. of [B, S]        2 + S*i + j
//! ```
//!
//! - [`at_position`] composes the form of the data with that of an index. Negative indices count from the
//!   end, and are followed if all indices have one sign.
//! - [`reshape`] divides the axes into least groups with equal numbers of elements before and after. In a
//!   group, one axis splits into several, or several with matching coefficients merge. Any other term keeps
//!   its ends.
//! - [`concat`] makes parts along its axis; [`slice`], [`split`] and [`transpose`] keep them if they do not
//!   cut their axis.
//! - [`range`], [`cumulate`] and [`all_positions`] (`Range`, `CumSum` and `NonZero` of equal elements) create
//!   forms.
//!
//! **Invariant:** both ends of a result occur in it. A part of a [`Variable::Function`] could lose them, so a
//! slice or an index of one is not followed.
//!
//! The cost is linear in the terms and axes, apart from `reshape`. A group of `reshape` is found by comparing
//! products of at most [`MAX_MERGED`] axes on each side. If none is found, all axes that are left are one
//! group.
//!
//! **Limit:** tensors of more than [`MAX_RANK`] axes are not followed.

use smallvec::SmallVec;
use typeloom_dim::{Decision, DimId};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Affine, Form, Ints, Part, Port, RuleCx, Term, Variable};

use super::arithmetic::aligned;
use super::{MAX_RANK, between, ends, integral_operand, is_natural, operand, put};

/// Maximum number of adjacent axes that a reshape merges or splits in one place.
const MAX_MERGED: usize = 4;

/// Replaces the elements of all parts, and moves the axis of the parts.
fn map(
    affine: &Affine,
    axis: impl Fn(usize) -> Option<usize>,
    mut change: impl FnMut(&Form) -> Option<Form>,
) -> Option<Affine> {
    let axis = match affine.axis {
        Some(known) => Some(axis(known)?),
        None => None,
    };
    let part = |part: &Part| Part { length: part.length, form: part.form.as_ref().and_then(&mut change) };
    Some(Affine { parts: affine.parts.iter().map(part).collect(), axis })
}

/// The form with its axes renumbered; `None` if an axis is lost.
fn renumbered(form: &Form, to: impl Fn(usize) -> Option<usize>) -> Option<Form> {
    let variable = |variable| match variable {
        Variable::Position(axis) => Some(Variable::Position(to(axis)?)),
        Variable::Function(axes) => {
            let moved = (0..MAX_RANK).filter(|axis| axes & 1 << axis != 0).map(&to);
            moved.map(|axis| Some(1 << axis?)).sum::<Option<u32>>().map(Variable::Function)
        }
    };
    let terms =
        form.terms.iter().map(|term| Some(Term { variable: variable(term.variable)?, ..term.clone() }));
    Some(Form { base: form.base, terms: terms.collect::<Option<_>>()? })
}

/// Numbers from `start` in steps of `delta`. The count may be negative where the range is empty.
pub(crate) fn range(cx: &mut RuleCx<'_, '_>, start: DimId, delta: DimId, count: DimId) {
    let term = Term { coefficient: delta, count, variable: Variable::Position(0) };
    put(cx, Out(0), Affine::whole(Form { base: start, terms: smallvec::smallvec![term] }));
}

/// The elements broadcast to the output, if it is not a small constant shape: Expand and Tile.
pub(crate) fn repeat(cx: &mut RuleCx<'_, '_>) {
    if let Some(elements) = integral_operand(cx, In(0)).and_then(|elements| aligned(cx, &elements, In(0))) {
        put(cx, Out(0), elements);
    }
}

/// The elements at an index along an axis. The axes of the index, of the given rank, replace the axis.
pub(crate) fn at_position(
    cx: &mut RuleCx<'_, '_>,
    data: &Affine,
    axis: usize,
    (index, rank): (Form, usize),
    extent: DimId,
) -> Option<Affine> {
    let to = |other: usize| if other < axis { Some(other) } else { (other + rank).checked_sub(1) };
    if data.parts.len() == 1 || data.axis.is_some_and(|parts| parts != axis) {
        return map(data, to, |form| composed(cx, form, axis, &index, to));
    }
    data.axis?;
    // The part that has the index.
    let constant = index.terms.is_empty().then_some(index.base).and_then(|index| cx.const_dim(index))?;
    let mut at = if constant < 0 { constant.checked_add(cx.const_dim(extent)?)? } else { constant };
    for part in &data.parts {
        let length = cx.const_dim(part.length)?;
        if at < length {
            let index = Form::equal(cx.dims().constant(at));
            let form = composed(cx, part.form.as_ref()?, axis, &index, to)?;
            return Some(Affine::whole(form));
        }
        at -= length;
    }
    None
}

fn composed(
    cx: &mut RuleCx<'_, '_>,
    form: &Form,
    axis: usize,
    index: &Form,
    to: impl Fn(usize) -> Option<usize> + Copy,
) -> Option<Form> {
    let at = form.terms.iter().position(|term| term.variable == Variable::Position(axis));
    let Some(at) = at else {
        let is_independent = form.axes() & 1 << axis == 0;
        return if is_independent { renumbered(form, to) } else { None };
    };
    let mut others = form.clone();
    let Term { coefficient, count, .. } = others.terms.remove(at);
    let mut sum = renumbered(&others, to)?;
    let (least, greatest) = ends(cx, index)?;
    let mut first = index.base;
    if !is_natural(cx, least) {
        // Counted from the end, if all are.
        let back = cx.dims().neg(greatest);
        let back = cx.dims().sub(back, DimId::ONE);
        if !is_natural(cx, back) {
            return None;
        }
        first = cx.dims().add(first, count);
    }
    let first = cx.dims().mul(coefficient, first);
    sum.base = cx.dims().add(sum.base, first);
    for term in &index.terms {
        let coefficient = cx.dims().mul(coefficient, term.coefficient);
        let variable = match term.variable {
            Variable::Position(own) => Variable::Position(own + axis),
            Variable::Function(axes) => Variable::Function(axes << axis),
        };
        sum.terms.push(Term { coefficient, count: term.count, variable });
    }
    (sum.axes() < 1 << MAX_RANK).then_some(sum)
}

/// Gather along an axis, counted from the first one. Returns whether the elements are followed in this form.
pub(crate) fn gather(cx: &mut RuleCx<'_, '_>, axis: usize) -> bool {
    if cx.affine(In(0)).is_none() && cx.affine(In(1)).is_none() {
        return false;
    }
    if let Some(elements) = gathered(cx, axis) {
        put(cx, Out(0), elements);
    }
    true
}

fn gathered(cx: &mut RuleCx<'_, '_>, axis: usize) -> Option<Affine> {
    let (rank, index_rank) = (cx.rank(In(0))?, cx.rank(In(1))?);
    if rank + index_rank > MAX_RANK {
        return None;
    }
    let data = integral_operand(cx, In(0))?;
    let extent = *cx.shape(In(0))?.get(axis)?;
    let axis = rank.checked_sub(axis + 1)?;
    if let Some(indices) = cx.ints(In(1))
        && indices.items.len() != 1
        && rank == 1
    {
        let mut items = SmallVec::new();
        for index in &indices.items {
            let element = at_position(cx, &data, axis, (Form::equal(*index), 0), extent)?;
            items.push(element.single()?.base);
        }
        super::super::items::put_whole(cx, Out(0), Ints { shape: indices.shape.clone(), items });
        return None;
    }
    let index = operand(cx, In(1))?;
    if let Some(index) = index.single() {
        return at_position(cx, &data, axis, (index.clone(), index_rank), extent);
    }
    let data = data.single()?;
    let to = |other: usize| if other < axis { Some(other) } else { (other + index_rank).checked_sub(1) };
    map(&index, |own| Some(own + axis), |index| composed(cx, data, axis, index, to))
}

/// Transpose; axis `i` of the output is axis `positions[i]` of the input.
pub(crate) fn transpose(cx: &mut RuleCx<'_, '_>, positions: &[usize]) {
    let Some(affine) = cx.affine(In(0)) else { return };
    let last = positions.len().saturating_sub(1);
    let to = |axis: usize| {
        let from_first = last.checked_sub(axis)?;
        positions.iter().position(|from| *from == from_first).map(|at| last - at)
    };
    if let Some(moved) = map(&affine, to, |form| renumbered(form, to)) {
        put(cx, Out(0), moved);
    }
}

/// The elements that a slice takes of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sliced {
    Whole,
    /// Every `step`-th element from a position on.
    From {
        start: DimId,
        step: i64,
    },
    /// Unknown elements.
    Unknown,
}

/// The elements of a slice at an output.
pub(crate) fn slice(cx: &mut RuleCx<'_, '_>, axes: &[Sliced], to: Port) {
    let Some(affine) = integral_operand(cx, In(0)) else { return };
    let Some(extents) = cx.shape(to).filter(|extents| extents.len() == axes.len()) else { return };
    let from_first = |axis: usize| axes.len().checked_sub(axis + 1);
    let is_whole = |axis: usize| from_first(axis).is_some_and(|at| axes[at] == Sliced::Whole);
    if affine.parts.len() > 1 && !affine.axis.is_some_and(is_whole) {
        return;
    }
    let sliced = map(&affine, Some, |form| {
        let mut form = form.clone();
        for term in &mut form.terms {
            match term.variable {
                Variable::Position(axis) => match axes[from_first(axis)?] {
                    Sliced::Whole => {}
                    Sliced::From { start, step } => {
                        let (first, step) =
                            (cx.dims().mul(term.coefficient, start), cx.dims().constant(step));
                        form.base = cx.dims().add(form.base, first);
                        term.coefficient = cx.dims().mul(term.coefficient, step);
                        term.count = extents[from_first(axis)?];
                    }
                    Sliced::Unknown => return None,
                },
                Variable::Function(mask) => {
                    let mut touched = (0..axes.len()).filter(|axis| mask & 1 << axis != 0);
                    if !touched.all(is_whole) {
                        return None;
                    }
                }
            }
        }
        form.terms.retain(|term| term.count != DimId::ONE);
        Some(form)
    });
    if let Some(sliced) = sliced {
        put(cx, to, sliced);
    }
}

/// Concat of the inputs along an axis, counted from the first one. Returns whether one of them is followed in
/// this form.
pub(crate) fn concat(cx: &mut RuleCx<'_, '_>, ports: &[Port], axis: usize) -> bool {
    if !ports.iter().any(|port| cx.affine(*port).is_some()) {
        return false;
    }
    let mut joined = Affine { parts: SmallVec::new(), axis: None };
    for port in ports {
        let Some(extents) = cx.shape(*port) else { return true };
        joined.axis = extents.len().checked_sub(axis + 1);
        let Some(length) = extents.get(axis).copied() else { return true };
        match integral_operand(cx, *port) {
            Some(affine) if affine.parts.len() == 1 => {
                joined.parts.push(Part { length, form: affine.single().cloned() });
            }
            Some(affine) if affine.axis == joined.axis => joined.parts.extend(affine.parts.iter().cloned()),
            Some(_) | None => joined.parts.push(Part { length, form: None }),
        }
    }
    if joined.axis.is_some_and(|axis| axis < MAX_RANK) {
        put(cx, Out(0), joined);
    }
    true
}

/// The attributes of CumSum.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    pub(crate) exclusive: bool,
    pub(crate) reverse: bool,
}

/// CumSum of equal elements. Returns whether the elements are followed in this form.
pub(crate) fn cumulate(cx: &mut RuleCx<'_, '_>, sums: Sums) -> bool {
    let Some(affine) = cx.affine(In(0)) else { return false };
    let form = (|| {
        let form = affine.single().filter(|form| form.terms.is_empty())?;
        let (extents, axis) = (cx.shape(In(0))?, cx.const_int(In(1))?);
        let at = typeloom_types::shape::position(axis, extents.len())?;
        let (item, count) = (form.base, extents[at]);
        let first = if sums.exclusive { DimId::ZERO } else { item };
        let variable = Variable::Position(extents.len() - 1 - at);
        let (base, coefficient) = if sums.reverse {
            let last = cx.dims().sub(count, DimId::ONE);
            let rest = cx.dims().mul(item, last);
            (cx.dims().add(first, rest), cx.dims().neg(item))
        } else {
            (first, item)
        };
        let term = Term { coefficient, count, variable };
        (extents.len() <= MAX_RANK).then(|| Form { base, terms: smallvec::smallvec![term] })
    })();
    if let Some(form) = form {
        put(cx, Out(0), Affine::whole(form));
    }
    true
}

/// An end of the elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Least,
    Greatest,
}

/// ReduceMax and ReduceMin over the axes with `true`. Returns whether the elements are followed in this form.
pub(crate) fn reduce(cx: &mut RuleCx<'_, '_>, reduced: &[bool], end: End) -> bool {
    let Some(affine) = cx.affine(In(0)) else { return false };
    if let (Some(form), Some(extents)) = (affine.single(), cx.shape(In(0)))
        && extents.len() == reduced.len()
        && extents.iter().zip(reduced).all(|(extent, reduced)| !reduced || cx.is_positive_in_runs(*extent))
        && let Some(elements) = reduced_form(cx, form, reduced, end)
    {
        put(cx, Out(0), Affine::whole(elements));
    }
    true
}

/// The ends along the reduced axes; the result keeps no other axis that would have to be renumbered.
fn reduced_form(cx: &mut RuleCx<'_, '_>, form: &Form, reduced: &[bool], end: End) -> Option<Form> {
    let last = reduced.len().checked_sub(1)?;
    let mask = (0..=last).filter(|axis| reduced[last - axis]).fold(0, |mask, axis| mask | 1_u32 << axis);
    let (inner, outer): (SmallVec<[Term; 2]>, SmallVec<[Term; 2]>) =
        form.terms.iter().cloned().partition(|term| term.variable.axes() & mask == term.variable.axes());
    let keeps_axes = cx.rank(Out(0)) == Some(reduced.len());
    if !outer.is_empty() && (!keeps_axes || outer.iter().any(|term: &Term| term.variable.axes() & mask != 0))
    {
        return None;
    }
    let (least, greatest) = ends(cx, &Form { base: form.base, terms: inner })?;
    Some(Form { base: if end == End::Least { least } else { greatest }, terms: outer })
}

/// NonZero of equal elements that are not 0: one row of positions for each axis of the input.
pub(crate) fn all_positions(cx: &mut RuleCx<'_, '_>) {
    let Some(extents) = cx.shape(In(0)).filter(|extents| extents.len() <= super::MAX_PARTS) else { return };
    let row = |extent: &DimId| {
        let last = cx.dims().sub(*extent, DimId::ONE);
        let mut form = between(cx, (DimId::ZERO, last), 1);
        if extents.len() == 1 {
            form.terms.iter_mut().for_each(|term| term.variable = Variable::Position(0));
        }
        Part { length: DimId::ONE, form: Some(form) }
    };
    let parts: SmallVec<[Part; 1]> = extents.iter().map(row).collect();
    let axis = (parts.len() > 1).then_some(1);
    put(cx, Out(0), Affine { parts, axis });
}

/// Reshape, Flatten, Squeeze and Unsqueeze: the same elements in the same order.
pub(crate) fn reshape(cx: &mut RuleCx<'_, '_>, from: Port, to: Port) {
    let Some(affine) = cx.affine(from) else { return };
    let (Some(old), Some(new)) = (cx.shape(from), cx.shape(to)) else { return };
    if old.len().max(new.len()) > MAX_RANK {
        return;
    }
    let groups = groups(cx, &old, &new);
    let single = |axis: usize| {
        groups.iter().find_map(|group| match (&group.old[..], &group.new[..]) {
            ([old], [new]) if *old == axis => Some(*new),
            _ => None,
        })
    };
    let mut reshaped = Affine::clone(&affine);
    if let Some(axis) = affine.axis {
        reshaped.axis = single(axis);
    }
    let is_spread = affine.parts.len() > 1 && reshaped.axis.is_none();
    for part in &mut reshaped.parts {
        let Some(form) = part.form.take() else { continue };
        part.form = if is_spread { None } else { regrouped(cx, &form, &groups) };
        if part.form.is_none()
            && let Some(ends) = ends(cx, &form)
        {
            let all = (0..new.len()).fold(0, |mask, axis| mask | 1 << axis);
            part.form = Some(between(cx, ends, all));
        }
    }
    put(cx, to, reshaped);
}

/// Adjacent axes, counted from the last one, that a reshape merges or splits.
struct Group {
    old: Vec<usize>,
    /// The new axes with their extents, from the first one on.
    new: Vec<usize>,
    new_extents: Vec<DimId>,
    old_extents: Vec<DimId>,
}

/// The least groups of adjacent axes with the same number of elements before and after. Axes of extent 1 are
/// in none.
fn groups(cx: &mut RuleCx<'_, '_>, old: &[DimId], new: &[DimId]) -> Vec<Group> {
    let long = |extents: &[DimId]| -> Vec<(usize, DimId)> {
        let axes = extents.iter().copied().enumerate().filter(|(_, extent)| *extent != DimId::ONE);
        axes.map(|(at, extent)| (extents.len() - 1 - at, extent)).collect()
    };
    let (old, new) = (long(old), long(new));
    let (mut old, mut new) = (&old[..], &new[..]);
    let mut groups = Vec::new();
    while !old.is_empty() || !new.is_empty() {
        let (left, right) = first_group(cx, old, new).unwrap_or((old.len(), new.len()));
        groups.push(Group {
            old: old[..left].iter().map(|(axis, _)| *axis).collect(),
            new: new[..right].iter().map(|(axis, _)| *axis).collect(),
            old_extents: old[..left].iter().map(|(_, extent)| *extent).collect(),
            new_extents: new[..right].iter().map(|(_, extent)| *extent).collect(),
        });
        (old, new) = (&old[left..], &new[right..]);
    }
    groups
}

/// The numbers of first axes with the same number of elements.
fn first_group(
    cx: &mut RuleCx<'_, '_>,
    old: &[(usize, DimId)],
    new: &[(usize, DimId)],
) -> Option<(usize, usize)> {
    for total in 2..=2 * MAX_MERGED {
        for left in 1..total {
            let right = total - left;
            if left > old.len().min(MAX_MERGED) || right > new.len().min(MAX_MERGED) {
                continue;
            }
            let product =
                |axes: &[(usize, DimId)]| axes.iter().map(|(_, extent)| *extent).collect::<Vec<_>>();
            let (before, after) = (product(&old[..left]), product(&new[..right]));
            let (before, after) = (cx.dims().product(&before), cx.dims().product(&after));
            if cx.dims().compare(before, after) == Decision::Equal {
                return Some((left, right));
            }
        }
    }
    None
}

/// The form on the new axes; `None` if a term depends on several groups.
fn regrouped(cx: &mut RuleCx<'_, '_>, form: &Form, groups: &[Group]) -> Option<Form> {
    let mut result = Form::equal(form.base);
    let mut moved = 0;
    for group in groups {
        let mask = |axes: &[usize]| axes.iter().fold(0_u32, |mask, axis| mask | 1 << axis);
        let (old, new) = (mask(&group.old), mask(&group.new));
        let terms: SmallVec<[Term; 2]> =
            form.terms.iter().filter(|term| term.variable.axes() & old != 0).cloned().collect();
        if terms.iter().any(|term| term.variable.axes() & !old != 0) {
            return None;
        }
        moved += terms.len();
        if terms.is_empty() {
            continue;
        }
        match exact(cx, &terms, group) {
            Some(terms) => result.terms.extend(terms),
            None => {
                let (least, greatest) = ends(cx, &Form { base: DimId::ZERO, terms })?;
                let merged = between(cx, (least, greatest), new);
                result.base = cx.dims().add(result.base, merged.base);
                result.terms.extend(merged.terms);
            }
        }
    }
    // A term on an axis of extent 1 has no group.
    (moved == form.terms.len()).then_some(result)
}

/// The terms on the new axes of a group, if they are positions again.
fn exact(cx: &mut RuleCx<'_, '_>, terms: &[Term], group: &Group) -> Option<SmallVec<[Term; 2]>> {
    let position = |axis: usize| terms.iter().find(|term| term.variable == Variable::Position(axis));
    match (&group.old[..], &group.new[..]) {
        (_, []) => None,
        ([_], [new]) => {
            let moved = terms.iter().map(|term| {
                let variable = match term.variable {
                    Variable::Position(_) => Variable::Position(*new),
                    Variable::Function(_) => Variable::Function(1 << new),
                };
                Term { variable, ..term.clone() }
            });
            Some(moved.collect())
        }
        ([old], new) => {
            let mut coefficient = position(*old)?.coefficient;
            let mut split = SmallVec::new();
            for (axis, extent) in new.iter().zip(&group.new_extents).rev() {
                split.push(Term { coefficient, count: *extent, variable: Variable::Position(*axis) });
                coefficient = cx.dims().mul(coefficient, *extent);
            }
            Some(split)
        }
        (old, [new]) => {
            // The coefficient of each axis is that of the next one times its extent.
            let coefficient = position(*old.last()?)?.coefficient;
            let (mut expected, mut count) = (coefficient, DimId::ONE);
            for (axis, extent) in old.iter().zip(&group.old_extents).rev() {
                if cx.dims().compare(position(*axis)?.coefficient, expected) != Decision::Equal {
                    return None;
                }
                expected = cx.dims().mul(expected, *extent);
                count = cx.dims().mul(count, *extent);
            }
            Some(smallvec::smallvec![Term { coefficient, count, variable: Variable::Position(*new) }])
        }
        (_, _) => None,
    }
}

/// The elements of the parts of a Split, each from a position on, along an axis counted from the first one.
pub(crate) fn split(cx: &mut RuleCx<'_, '_>, axis: usize, extents: &[DimId]) {
    if cx.affine(In(0)).is_none() {
        return;
    }
    let Some(rank) = cx.rank(In(0)) else { return };
    let mut start = DimId::ZERO;
    for (at, extent) in extents.iter().enumerate() {
        let mut axes = vec![Sliced::Whole; rank];
        axes[axis] = Sliced::From { start, step: 1 };
        slice(cx, &axes, Out(at));
        start = cx.dims().add(start, *extent);
    }
}

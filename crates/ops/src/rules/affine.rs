//! The affine analysis of positions: which elements the index tensors of a model have.
//!
//! Gather and its relatives fail in a run if an index is outside of its axis. Exporters compute indices from
//! ranges, so a decoder with a cache reads its mask at `Range(0, past + sequence)`, at
//! `Range(0, batch)*length + Range(..)` in a flattened mask, or at tuples that Concat makes. The lengths of
//! these ranges are symbols, so no element can be computed. But each element is an affine function of its
//! position ([`Affine`]), and the greatest one gives the condition under which the model runs:
//! `past + sequence <= length`.
//!
//! Algorithm: abstract interpretation with affine forms over symbolic counts. [`arithmetic`] has the transfer
//! functions of operators that compute with elements, [`moves`] those of operators that move them. A result
//! is exact as long as it is affine; a monotone function of forms on different axes has the elements between
//! two symbolic ends that both occur ([`Variable::Function`]). Any other result is not followed. So the ends
//! of a form occur in every tensor without empty axes, and [`require_positions`] reports conditions that are
//! necessary, never approximations.
//!
//! A form has at most [`MAX_TERMS`] terms and a tensor at most [`MAX_PARTS`] parts, so one node costs a
//! bounded number of operations on dims. A listed operand, which has at most
//! [`MAX_ELEMENTS`](typeloom_solver::rule::MAX_ELEMENTS) elements, is read once.

use std::sync::Arc;

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Condition, Decision, DimId, Domain, Relation, Verdict};
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::{Affine, Extent, Form, Ints, Part, Port, RuleCx, RuleResult, Term, Variable};

use super::common::element_count;
use super::items::{MAX_ITEMS, constant_shape, strides, whole_items};

pub(super) mod arithmetic;
pub(super) mod moves;
#[cfg(test)]
mod tests;

/// Maximum number of parts of a tensor.
const MAX_PARTS: usize = 8;
/// Maximum number of terms of a form.
const MAX_TERMS: usize = 6;
/// Maximum number of axes of a tensor whose elements are followed in this form.
const MAX_RANK: usize = 16;

/// The elements at a port, if they are known in this form or are listed and differ by constants.
pub(super) fn operand(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Arc<Affine>> {
    if let Some(affine) = cx.affine(port) {
        return Some(affine);
    }
    let ints = whole_items(cx, port)?;
    listed(cx, &ints).map(|form| Arc::new(Affine::whole(form)))
}

/// As [`operand`], for ports that may have large tables of floats, which are not read.
fn integral_operand(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Arc<Affine>> {
    let is_integral = cx.elem(port).is_some_and(|elem| elem == Elem::INT64 || elem == Elem::INT32);
    if is_integral { operand(cx, port) } else { cx.affine(port) }
}

/// The form of listed elements that differ by constants.
fn listed(cx: &mut RuleCx<'_, '_>, ints: &Ints) -> Option<Form> {
    let first = *ints.items.first()?;
    if ints.shape.len() > MAX_RANK {
        return None;
    }
    let mut differences = Vec::with_capacity(ints.items.len());
    for item in &ints.items {
        let difference = cx.dims().sub(*item, first);
        differences.push(cx.const_dim(difference)?);
    }
    let (least, greatest) = (*differences.iter().min()?, *differences.iter().max()?);
    if least == greatest {
        return Some(Form::equal(first));
    }
    let strides = strides(&ints.shape);
    let axes: Vec<(usize, usize)> =
        ints.shape.iter().copied().enumerate().filter(|(_, extent)| *extent > 1).collect();
    let steps: Vec<i64> = axes.iter().map(|(axis, _)| differences[strides[*axis]]).collect();
    let linear = |at: usize| {
        axes.iter().zip(&steps).try_fold(0_i64, |sum, ((axis, extent), step)| {
            let index = i64::try_from(at / strides[*axis] % extent).ok()?;
            sum.checked_add(index.checked_mul(*step)?)
        })
    };
    let from_end = |axis: usize| ints.shape.len() - 1 - axis;
    if differences.iter().enumerate().all(|(at, found)| linear(at) == Some(*found)) {
        let mut form = Form::equal(first);
        for ((axis, extent), step) in axes.iter().zip(&steps).filter(|(_, step)| **step != 0) {
            let (coefficient, count) = (cx.dims().constant(*step), cx.count(*extent));
            form.terms.push(Term { coefficient, count, variable: Variable::Position(from_end(*axis)) });
        }
        return (form.terms.len() <= MAX_TERMS).then_some(form);
    }
    let mask = axes.iter().fold(0, |mask, (axis, _)| mask | 1 << from_end(*axis));
    let (least, greatest) = (cx.dims().constant(least), cx.dims().constant(greatest));
    let (least, greatest) = (cx.dims().add(first, least), cx.dims().add(first, greatest));
    Some(between(cx, (least, greatest), mask))
}

/// Elements between two ends, which both occur, as a function of the positions along some axes.
fn between(cx: &mut RuleCx<'_, '_>, (least, greatest): (DimId, DimId), axes: u32) -> Form {
    let mut form = Form::equal(least);
    if axes != 0 && cx.dims().compare(least, greatest) != Decision::Equal {
        let distance = cx.dims().sub(greatest, least);
        let count = cx.dims().add(distance, DimId::ONE);
        form.terms.push(Term { coefficient: DimId::ONE, count, variable: Variable::Function(axes) });
    }
    form
}

/// Whether a dim is at least 0 wherever the model runs with axes that are not empty.
fn is_natural(cx: &mut RuleCx<'_, '_>, dim: DimId) -> bool {
    if cx.dims().is_non_negative(dim) {
        return true;
    }
    let next = cx.dims().add(dim, DimId::ONE);
    cx.is_positive_in_runs(next)
}

/// The least and the greatest element of a tensor without empty axes; `None` if the sign of a coefficient is
/// unknown.
fn ends(cx: &mut RuleCx<'_, '_>, form: &Form) -> Option<(DimId, DimId)> {
    let (mut least, mut greatest) = (form.base, form.base);
    for term in &form.terms {
        let last = cx.dims().sub(term.count, DimId::ONE);
        let end = cx.dims().mul(term.coefficient, last);
        if is_natural(cx, term.coefficient) {
            greatest = cx.dims().add(greatest, end);
        } else {
            let opposite = cx.dims().neg(term.coefficient);
            if !is_natural(cx, opposite) {
                return None;
            }
            least = cx.dims().add(least, end);
        }
    }
    Some((least, greatest))
}

/// Records the elements at a port. Equal elements of a small constant shape are listed.
pub(super) fn put(cx: &mut RuleCx<'_, '_>, port: Port, affine: Affine) {
    let is_in_limits = |part: &Part| part.form.as_ref().is_none_or(|form| form.terms.len() <= MAX_TERMS);
    if affine.parts.iter().all(|part| part.form.is_none())
        || affine.parts.len() > MAX_PARTS
        || !affine.parts.iter().all(is_in_limits)
    {
        return;
    }
    if let Some(form) = affine.single()
        && form.terms.is_empty()
        && let Some(shape) = constant_shape(cx, port)
        && element_count(&shape).is_some_and(|count| count <= MAX_ITEMS)
    {
        let items =
            Ints { items: smallvec::smallvec![form.base; shape.iter().product()], shape: shape.into() };
        return super::items::put_whole(cx, port, items);
    }
    cx.set_affine(port, affine);
}

/// The element that all elements at a port equal, if their number is not a constant.
pub(super) fn equal_elements(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<DimId> {
    let affine = cx.affine(port)?;
    affine.single().filter(|form| form.terms.is_empty()).map(|form| form.base)
}

/// Records that all elements at a port are equal.
pub(super) fn put_equal(cx: &mut RuleCx<'_, '_>, port: Port, item: DimId) {
    cx.set_affine(port, Affine::whole(Form::equal(item)));
}

/// Requires the elements at a port to be positions along an axis; negative ones count from its end.
pub(super) fn require_positions(cx: &mut RuleCx<'_, '_>, port: Port, axis: Extent) -> RuleResult {
    let (Some(affine), Some(extents)) = (cx.affine(port), cx.shape(port)) else { return Ok(()) };
    affine.parts.iter().try_for_each(|part| require_part(cx, port, part, &extents, axis))
}

/// Requires the elements of each column, along the last axis of a port, to be positions along one of the
/// axes.
pub(super) fn require_columns(cx: &mut RuleCx<'_, '_>, port: Port, axes: &[Extent]) -> RuleResult {
    let (Some(affine), Some(extents)) = (cx.affine(port), cx.shape(port)) else { return Ok(()) };
    let Some((last, outer)) = extents.split_last() else { return Ok(()) };
    for (at, axis) in axes.iter().enumerate() {
        let index = cx.count(at);
        if let Some(column) = moves::at_position(cx, &affine, 0, (Form::equal(index), 0), *last) {
            column.parts.iter().try_for_each(|part| require_part(cx, port, part, outer, *axis))?;
        }
    }
    Ok(())
}

/// Requires listed elements that are not constants to be positions along an axis.
pub(super) fn require_symbolic(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    items: impl Iterator<Item = DimId>,
    axis: Extent,
) -> RuleResult {
    // The ends of elements that differ by constants. Elements of more kinds than this are not compared.
    let mut kinds: Vec<(DimId, i64, i64)> = Vec::new();
    for item in items {
        if cx.const_dim(item).is_some() || cx.dims().is_anonymous(item) {
            continue;
        }
        let mut is_known = false;
        for (first, least, greatest) in &mut kinds {
            let difference = cx.dims().sub(item, *first);
            if let Some(difference) = cx.const_dim(difference) {
                (*least, *greatest) = ((*least).min(difference), (*greatest).max(difference));
                is_known = true;
                break;
            }
        }
        if !is_known && kinds.len() < MAX_PARTS {
            kinds.push((item, 0, 0));
        }
    }
    for (first, least, greatest) in kinds {
        let (least, greatest) = (cx.dims().constant(least), cx.dims().constant(greatest));
        let ends = (cx.dims().add(first, least), cx.dims().add(first, greatest));
        require_ends(cx, port, ends, &[], axis)?;
    }
    Ok(())
}

fn require_part(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    part: &Part,
    extents: &[DimId],
    axis: Extent,
) -> RuleResult {
    let Some(form) = &part.form else { return Ok(()) };
    let Some(ends) = ends(cx, form) else { return Ok(()) };
    let mut lengths = DimVec::from_slice(extents);
    for term in &form.terms {
        // The count of a range shows that its first element is the one after the last of an empty range.
        if let Variable::Position(at) = term.variable
            && let Some(length) = extents.len().checked_sub(at + 1).and_then(|at| lengths.get_mut(at))
        {
            *length = term.count;
        }
    }
    lengths.push(part.length);
    require_ends(cx, port, ends, &lengths, axis)
}

/// Requires the least and the greatest of the elements to be positions along an axis, where the lengths are
/// positive.
fn require_ends(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    (least, greatest): (DimId, DimId),
    lengths: &[DimId],
    axis: Extent,
) -> RuleResult {
    let needed = cx.dims().add(greatest, DimId::ONE);
    require_elements(cx, (port, needed).into(), lengths, axis)?;
    if is_natural(cx, least) {
        return Ok(());
    }
    let needed = cx.dims().neg(least);
    require_elements(cx, (port, needed).into(), lengths, axis)
}

/// Requires an axis to have the elements that an index needs, where all lengths are positive. A condition
/// that holds wherever named extents are positive is not recorded.
///
/// If `length <= 0` is possible and does not imply the condition, the condition is
/// `needed <= max(extent, needed - length)`, which holds there too.
fn require_elements(
    cx: &mut RuleCx<'_, '_>,
    needed: Extent,
    lengths: &[DimId],
    mut axis: Extent,
) -> RuleResult {
    let holds = |cx: &mut RuleCx<'_, '_>, axis: Extent| {
        let need = Condition::new(Relation::AtMost, needed.dim, axis.dim);
        cx.dims().examine(need, &Domain::nonempty()) == Verdict::Always
    };
    if cx.dims().is_anonymous(needed.dim) || cx.dims().is_anonymous(axis.dim) || holds(cx, axis) {
        return Ok(());
    }
    let extent = axis.dim;
    for length in lengths {
        if cx.is_positive_in_runs(*length) {
            continue;
        }
        let dims = cx.dims();
        if dims.is_anonymous(*length) {
            return Ok(());
        }
        let mut empty = Domain::nonempty();
        empty.assume(dims, Condition::new(Relation::AtMost, *length, DimId::ZERO));
        let need = Condition::new(Relation::AtMost, needed.dim, extent);
        if dims.examine(need, &empty) != Verdict::Always {
            let spared = dims.sub(needed.dim, *length);
            axis.dim = dims.max(axis.dim, spared);
        }
    }
    if axis.dim != extent && holds(cx, axis) {
        return Ok(());
    }
    cx.require_at_most(needed, axis, "are the elements that an index needs and those of the axis")
}

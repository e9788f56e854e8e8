//! Shapes in the built-in relations.
//!
//! A scalar has no axes. Dims are symbolic, as in all rules. In a nested graph that may never run, shapes
//! only flow forward.

use typeloom_dim::shape::DimVec;

use super::Ports;
use crate::rule::{Port, RuleCx, RuleError};
use crate::ty::Head;

/// Sets the shape of a scalar. A port of unknown kind is checked again when the kind is known.
fn set_scalar_shape(cx: &mut RuleCx<'_, '_>, port: Port) -> Result<(), RuleError> {
    let Some(ty) = cx.ty(port) else { return Ok(()) };
    match cx.types().head(ty) {
        Head::Scalar => cx.set_shape(port, &[]),
        Head::Unknown(_) => {
            cx.wait_for(ty);
            Ok(())
        }
        Head::Tensor | Head::Sparse | Head::Container(..) | Head::Composite | Head::Leaf(_) | Head::Error => {
            Ok(())
        }
    }
}

/// All ports have one shape.
pub(super) fn same(cx: &mut RuleCx<'_, '_>, ports: &[Port]) -> Result<(), RuleError> {
    let Some((first, rest)) = ports.split_first() else { return Ok(()) };
    // After the first round, the first port has the knowledge of all others; the second one passes it on.
    rest.iter().chain(rest).try_for_each(|port| cx.same_shape(*first, *port))
}

/// The shape of `out` is the broadcast of the inputs.
pub(super) fn broadcast(cx: &mut RuleCx<'_, '_>, in0: Port, in1: Port, out: Port) -> Result<(), RuleError> {
    [in0, in1, out].into_iter().try_for_each(|port| set_scalar_shape(cx, port))?;
    let inputs: Ports = [in0, in1].into_iter().filter(|port| cx.has(*port)).collect();
    if let Some(shape) = cx.broadcast(&inputs)? {
        cx.set_shape(out, &shape)?;
    }
    if !cx.is_conditional() && inputs.len() == 2 {
        broadcast_back(cx, in0, in1, out)?;
        broadcast_back(cx, in1, in0, out)?;
    }
    Ok(())
}

/// Narrows one operand by the result and the other operand.
fn broadcast_back(cx: &mut RuleCx<'_, '_>, port: Port, other: Port, out: Port) -> Result<(), RuleError> {
    let Some(result) = cx.shape(out) else { return Ok(()) };
    let other_shape = cx.shape(other);
    let rank = result.len();
    let own = match cx.shape(port) {
        Some(own) => own,
        // The longer of two operands has the rank of the result.
        None if rank == 0 || other_shape.as_ref().is_some_and(|other_shape| other_shape.len() < rank) => {
            cx.set_rank(port, rank)?;
            let Some(own) = cx.shape(port) else { return Ok(()) };
            own
        }
        None => return Ok(()),
    };
    if own.len() > rank {
        let message = format!("{} axes cannot broadcast to {rank}", own.len());
        return Err(RuleError::shapes(&[port, out], message));
    }
    let (mut own, mut result) = (own, result);
    for from_end in 1..=own.len() {
        let (mine, its) = (own.len() - from_end, rank - from_end);
        let stretched = match &other_shape {
            // If the other operand has extent 1 or no axis, this operand has the extent of the result.
            Some(other_shape) => {
                other_shape.len() < from_end
                    || cx.const_dim(other_shape[other_shape.len() - from_end]) == Some(1)
            }
            None => false,
        };
        if stretched || cx.const_dim(result[its]) == Some(1) {
            own[mine] = result[its];
        } else if cx.const_dim(own[mine]).is_some_and(|extent| extent != 1) {
            result[its] = own[mine];
        }
    }
    cx.set_shape(port, &own)?;
    cx.set_shape(out, &result)
}

/// The reduced axes.
enum Axes {
    All,
    /// These axes. Without an axis, the operator returns its input.
    These(Vec<i64>),
    /// This number of unknown axes.
    Some(usize),
    Unknown,
}

/// The reduced axes of a node, from its second input or else from an attribute.
fn axes(cx: &mut RuleCx<'_, '_>, second: Port) -> Result<Axes, RuleError> {
    let given = if cx.has(second) {
        match cx.const_ints(second) {
            Some(axes) => axes,
            None => {
                return Ok(cx
                    .vector_len(second)
                    .filter(|count| *count > 0)
                    .map_or(Axes::Unknown, Axes::Some));
            }
        }
    } else {
        cx.attr_ints("axes")?.unwrap_or_default()
    };
    let is_all = given.is_empty() && !cx.attr_flag("noop_with_empty_axes")?;
    Ok(if is_all { Axes::All } else { Axes::These(given) })
}

/// Relates the output to the input without the reduced axes, or with extent 1 there.
pub(super) fn reduce(cx: &mut RuleCx<'_, '_>, input: Port, output: Port) -> Result<(), RuleError> {
    const SECOND: Port = Port::In(1);
    set_scalar_shape(cx, input)?;
    set_scalar_shape(cx, output)?;
    let keep = cx.attr_int("keepdims")?.unwrap_or(1) != 0;
    let axes = if input == SECOND { Axes::Unknown } else { axes(cx, SECOND)? };
    if cx.shape(input).is_none() && !cx.is_conditional() {
        input_rank(cx, input, output, keep, &axes)?;
    }
    let Some(mut from) = cx.shape(input) else { return Ok(()) };
    let Some(reduced) = reduced(cx, &axes, from.len(), SECOND)? else {
        let rank = match axes {
            _ if keep => Some(from.len()),
            Axes::Some(count) => from.len().checked_sub(count),
            Axes::All | Axes::These(_) | Axes::Unknown => None,
        };
        return rank.map_or(Ok(()), |rank| cx.set_rank(output, rank));
    };
    let one = cx.dims().constant(1);
    let to: DimVec = match keep {
        true => from.iter().zip(&reduced).map(|(dim, reduced)| if *reduced { one } else { *dim }).collect(),
        false => from.iter().zip(&reduced).filter(|(_, reduced)| !**reduced).map(|(dim, _)| *dim).collect(),
    };
    cx.set_shape(output, &to)?;
    let Some(to) = cx.shape(output).filter(|_| !cx.is_conditional()) else { return Ok(()) };
    let mut kept = to.iter();
    for (dim, reduced) in from.iter_mut().zip(&reduced) {
        let same = if keep || !*reduced { kept.next() } else { None };
        if let (false, Some(same)) = (*reduced, same) {
            *dim = *same;
        }
    }
    cx.set_shape(input, &from)
}

/// For each axis of the input, whether it is reduced.
fn reduced(
    cx: &RuleCx<'_, '_>,
    axes: &Axes,
    rank: usize,
    second: Port,
) -> Result<Option<Vec<bool>>, RuleError> {
    match axes {
        Axes::All => Ok(Some(vec![true; rank])),
        Axes::Some(_) | Axes::Unknown => Ok(None),
        Axes::These(axes) => {
            let mut reduced = vec![false; rank];
            for axis in axes {
                let at = cx.axis("axes", *axis, rank).map_err(|failure| match failure {
                    RuleError::Attribute { message, .. } if cx.has(second) => {
                        RuleError::value(second, message)
                    }
                    failure => failure,
                })?;
                reduced[at] = true;
            }
            Ok(Some(reduced))
        }
    }
}

/// Sets the rank of an input of unknown shape, if the output determines it.
fn input_rank(
    cx: &mut RuleCx<'_, '_>,
    input: Port,
    output: Port,
    keep: bool,
    axes: &Axes,
) -> Result<(), RuleError> {
    let Some(rank) = cx.rank(output) else { return Ok(()) };
    let rank = match axes {
        _ if keep => rank,
        Axes::Some(count) => rank + count,
        // Without a rank, `-1` and `1` may be one axis or two.
        Axes::These(axes) if axes.len() < 2 => rank + axes.len(),
        Axes::These(_) | Axes::All | Axes::Unknown => return Ok(()),
    };
    cx.set_rank(input, rank)
}

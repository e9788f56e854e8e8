//! What several families need.

use typeloom_solver::dim::DimId;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::{Extent, Failure, Port, RuleCx};

/// Where each element of a broadcast result comes from: the result's extents, and for every element
/// the position in each operand. `None` where the shapes do not broadcast or the result is too large to follow.
pub(super) fn broadcast_positions(shapes: &[&[usize]]) -> Option<(Box<[usize]>, Vec<[usize; 3]>)> {
    const MOST: usize = 4096;
    let rank = shapes.iter().map(|shape| shape.len()).max()?;
    let mut extents = vec![1_usize; rank];
    for shape in shapes {
        let missing = rank - shape.len();
        for (axis, extent) in shape.iter().enumerate() {
            let wide = &mut extents[missing + axis];
            match (*wide, *extent) {
                (a, b) if a == b => {}
                (1, b) => *wide = b,
                (_, 1) => {}
                _ => return None,
            }
        }
    }
    let count = extents
        .iter()
        .try_fold(1_usize, |count, extent| count.checked_mul(*extent))
        .filter(|count| *count <= MOST)?;
    let position = |element: usize| {
        let mut at = [0; 3];
        for (at, shape) in at.iter_mut().zip(shapes) {
            let (mut rest, mut stride) = (element, 1);
            let missing = rank - shape.len();
            for axis in (0..rank).rev() {
                let index = rest % extents[axis].max(1);
                rest /= extents[axis].max(1);
                if axis >= missing {
                    let extent = shape[axis - missing];
                    *at += if extent == 1 { 0 } else { index * stride };
                    stride *= extent;
                }
            }
        }
        at
    };
    let positions = (0..count).map(position).collect();
    Some((extents.into(), positions))
}

/// The element type that an attribute names by its `TensorProto.DataType` number; 0 and absence name none.
pub(super) fn dtype_attr(cx: &RuleCx<'_, '_>, name: &'static str) -> Result<Option<Elem>, Failure> {
    match cx.attr_int(name)? {
        None | Some(0) => Ok(None),
        Some(number) => match i32::try_from(number).ok().and_then(Elem::from_onnx) {
            Some(elem) => Ok(Some(elem)),
            None => Err(Failure::attribute(name, format!("is {number}, which is no element type"))),
        },
    }
}

/// An extent that several axes share: the first one to be known brings it, the others must agree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shared(Option<Extent>);

impl Shared {
    /// Another axis, or a computed extent, that is the same. `relation` is as for [`RuleCx::require_equal`].
    pub(super) fn meet(
        &mut self,
        cx: &mut RuleCx<'_, '_>,
        extent: impl Into<Extent>,
        relation: &'static str,
    ) -> Result<(), Failure> {
        let extent = extent.into();
        self.0 = Some(match self.0 {
            None => extent,
            Some(first) => Extent { dim: cx.require_equal(first, extent, relation)?, ..first },
        });
        Ok(())
    }

    /// The extent, if an axis brought it.
    pub(super) fn get(self) -> Option<DimId> {
        self.0.map(|extent| extent.dim)
    }

    /// The extent, for an axis of an output: what is known there, or an unknown, where no axis brought it.
    pub(super) fn at(self, cx: &mut RuleCx<'_, '_>, output: Port, axis: usize) -> DimId {
        self.get().unwrap_or_else(|| known_or_fresh(cx, output, axis))
    }
}

/// The first of several failures, kept until the outputs are shaped: a node whose inputs contradict each
/// other in one place says as much about its outputs as any other.
#[derive(Debug, Default)]
pub(super) struct Deferred(Option<Failure>);

impl Deferred {
    /// Keeps a failure, and gives what there is without it.
    pub(super) fn note<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(failure) => {
                self.0.get_or_insert(failure);
                None
            }
        }
    }

    /// The failure, if there was one.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.0.map_or(Ok(()), Err)
    }
}

/// What is known of an axis of an output, or an unknown: a rule that runs again stays with the unknown
/// of its earlier run.
pub(super) fn known_or_fresh(cx: &mut RuleCx<'_, '_>, output: Port, axis: usize) -> DimId {
    match cx.shape(output).and_then(|shape| shape.get(axis).copied()) {
        Some(known) => known,
        None => cx.fresh(),
    }
}

/// Needs the tensor at a port, where its shape is known, to be a single number.
pub(super) fn require_single(cx: &mut RuleCx<'_, '_>, port: Port) -> Result<(), Failure> {
    let Some(shape) = cx.shape(port) else { return Ok(()) };
    let single = shape.len() <= 1 && shape.iter().all(|dim| cx.const_dim(*dim).is_none_or(|extent| extent == 1));
    if single { Ok(()) } else { Err(Failure::shapes(&[port], "must be a single number")) }
}

/// A string attribute that must be one of a few words.
pub(super) fn one_of<'a>(
    cx: &RuleCx<'_, 'a>,
    name: &'static str,
    words: &[&str],
) -> Result<Option<&'a str>, Failure> {
    match cx.attr_str(name)? {
        Some(word) if !words.contains(&word) => {
            Err(Failure::attribute(name, format!("is `{word}`, but must be one of {}", words.join(", "))))
        }
        known => Ok(known),
    }
}

/// Whether an element type has no negative numbers.
pub(super) fn is_unsigned(elem: Elem) -> bool {
    [Elem::UINT8, Elem::UINT16, Elem::UINT32, Elem::UINT64, Elem::UINT4, Elem::UINT2].contains(&elem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_and_a_column_broadcast_to_a_table() {
        let (shape, positions) = broadcast_positions(&[&[2, 1], &[3]]).unwrap();
        assert_eq!(*shape, [2, 3]);
        let pairs: Vec<_> = positions.iter().map(|at| (at[0], at[1])).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn shapes_that_do_not_broadcast_have_no_positions() {
        assert_eq!(broadcast_positions(&[&[2], &[3]]), None);
        assert_eq!(broadcast_positions(&[&[0], &[1]]).unwrap().1.len(), 0);
    }
}

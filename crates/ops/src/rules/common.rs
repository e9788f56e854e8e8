//! What several families need.

use typeloom_solver::elem::Elem;
use typeloom_solver::rule::{Failure, RuleCx};

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

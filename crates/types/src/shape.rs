//! Arithmetic on axes and known extents.
//!
//! The rules of the solver and the kernels share these functions, so inferred and computed shapes agree.

/// The position of an axis or index among `count`; a negative one counts from the end. `None` if it is out of
/// range.
#[must_use]
pub fn position(index: i64, count: usize) -> Option<usize> {
    let signed = i64::try_from(count).ok()?;
    let at = if index < 0 { index.checked_add(signed)? } else { index };
    usize::try_from(at).ok().filter(|at| *at < count)
}

/// The shape to which `shapes` broadcast (NumPy's rules); `None` if they do not.
#[must_use]
pub fn broadcast(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    broadcast_partly(shapes, 1, None).ok()
}

/// Two extents of one axis that do not broadcast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mismatch<T> {
    /// The axis, counted from the last one.
    pub(crate) from_end: usize,
    /// The shapes and their extents.
    pub(crate) operands: [(usize, T); 2],
}

/// The shape to which shapes with `unknown` extents broadcast; `one` is the extent that adapts to any other.
///
/// A known extent other than 1 determines the result; an unknown extent may be 1 or equal to it.
pub(crate) fn broadcast_partly<T: Copy + PartialEq>(
    shapes: &[&[T]],
    one: T,
    unknown: Option<T>,
) -> Result<Vec<T>, Mismatch<T>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut out = vec![one; rank];
    for (axis, wide) in out.iter_mut().enumerate() {
        let mut source = 0;
        for (operand, shape) in shapes.iter().enumerate() {
            let Some(at) = (axis + shape.len()).checked_sub(rank) else { continue };
            let extent = shape[at];
            if extent == one || extent == *wide {
                continue;
            }
            if *wide == one || Some(*wide) == unknown {
                (*wide, source) = (extent, operand);
            } else if Some(extent) != unknown {
                let operands = [(source, *wide), (operand, extent)];
                return Err(Mismatch { from_end: rank - 1 - axis, operands });
            }
        }
    }
    Ok(out)
}

/// Row-major strides of a shape, in elements. Those of a shape without elements are not used, and saturate.
#[must_use]
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1_usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

/// Strides that read a tensor of `shape` as if it had the shape `out` to which it broadcasts.
#[must_use]
pub fn broadcast_strides(shape: &[usize], out: &[usize]) -> Vec<usize> {
    let own = strides(shape);
    let offset = out.len() - shape.len();
    let stride = |at: usize| match at.checked_sub(offset) {
        Some(at) if shape[at] != 1 => own[at],
        Some(_) | None => 0,
    };
    (0..out.len()).map(stride).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_positions_count_from_the_end() {
        assert_eq!([0, 2, -1, -3].map(|index| position(index, 3)), [Some(0), Some(2), Some(2), Some(0)]);
        assert_eq!([3, -4, i64::MIN, i64::MAX].map(|index| position(index, 3)), [None; 4]);
        assert_eq!(position(0, 0), None);
    }

    #[test]
    fn shapes_broadcast_from_the_last_axis() {
        assert_eq!(broadcast(&[&[2, 1], &[3]]), Some(vec![2, 3]));
        assert_eq!(broadcast(&[&[0], &[1]]), Some(vec![0]));
        assert_eq!(broadcast(&[&[2], &[3]]), None);
        assert_eq!(broadcast(&[]), Some(vec![]));
    }
}

//! Arithmetic on axes and known extents.
//!
//! The rules of the solver and the kernels share these functions, so inferred and computed shapes agree.

/// The position of an axis or index among `count`; a negative one counts from the end. `None` if it is out of range.
#[must_use]
pub fn position(index: i64, count: usize) -> Option<usize> {
    let signed = i64::try_from(count).ok()?;
    let at = if index < 0 { index.checked_add(signed)? } else { index };
    usize::try_from(at).ok().filter(|at| *at < count)
}

/// The shape to which `shapes` broadcast (NumPy's rules); `None` if they do not.
#[must_use]
pub fn broadcast(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut out = vec![1; rank];
    for shape in shapes {
        for (wide, extent) in out[rank - shape.len()..].iter_mut().zip(*shape) {
            if *wide == 1 {
                *wide = *extent;
            } else if *extent != 1 && extent != wide {
                return None;
            }
        }
    }
    Some(out)
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

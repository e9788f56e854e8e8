//! Extents, in place where there are few: tensors are cloned by every operator, and most have four dims or fewer.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// How many extents are kept in place.
const FEW: usize = 4;

/// The extents of a tensor.
///
/// Cloning is a copy without a loop or a call, which is why this is no `SmallVec`.
#[derive(Clone)]
pub(super) enum Shape {
    /// At most four.
    Few { rank: u8, extents: [usize; FEW] },
    /// More.
    Many(Box<[usize]>),
}

impl Shape {
    /// No extents.
    pub(super) const SCALAR: Self = Self::Few { rank: 0, extents: [0; FEW] };
}

impl From<&[usize]> for Shape {
    fn from(shape: &[usize]) -> Self {
        let mut extents = [0; FEW];
        match (extents.get_mut(..shape.len()), u8::try_from(shape.len())) {
            (Some(own), Ok(rank)) => {
                own.copy_from_slice(shape);
                Self::Few { rank, extents }
            }
            (Some(_) | None, _) => Self::Many(shape.into()),
        }
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        match self {
            Self::Few { rank, extents } => &extents[..usize::from(*rank)],
            Self::Many(extents) => extents,
        }
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_its_extents_however_they_are_kept() {
        for rank in 0..8 {
            let extents: Vec<usize> = (1..=rank).collect();
            let shape = Shape::from(&extents[..]);
            assert_eq!(*shape, extents[..]);
            assert!(shape.clone() == shape);
            assert_eq!(matches!(shape, Shape::Few { .. }), rank <= FEW);
        }
        assert_eq!(*Shape::SCALAR, []);
        assert!(Shape::from(&[2, 3][..]) != Shape::from(&[2, 3, 1][..]));
        assert_eq!(size_of::<Shape>(), 40);
    }
}

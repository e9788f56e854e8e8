//! Extents of a tensor, stored inline up to rank 4: every operator clones tensors, and most have at most four
//! axes.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// Maximum rank of inline extents.
const MAX_INLINE: usize = 4;

/// The extents of a tensor.
///
/// Cloning inline extents is a plain copy without a loop or a call, unlike cloning a `SmallVec`.
#[derive(Clone)]
pub(super) enum Shape {
    /// At most [`MAX_INLINE`] extents.
    Inline { rank: u8, extents: [usize; MAX_INLINE] },
    /// More extents.
    Boxed(Box<[usize]>),
}

impl Shape {
    /// The shape of rank 0.
    pub(super) const SCALAR: Self = Self::Inline { rank: 0, extents: [0; MAX_INLINE] };
}

impl From<&[usize]> for Shape {
    fn from(shape: &[usize]) -> Self {
        let mut extents = [0; MAX_INLINE];
        match (extents.get_mut(..shape.len()), u8::try_from(shape.len())) {
            (Some(own), Ok(rank)) => {
                own.copy_from_slice(shape);
                Self::Inline { rank, extents }
            }
            (Some(_) | None, _) => Self::Boxed(shape.into()),
        }
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        match self {
            Self::Inline { rank, extents } => &extents[..usize::from(*rank)],
            Self::Boxed(extents) => extents,
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
    fn inline_and_boxed_shapes_have_the_same_extents() {
        for rank in 0..8 {
            let extents: Vec<usize> = (1..=rank).collect();
            let shape = Shape::from(&extents[..]);
            assert_eq!(*shape, extents[..]);
            assert!(shape.clone() == shape);
            assert_eq!(matches!(shape, Shape::Inline { .. }), rank <= MAX_INLINE);
        }
        assert_eq!(*Shape::SCALAR, []);
        assert!(Shape::from(&[2, 3][..]) != Shape::from(&[2, 3, 1][..]));
        assert_eq!(size_of::<Shape>(), 40);
    }
}

//! Shapes: interned lists of dims.
//!
//! **Invariant:** equal lists have equal ids. An unknown rank is `None` of an `Option<ShapeId>`, which has
//! the size of the id.

use std::fmt;
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use smallvec::SmallVec;

use crate::{DimId, Dims};

/// The dims of one shape.
pub type DimVec = SmallVec<[DimId; 6]>;

/// Identifies an interned shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShapeId(NonZeroU32);

impl ShapeId {
    /// The number of the id, never zero.
    #[inline]
    pub fn number(self) -> u32 {
        self.0.get()
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The arena of shapes.
#[derive(Clone, Default)]
pub struct Shapes {
    shapes: IndexSet<DimVec, RandomState>,
}

impl Shapes {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the id of a shape.
    pub fn intern(&mut self, dims: &[DimId]) -> ShapeId {
        let known = self.shapes.get_index_of(dims);
        let at = known.unwrap_or_else(|| self.shapes.insert_full(DimVec::from_slice(dims)).0);
        // Every shape except the empty one has a separate dim, so there are at most 2^32.
        let number = u32::try_from(at + 1).ok().and_then(NonZeroU32::new);
        ShapeId(number.expect("2^32 shapes do not fit into memory"))
    }

    /// Returns the dims of a shape.
    ///
    /// # Panics
    /// If the shape is from an arena with more shapes.
    #[must_use]
    #[inline]
    pub fn get(&self, shape: ShapeId) -> &[DimId] {
        &self.shapes[shape.index()]
    }

    /// All shapes, in the order of their creation.
    pub fn ids(&self) -> impl Iterator<Item = ShapeId> + use<> {
        let count = u32::try_from(self.shapes.len()).expect("an arena has fewer than 2^32 shapes");
        (1..=count).filter_map(NonZeroU32::new).map(ShapeId)
    }

    /// The number of distinct shapes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether the arena has no shapes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }
}

/// The extents of two shapes of one rank, axis by axis; `None` for different ranks.
pub fn paired(shapes: &Shapes, a: ShapeId, b: ShapeId) -> Option<SmallVec<[(DimId, DimId); 6]>> {
    let (a, b) = (shapes.get(a), shapes.get(b));
    (a.len() == b.len()).then(|| a.iter().copied().zip(b.iter().copied()).collect())
}

/// A list of dims as text: `[batch, 3, 224, 224]`.
#[must_use]
pub fn display<'a>(dims: &'a Dims, shape: &'a [DimId]) -> DisplayShape<'a> {
    DisplayShape { dims, shape }
}

/// See [`display`].
pub struct DisplayShape<'a> {
    dims: &'a Dims,
    shape: &'a [DimId],
}

impl fmt::Display for DisplayShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, &dim) in self.shape.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{}", self.dims.display(dim))?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::{ShapeId, Shapes, display};
    use crate::{DimId, Dims};

    #[test]
    fn an_unknown_rank_costs_nothing() {
        assert_eq!(size_of::<Option<ShapeId>>(), 4);
    }

    #[test]
    fn equal_lists_are_one_shape_and_different_lists_are_not() {
        let (mut dims, mut shapes) = (Dims::new(), Shapes::new());
        let all: Vec<DimId> = (0..40).map(|value| dims.constant(value)).collect();
        let mut first = Vec::new();
        for start in 0..all.len() {
            for end in start + 1..=all.len() {
                first.push(shapes.intern(&all[start..end]));
            }
        }
        let scalar = shapes.intern(&[]);
        let mut again = Vec::new();
        for start in 0..all.len() {
            for end in start + 1..=all.len() {
                let shape = shapes.intern(&all[start..end]);
                assert_eq!(shapes.get(shape), &all[start..end]);
                again.push(shape);
            }
        }
        assert_eq!(first, again);
        assert_eq!(shapes.intern(&[]), scalar);
        assert!(shapes.get(scalar).is_empty());
        assert_eq!(shapes.len(), first.len() + 1);
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), again.len());
    }

    #[test]
    fn a_shape_is_printed_as_a_list() {
        let mut dims = Dims::new();
        let shape = [dims.symbol("batch"), dims.constant(3), dims.fresh()];
        assert_eq!(display(&dims, &shape).to_string(), "[batch, 3, ?]");
        assert_eq!(display(&dims, &[]).to_string(), "[]");
    }
}

//! One-to-one relations between the parts of two scenes.

use crate::scene::{GroupId, NodeId, ValueId};

/// An id of a part of a scene.
pub trait Id: Copy + PartialEq {
    /// The id of a position.
    fn of(index: usize) -> Self;

    /// The position.
    fn at(self) -> usize;
}

macro_rules! ids {
    ($($id:ty),*) => {$(
        impl Id for $id {
            fn of(index: usize) -> Self {
                Self::new(index)
            }

            fn at(self) -> usize {
                self.index()
            }
        }
    )*};
}

ids!(NodeId, ValueId, GroupId);

/// A one-to-one relation between the parts of an old and a new scene.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pairs<I> {
    mates: [Vec<Option<I>>; 2],
}

impl<I: Id> Pairs<I> {
    /// The empty relation between scenes with these numbers of parts.
    pub(super) fn new(counts: [usize; 2]) -> Self {
        Self { mates: counts.map(|count| vec![None; count]) }
    }

    /// The part of the other scene that corresponds to a part of a side: 0 is old, 1 is new.
    pub(super) fn mate(&self, side: usize, id: I) -> Option<I> {
        self.mates[side][id.at()]
    }

    /// The new part for an old one.
    #[must_use]
    pub fn new_of(&self, old: I) -> Option<I> {
        self.mate(0, old)
    }

    /// The old part for a new one.
    #[must_use]
    pub fn old_of(&self, new: I) -> Option<I> {
        self.mate(1, new)
    }

    /// Whether two parts correspond.
    #[must_use]
    pub fn are(&self, old: I, new: I) -> bool {
        self.new_of(old) == Some(new)
    }

    /// The pairs, in the order of the old scene.
    pub fn iter(&self) -> impl Iterator<Item = (I, I)> + '_ {
        self.mates[0].iter().enumerate().filter_map(|(old, new)| Some((I::of(old), (*new)?)))
    }

    /// Adds a pair of free parts; returns whether both were free.
    pub(super) fn join(&mut self, old: I, new: I) -> bool {
        let is_free = self.new_of(old).is_none() && self.old_of(new).is_none();
        if is_free {
            self.mates[0][old.at()] = Some(new);
            self.mates[1][new.at()] = Some(old);
        }
        is_free
    }

    /// Removes the pair of an old part.
    pub(super) fn part(&mut self, old: I) {
        if let Some(new) = self.mates[0][old.at()].take() {
            self.mates[1][new.at()] = None;
        }
    }

    /// The relation from new to old.
    pub(super) fn swapped(self) -> Self {
        let [old, new] = self.mates;
        Self { mates: [new, old] }
    }
}

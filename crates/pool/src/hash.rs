//! Seeded hashes of types and names for the tables of a pool.
//!
//! The seed is random, so that crafted input cannot produce collisions; it affects no id and no written byte.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::pool::{Node, SPILLED};
use crate::tag::Tag;

/// Hash of a type: the 32 bits that the index keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeHash(u32);

impl TypeHash {
    #[inline]
    const fn of(hash: u64) -> Self {
        TypeHash((hash >> 32) as u32)
    }

    /// Returns the hash in both halves of a number: a table takes the slot from the low bits and a tag from
    /// the high ones.
    #[inline]
    pub(crate) const fn spread(self) -> u64 {
        (self.0 as u64) << 32 | self.0 as u64
    }
}

/// Hash function of one pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hasher {
    state: RandomState,
    /// Gives every hash the value 0.
    #[cfg(test)]
    pub(crate) collide: bool,
}

impl Hasher {
    #[inline]
    fn hash(&self, value: impl std::hash::Hash) -> u64 {
        #[cfg(test)]
        if self.collide {
            return 0;
        }
        self.state.hash_one(value)
    }

    /// Hash of a type with up to three words, padded with zeros.
    #[inline]
    pub(crate) fn short(&self, tag: Tag, len: u8, [a, b, c]: [u32; 3]) -> TypeHash {
        let kind = u32::from(tag.number()) << 8 | u32::from(len);
        TypeHash::of(self.hash((u64::from(a) << 32 | u64::from(b), u64::from(c) << 32 | u64::from(kind))))
    }

    /// Hash of a type with more than three words.
    #[inline]
    pub(crate) fn long(&self, tag: Tag, words: &[u32]) -> TypeHash {
        TypeHash::of(self.hash((tag.number(), words)))
    }

    /// Hash of a stored type.
    pub(crate) fn node(&self, node: &Node, extra: &[u32]) -> TypeHash {
        match node.len {
            SPILLED => self.long(node.tag, node.words_in(extra)),
            len => self.short(node.tag, len, node.words),
        }
    }

    /// Hash of a name.
    pub(crate) fn text(&self, text: &str) -> u64 {
        self.hash(text)
    }
}

//! Interning: returns the id of a type, after checking and adding it if the pool does not have it.
//!
//! A type is looked up by the hash of its tag and words. On a miss it is checked (see `check`) and appended.
//!
//! **Invariant:** a lookup compares tag and words; equal hashes never decide identity.

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::error::PoolError;
use crate::hash::TypeHash;
use crate::layout;
use crate::name::NameId;
use crate::pool::{GroupMember, GroupSpan, ID_LIMIT, Idx, Indexed, Node, Pool, SPILLED, inline_words, meta};
use crate::tag::Tag;

/// Words of a type that is being built.
type Words = SmallVec<[u32; 14]>;

/// Number of elements by which a full vector grows: small vectors double, large ones grow by half, so that at
/// most a third of their memory is unused.
fn growth(len: usize) -> usize {
    if len < 4096 { len.max(256) } else { len / 2 }
}

impl Pool {
    /// Interns words from any source; a new type is checked completely. Constants and schemes must be in
    /// normal form.
    #[inline]
    pub(crate) fn intern_words(&mut self, tag: Tag, words: &[u32]) -> Result<u32, PoolError> {
        match inline_words(words) {
            Some((len, words)) => self.intern_short(tag, len, words),
            None => self.intern_long(tag, words),
        }
    }

    /// [`Pool::intern_words`] for up to three words, followed by zeros.
    pub(crate) fn intern_short(&mut self, tag: Tag, len: u8, words: [u32; 3]) -> Result<u32, PoolError> {
        let hash = self.hasher.short(tag, len, words);
        if let Some(id) = self.find_short(hash, tag, len, words) {
            return Ok(id);
        }
        let own = &words[..usize::from(len)];
        let (free, meta) = self.check_new(tag, own)?;
        self.push(hash, Node { tag, len, free, words }, meta)
    }

    /// [`Pool::intern_words`] for more than three words.
    pub(crate) fn intern_long(&mut self, tag: Tag, words: &[u32]) -> Result<u32, PoolError> {
        let hash = self.hasher.long(tag, words);
        if let Some(id) = self.find_long(hash, tag, words) {
            return Ok(id);
        }
        let (free, meta) = self.check_new(tag, words)?;
        let words = self.spill(words)?;
        self.push(hash, Node { tag, len: SPILLED, free, words }, meta)
    }

    /// Interns a type whose words are `first`, if given, and then children.
    pub(crate) fn intern_children(
        &mut self,
        tag: Tag,
        first: Option<u32>,
        rest: &[Idx],
    ) -> Result<u32, PoolError> {
        let at = |at: usize| rest.get(at).map_or(0, |child| child.number());
        match (first, rest.len()) {
            (None, len @ 0..=3) => self.intern_short(tag, len as u8, [at(0), at(1), at(2)]),
            (Some(first), len @ 0..=2) => self.intern_short(tag, len as u8 + 1, [first, at(0), at(1)]),
            _ => {
                let words: Words = first.into_iter().chain(rest.iter().map(|child| child.number())).collect();
                self.intern_long(tag, &words)
            }
        }
    }

    /// Interns a struct with named fields.
    pub(crate) fn intern_struct(&mut self, name: NameId, fields: &[(NameId, Idx)]) -> Result<u32, PoolError> {
        let header = (fields.len() as u32) << 1 | u32::from(!fields.is_empty());
        let mut words = Words::from_slice(&[name.0, header]);
        words.extend(fields.iter().flat_map(|(name, ty)| [name.0, ty.number()]));
        self.intern_words(Tag::Struct, &words)
    }

    #[inline]
    fn find_short(&self, hash: TypeHash, tag: Tag, len: u8, words: [u32; 3]) -> Option<u32> {
        self.find(hash, |node| node.is(tag, len, words))
    }

    #[inline]
    fn find_long(&self, hash: TypeHash, tag: Tag, words: &[u32]) -> Option<u32> {
        self.find(hash, |node| node.is_long(&self.extra, tag, words))
    }

    #[inline(always)]
    fn find(&self, hash: TypeHash, same: impl Fn(&Node) -> bool) -> Option<u32> {
        let same = |entry: &Indexed| entry.hash == hash && same(&self.nodes[entry.id as usize]);
        self.index.find(hash.spread(), same).map(|entry| entry.id)
    }

    /// The id of a type that is in the pool already.
    pub(crate) fn lookup(&self, tag: Tag, words: &[u32]) -> Option<u32> {
        match inline_words(words) {
            Some((len, words)) => self.find_short(self.hasher.short(tag, len, words), tag, len, words),
            None => self.find_long(self.hasher.long(tag, words), tag, words),
        }
    }

    /// Checks a new type. Returns its number of free binders and its meta byte.
    fn check_new(&self, tag: Tag, words: &[u32]) -> Result<(u8, u8), PoolError> {
        // Fast paths for most types: closed children only, or a struct with distinct names.
        let plain = if layout::may_be_types(tag, words.len()) {
            self.are_closed_types(words)
        } else {
            tag == Tag::Struct && self.is_plain_struct(words)
        };
        if plain { Ok((0, 0)) } else { self.check_completely(tag, words) }
    }

    fn push(&mut self, hash: TypeHash, node: Node, meta: u8) -> Result<u32, PoolError> {
        let id = self.nodes.len() as u32;
        if id >= ID_LIMIT {
            return Err(PoolError::Full);
        }
        if self.nodes.len() == self.nodes.capacity() {
            self.reserve(growth(self.nodes.len()));
        }
        self.nodes.push(node);
        self.meta.push(meta);
        self.index.insert_unique(hash.spread(), Indexed { hash, id }, |entry| entry.hash.spread());
        Ok(id)
    }

    /// Reserves space for this many more types.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.nodes.reserve_exact(more);
        self.meta.reserve_exact(self.nodes.capacity() - self.meta.len());
        self.index.reserve(more, |entry| entry.hash.spread());
    }

    /// Appends words to the shared array. Returns the inline words that refer to them.
    fn spill(&mut self, words: &[u32]) -> Result<[u32; 3], PoolError> {
        let start = u32::try_from(self.extra.len()).map_err(|_| PoolError::Full)?;
        let count = u32::try_from(words.len()).map_err(|_| PoolError::Full)?;
        if self.extra.capacity() - self.extra.len() < words.len() {
            self.extra.reserve_exact(growth(self.extra.len()).max(words.len()));
        }
        self.extra.extend_from_slice(words);
        Ok([start, count, 0])
    }

    /// Adds the members of a group that is known to be minimal and new. Children that are members are given
    /// as ids from `self.nodes.len()` on.
    pub(crate) fn push_group(&mut self, hash: u64, members: &[GroupMember]) -> Result<u32, PoolError> {
        let base = self.nodes.len() as u32;
        for member in members {
            let GroupMember { tag, words, free, meta } = member;
            let (hash, len, words) = match inline_words(words) {
                Some((len, words)) => (self.hasher.short(*tag, len, words), len, words),
                None => (self.hasher.long(*tag, words), SPILLED, self.spill(words)?),
            };
            self.push(hash, Node { tag: *tag, len, free: *free, words }, meta | meta::RECURSIVE)?;
        }
        let Pool { groups, group_index, .. } = self;
        group_index.insert_unique(hash, groups.len() as u32, |&group| groups[group as usize].hash);
        groups.push(GroupSpan { base, len: members.len() as u32, hash });
        Ok(base)
    }
}

/// Removes the ids `from..to` from an index, given their hashes.
pub(crate) fn remove_ids(index: &mut HashTable<u32>, from: usize, to: usize, hash_of: impl Fn(u32) -> u64) {
    for id in from as u32..to as u32 {
        if let Ok(entry) = index.find_entry(hash_of(id), |&own| own == id) {
            entry.remove();
        }
    }
}

#[cfg(test)]
#[path = "../tests/support.rs"]
#[allow(dead_code, reason = "the integration tests use all of it")]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{copy_shuffled, random_node, random_types};
    use super::*;
    use typeloom_testing::Random;

    fn colliding_pool() -> Pool {
        let mut pool = Pool::new();
        pool.hasher.collide = true;
        pool
    }

    #[test]
    fn types_with_equal_hashes_stay_different() {
        for seed in 0..6 {
            let (mut colliding, mut ordinary) = (colliding_pool(), Pool::new());
            let left = random_types(&mut Random(seed), &mut colliding, 120);
            let right = random_types(&mut Random(seed), &mut ordinary, 120);
            // Ids are assigned in order, so they do not depend on hashes.
            assert_eq!(left, right);
            assert_eq!(colliding.len(), ordinary.len());
            for (&a, &b) in left.iter().zip(&right) {
                assert_eq!(colliding.get(a), ordinary.get(b));
                assert_eq!(colliding.digest(a), ordinary.digest(b));
            }
        }
    }

    #[test]
    fn recursive_types_with_equal_hashes_have_the_same_digests() {
        let mut rng = Random(77);
        for _ in 0..50 {
            let nodes = 1 + rng.below(8) as u32;
            let graph: Vec<_> = (0..nodes).map(|_| random_node(&mut rng, &[], nodes)).collect();
            let (mut pool, mut colliding) = (Pool::new(), colliding_pool());
            for id in pool.intern_graph(&graph).expect("a graph") {
                let copy = copy_shuffled(&mut rng, &pool, id, &mut colliding);
                assert_eq!(pool.digest(id), colliding.digest(copy), "{}", pool.signature(id));
            }
        }
    }

    #[test]
    fn a_rollback_removes_exactly_the_types_added_since_the_checkpoint() {
        for mut pool in [Pool::new(), colliding_pool()] {
            let kept = random_types(&mut Random(1), &mut pool, 80);
            let described: Vec<_> = kept.iter().map(|&ty| pool.get(ty)).collect();
            let (checkpoint, len) = (pool.checkpoint(), pool.len());
            let added = random_types(&mut Random(2), &mut pool, 300);
            assert!(pool.len() > len && pool.len() > added.len() / 2);
            pool.rollback(checkpoint);
            assert_eq!(pool.len(), len);
            for (descriptor, &ty) in described.iter().zip(&kept) {
                assert_eq!(pool.intern(descriptor), Ok(ty));
            }
            assert_eq!(pool.len(), len);
            random_types(&mut Random(2), &mut pool, 300);
            assert!(pool.len() > len);
        }
    }
}

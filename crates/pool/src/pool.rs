//! The pool: types with dense ids, each stored once.
//!
//! Hash-consing: a type is a tag and words (see `layout`); interning (see `intern`) looks the words up and
//! compares them structurally, so equal hashes never decide identity. A node of up to three words is stored
//! inline in 16 bytes; longer ones are stored in one shared array.
//!
//! **Invariant:** ids are dense from 1, and children are older than parents except inside a recursive group,
//! whose members have consecutive ids.
//!
//! **Invariant:** two ids are equal exactly if their types are equal as (possibly infinite) trees.
//! Hash-consing ensures that for ordinary nodes. Groups are minimized before they are added (see `graph`),
//! and the index contains their members, so that interning an unfolding of a recursive type finds the group.
//!
//! **Invariant:** every type in the pool is well formed: sorts, scopes, names and normal forms are checked
//! when it is added. Types are removed only by the rollback of a failed import or graph.
//!
//! Types under inference are terms, not pool types.
//!
//! Example of [`Pool`]:
//!
//! ```
//! use typeloom_pool::{Pool, Tag};
//! let mut pool = Pool::new();
//! let int = pool.primitive(Tag::Int)?;
//! let list = pool.list(int)?;
//! assert_eq!(pool.list(int)?, list);
//! assert_eq!(pool.signature(list), "list<int>");
//! # Ok::<(), typeloom_pool::PoolError>(())
//! ```

use std::num::NonZeroU32;
use std::ops::Range;

use hashbrown::HashTable;

use crate::check::sort_of;
use crate::error::PoolError;
use crate::hash::{Hasher, TypeHash};
use crate::hashing::Digests;
use crate::intern::remove_ids;
use crate::layout;
use crate::name::{NameError, NameId, Names, check_name};
use crate::tag::{Sort, Tag};

/// Id of a type in one pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Idx(NonZeroU32);

impl std::fmt::Debug for Idx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl Idx {
    /// Returns the id as a number; ids of a pool are dense from 1.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.get()
    }

    #[inline]
    pub(crate) const fn at(self) -> usize {
        self.0.get() as usize
    }

    #[inline]
    pub(crate) fn from_raw(raw: u32) -> Idx {
        Idx(NonZeroU32::new(raw).expect("ids inside a pool start at 1"))
    }
}

/// Maximum number of binders around one variable.
pub const MAX_BINDERS: u32 = 200;

/// Upper bound of ids: graphs mark references to their own nodes in the top bit.
pub(crate) const ID_LIMIT: u32 = 1 << 31;

/// Length of a node whose words are in the shared array.
pub(crate) const SPILLED: u8 = 0xff;

/// Length of the entry at index 0, which equals no type.
const NO_LEN: u8 = 0xfe;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Node {
    pub(crate) words: [u32; 3],
    /// Stored next to the length, so that one comparison covers both.
    pub(crate) tag: Tag,
    /// Number of words if they are inline, otherwise `SPILLED`; `words` then contains the start and number of
    /// the spilled words.
    pub(crate) len: u8,
    /// Number of outer binders that the type's free variables reach; 0 if it is closed.
    pub(crate) free: u8,
}

impl Node {
    /// Whether this is the type with these inline words, padded with zeros.
    #[inline(always)]
    pub(crate) fn is(&self, tag: Tag, len: u8, words: [u32; 3]) -> bool {
        // Without short-circuiting, so that there is one branch for all comparisons.
        (self.tag == tag) & (self.len == len) & (self.words == words)
    }

    /// Whether this is the type with these words, which are more than three.
    #[inline]
    pub(crate) fn is_long(&self, extra: &[u32], tag: Tag, words: &[u32]) -> bool {
        self.tag == tag && self.len == SPILLED && spilled(extra, self.words) == words
    }

    /// Returns the node's words.
    #[inline(always)]
    pub(crate) fn words_in<'p>(&'p self, extra: &'p [u32]) -> &'p [u32] {
        if self.len == SPILLED { spilled(extra, self.words) } else { &self.words[..usize::from(self.len)] }
    }
}

/// Properties of a type that checks of its parents need, in one byte, so that they stay in the cache.
pub(crate) mod meta {
    pub(crate) const SORT: u8 = 0b11;
    pub(crate) const INFER: u8 = 0b100;
    pub(crate) const OPEN: u8 = 0b1000;
    pub(crate) const RECURSIVE: u8 = 0b1_0000;
    /// The entry at index 0, which belongs to no type: it fails every check.
    pub(crate) const NO_TYPE: u8 = u8::MAX;
    /// Properties that a parent inherits from its children.
    pub(crate) const INHERITED: u8 = INFER | OPEN;
}

/// Entry of the index of types.
///
/// The index grows by the hashes in its entries; hashing the types again would read them in random order.
/// A lookup compares hashes first, so that it reads no other type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    pub(crate) hash: TypeHash,
    pub(crate) id: u32,
}

/// A recursive group: members `base .. base + len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupSpan {
    pub(crate) base: u32,
    pub(crate) len: u32,
    pub(crate) hash: u64,
}

impl GroupSpan {
    /// Returns the ids of the members.
    pub(crate) fn members(self) -> Range<u32> {
        self.base..self.base + self.len
    }
}

/// Interned types.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(crate) nodes: Vec<Node>,
    pub(crate) meta: Vec<u8>,
    pub(crate) extra: Vec<u32>,
    pub(crate) index: HashTable<Indexed>,
    pub(crate) names: Names,
    pub(crate) groups: Vec<GroupSpan>,
    pub(crate) group_index: HashTable<u32>,
    pub(crate) digests: Digests,
    pub(crate) hasher: Hasher,
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

/// Sizes of the pool's tables before an operation, to roll it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    nodes: usize,
    extra: usize,
    groups: usize,
    names: usize,
}

impl Pool {
    /// Creates an empty pool.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Creates an empty pool with capacity for this many types.
    #[must_use]
    pub fn with_capacity(types: usize) -> Self {
        let mut nodes = Vec::with_capacity(types + 1);
        nodes.push(Node { tag: Tag::Never, len: NO_LEN, free: 0, words: [0; 3] });
        let mut meta = Vec::with_capacity(types + 1);
        meta.push(meta::NO_TYPE);
        Pool {
            nodes,
            meta,
            extra: Vec::new(),
            index: HashTable::with_capacity(types),
            names: Names::new(),
            groups: Vec::new(),
            group_index: HashTable::new(),
            digests: Digests::default(),
            hasher: Hasher::default(),
        }
    }

    /// Number of types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Whether the pool is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all ids in ascending order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Idx> + '_ {
        (1..self.nodes.len() as u32).map(Idx::from_raw)
    }

    /// Number of bytes allocated for types, names and tables, without digests.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.meta.capacity()
            + self.extra.capacity() * size_of::<u32>()
            + self.index.allocation_size()
            + self.names.bytes()
            + self.groups.capacity() * size_of::<GroupSpan>()
            + self.group_index.allocation_size()
    }

    /// Interns a name.
    ///
    /// # Errors
    /// If the string is not a valid name.
    pub fn name(&mut self, name: &str) -> Result<NameId, PoolError> {
        if let Some(id) = self.names.find(&self.hasher, name) {
            return Ok(NameId(id));
        }
        check_name(name)?;
        Ok(NameId(self.names.intern(&self.hasher, name)?))
    }

    /// Returns the id of a name, if the pool contains it.
    #[must_use]
    pub fn find_name(&self, name: &str) -> Option<NameId> {
        self.names.find(&self.hasher, name).map(NameId)
    }

    pub(crate) fn intern_checked_name(&mut self, name: &str) -> Result<u32, NameError> {
        self.names.intern(&self.hasher, name)
    }

    /// Returns the string of a name.
    #[must_use]
    pub fn name_text(&self, name: NameId) -> &str {
        self.names.get(name.0)
    }

    /// Returns the tag of a type, or `None` if the id is not of this pool.
    #[must_use]
    pub fn try_tag(&self, ty: Idx) -> Option<Tag> {
        self.nodes.get(ty.at()).map(|node| node.tag)
    }

    /// Returns the tag of a type.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn tag(&self, ty: Idx) -> Tag {
        self.try_tag(ty).unwrap_or_else(|| foreign(ty))
    }

    /// Returns the sort: type, lifetime or constant.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn sort(&self, ty: Idx) -> Sort {
        sort_of(self.meta_of(ty))
    }

    /// Whether the type contains variables of binders outside of it.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn is_open(&self, ty: Idx) -> bool {
        self.meta_of(ty) & meta::OPEN != 0
    }

    /// Whether the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn has_inference_variables(&self, ty: Idx) -> bool {
        self.meta_of(ty) & meta::INFER != 0
    }

    /// Whether the type is a member of a recursive group.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn is_recursive(&self, ty: Idx) -> bool {
        self.meta_of(ty) & meta::RECURSIVE != 0
    }

    #[inline]
    #[track_caller]
    fn meta_of(&self, ty: Idx) -> u8 {
        self.meta.get(ty.at()).copied().unwrap_or_else(|| foreign(ty))
    }

    #[inline]
    pub(crate) fn words(&self, ty: u32) -> &[u32] {
        self.nodes[ty as usize].words_in(&self.extra)
    }

    /// Returns the direct children of a type, in order.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn children(&self, ty: Idx) -> Vec<Idx> {
        let mut children = Vec::new();
        layout::for_each_child(self.tag(ty), self.words(ty.number()), |child| {
            children.push(Idx::from_raw(child));
        });
        children
    }

    pub(crate) fn contains(&self, ty: Idx) -> bool {
        ty.at() < self.nodes.len()
    }

    /// Returns the number of a type, which must be in the pool.
    pub(crate) fn known(&self, ty: Idx) -> Result<u32, PoolError> {
        if self.contains(ty) { Ok(ty.number()) } else { Err(PoolError::UnknownType(ty)) }
    }

    /// Returns the group of a recursive type.
    pub(crate) fn group_of(&self, ty: u32) -> Option<usize> {
        if self.meta[ty as usize] & meta::RECURSIVE == 0 {
            return None;
        }
        self.groups.partition_point(|group| group.base <= ty).checked_sub(1)
    }

    /// Returns the ids of the members of the type's group; the type alone if it has none.
    pub(crate) fn members_of(&self, ty: u32) -> Range<u32> {
        self.group_of(ty).map_or(ty..ty + 1, |group| self.groups[group].members())
    }

    /// Returns the first member of a group with this hash and number of members for which `same(base, i)`
    /// holds for each `i`.
    pub(crate) fn find_group(
        &self,
        hash: u64,
        count: usize,
        same: impl Fn(u32, usize) -> bool,
    ) -> Option<u32> {
        let found = self.group_index.find(hash, |&group| {
            let span = self.groups[group as usize];
            span.len as usize == count && (0..count).all(|at| same(span.base, at))
        });
        found.map(|&group| self.groups[group as usize].base)
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.len(),
            extra: self.extra.len(),
            groups: self.groups.len(),
            names: self.names.len(),
        }
    }

    /// Performs an operation that adds everything or, on an error, nothing.
    pub(crate) fn transaction<T, E>(
        &mut self,
        operation: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let checkpoint = self.checkpoint();
        let result = operation(self);
        if result.is_err() {
            self.rollback(checkpoint);
        }
        result
    }

    /// Removes everything added since the checkpoint.
    pub(crate) fn rollback(&mut self, to: Checkpoint) {
        for id in to.nodes..self.nodes.len() {
            let hash = self.hasher.node(&self.nodes[id], &self.extra);
            if let Ok(entry) = self.index.find_entry(hash.spread(), |own| own.id as usize == id) {
                entry.remove();
            }
        }
        let Pool { groups, group_index, .. } = self;
        remove_ids(group_index, to.groups, groups.len(), |group| groups[group as usize].hash);
        self.names.truncate(&self.hasher, to.names);
        self.nodes.truncate(to.nodes);
        self.meta.truncate(to.nodes);
        self.extra.truncate(to.extra);
        self.groups.truncate(to.groups);
        self.digests.truncate(to.nodes, to.groups);
    }
}

/// The documented panic for an id that is not of this pool.
#[cold]
#[track_caller]
fn foreign(ty: Idx) -> ! {
    panic!("type {ty:?} is not in this pool")
}

#[inline]
fn spilled(extra: &[u32], [start, count, _]: [u32; 3]) -> &[u32] {
    &extra[start as usize..start as usize + count as usize]
}

/// Returns up to three words followed by zeros, and their number.
pub(crate) fn inline_words(words: &[u32]) -> Option<(u8, [u32; 3])> {
    let mut inline = [0; 3];
    inline.get_mut(..words.len())?.copy_from_slice(words);
    Some((words.len() as u8, inline))
}

/// A member of a group to be added.
#[derive(Clone, Debug)]
pub(crate) struct GroupMember {
    pub(crate) tag: Tag,
    pub(crate) words: Vec<u32>,
    pub(crate) free: u8,
    pub(crate) meta: u8,
}

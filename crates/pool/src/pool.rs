//! The pool: types with dense ids, each stored once.
//!
//! Hash-consing: a type is a tag and words (see `layout`); interning (see `intern`) looks the words up and compares them
//! structurally, so a hash value is never taken for identity. A node of up to three words is
//! stored inline in 16 bytes; longer ones spill into one shared array.
//!
//! **Invariant:** ids are dense from 1 and children are older than parents, except inside a recursive group, whose
//! members have consecutive ids.
//! **Invariant:** two ids are equal exactly if their types are equal as (possibly infinite) trees. For ordinary nodes
//! this is hash-consing; groups are minimised before they are added (see `graph`), and their members are in the same
//! table, so that unfolding a recursive type finds it again.
//! **Invariant:** a type that is in the pool is well formed: sorts, scopes, names and normal forms were checked when it
//! was added. Nothing is ever removed, except by the rollback of a failed import or graph.
//!
//! Not for: types that are still being inferred over and over; those are terms.

use std::num::NonZeroU32;

use hashbrown::HashTable;

use crate::check::sort_of;
use crate::error::TypeError;
use crate::hash::Hasher;
use crate::hashing::Digests;
use crate::intern::remove_ids;
use crate::layout;
use crate::name::{Name, NameError, Names, check_name};
use crate::tag::{Sort, Tag};

/// A type's id in one pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Idx(NonZeroU32);

impl std::fmt::Debug for Idx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl Idx {
    /// The id as a number; ids of a pool are dense from 1.
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

/// The most binders there may be around one variable.
pub const MAX_BINDERS: u32 = 200;

/// Ids stay below this, so that graphs can mark their own references in the top bit.
pub(crate) const ID_LIMIT: u32 = 1 << 31;

pub(crate) const SPILLED: u8 = 0xff;

/// The length of the entry at 0, which is no type, so that it equals none.
const NO_LEN: u8 = 0xfe;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Node {
    pub(crate) words: [u32; 3],
    /// Beside the length, so that both are compared at once.
    pub(crate) tag: Tag,
    /// The number of words if they are inline, else `SPILLED`; then the words are where they start and how many.
    pub(crate) len: u8,
    /// How many enclosing binders the type's free variables reach, 0 if it is closed.
    pub(crate) free: u8,
}

impl Node {
    /// Whether it is the type of these words, which are followed by zeros.
    #[inline(always)]
    pub(crate) fn is(&self, tag: Tag, len: u8, words: [u32; 3]) -> bool {
        // Without short-circuiting, so that there is one branch for all comparisons.
        (self.tag == tag) & (self.len == len) & (self.words == words)
    }

    /// Whether it is the type of these words, more than three.
    #[inline]
    pub(crate) fn is_long(&self, extra: &[u32], tag: Tag, words: &[u32]) -> bool {
        self.tag == tag && self.len == SPILLED && spilled(extra, self.words) == words
    }

    /// Its words.
    #[inline(always)]
    pub(crate) fn words_in<'p>(&'p self, extra: &'p [u32]) -> &'p [u32] {
        if self.len == SPILLED { spilled(extra, self.words) } else { &self.words[..usize::from(self.len)] }
    }
}

/// What checking a parent needs to know of a child, in one byte, so that it stays in the cache.
pub(crate) mod meta {
    pub(crate) const SORT: u8 = 0b11;
    pub(crate) const INFER: u8 = 0b100;
    pub(crate) const OPEN: u8 = 0b1000;
    pub(crate) const RECURSIVE: u8 = 0b1_0000;
    /// The entry at 0, which belongs to no type: nothing that a check looks for is absent.
    pub(crate) const NO_TYPE: u8 = u8::MAX;
    /// What a parent inherits from its children.
    pub(crate) const INHERITED: u8 = INFER | OPEN;
}

/// A recursive group: members `base .. base + len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupSpan {
    pub(crate) base: u32,
    pub(crate) len: u32,
    pub(crate) hash: u64,
}

/// Interned types.
///
/// ```
/// use typeloom_pool::{Pool, Tag};
/// let mut pool = Pool::new();
/// let int = pool.primitive(Tag::Int)?;
/// let list = pool.list(int)?;
/// assert_eq!(pool.list(int)?, list);
/// assert_eq!(pool.signature(list), "list<int>");
/// # Ok::<(), typeloom_pool::TypeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    pub(crate) nodes: Vec<Node>,
    pub(crate) meta: Vec<u8>,
    pub(crate) extra: Vec<u32>,
    pub(crate) index: HashTable<u32>,
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

/// A state of the pool to which a failed operation returns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    nodes: usize,
    extra: usize,
    groups: usize,
    names: usize,
}

impl Pool {
    /// An empty pool.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty pool with room for this many types.
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

    /// The number of types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Whether there are no types.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All ids, oldest first.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Idx> + '_ {
        (1..self.nodes.len() as u32).map(Idx::from_raw)
    }

    /// Bytes allocated for types, names and tables, digests left out.
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

    /// The id of a name.
    ///
    /// # Errors
    /// If the string breaks the rules for names.
    pub fn name(&mut self, name: &str) -> Result<Name, TypeError> {
        if let Some(id) = self.names.find(&self.hasher, name) {
            return Ok(Name(id));
        }
        check_name(name)?;
        Ok(Name(self.names.intern(&self.hasher, name)?))
    }

    /// The id of a name, if the pool has it.
    #[must_use]
    pub fn find_name(&self, name: &str) -> Option<Name> {
        self.names.find(&self.hasher, name).map(Name)
    }

    pub(crate) fn intern_checked_name(&mut self, name: &str) -> Result<u32, NameError> {
        self.names.intern(&self.hasher, name)
    }

    /// The string of a name.
    #[must_use]
    pub fn name_text(&self, name: Name) -> &str {
        self.names.get(name.0)
    }

    /// The tag of a type, or `None` if the id is not of this pool.
    #[must_use]
    pub fn try_tag(&self, ty: Idx) -> Option<Tag> {
        self.nodes.get(ty.at()).map(|node| node.tag)
    }

    /// The tag of a type.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn tag(&self, ty: Idx) -> Tag {
        self.try_tag(ty).unwrap_or_else(|| foreign(ty))
    }

    /// Whether it is a type, a lifetime or a constant.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn sort(&self, ty: Idx) -> Sort {
        sort_of(self.meta_of(ty))
    }

    /// Whether variables of binders outside the type occur in it.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn is_open(&self, ty: Idx) -> bool {
        self.meta_of(ty) & meta::OPEN != 0
    }

    /// Whether inference variables occur in it.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    #[track_caller]
    pub fn has_inference_variables(&self, ty: Idx) -> bool {
        self.meta_of(ty) & meta::INFER != 0
    }

    /// Whether it is a member of a recursive group.
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
        words_of(&self.nodes, &self.extra, ty)
    }

    /// The direct children of a type, in order.
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

    /// The group that a recursive type belongs to.
    pub(crate) fn group_of(&self, ty: u32) -> Option<usize> {
        if self.meta[ty as usize] & meta::RECURSIVE == 0 {
            return None;
        }
        self.groups.partition_point(|group| group.base <= ty).checked_sub(1)
    }

    /// The first member of a group with this hash and number of members for which `same(base, i)` holds for each `i`.
    pub(crate) fn find_group(
        &self,
        hash: u64,
        count: usize,
        same: impl Fn(u32, usize) -> bool,
    ) -> Option<u32> {
        let base_of = |group: u32| self.groups[group as usize].base;
        let found = self.group_index.find(hash, |&group| {
            let span = self.groups[group as usize];
            span.len as usize == count && (0..count).all(|at| same(span.base, at))
        });
        found.map(|&group| base_of(group))
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.len(),
            extra: self.extra.len(),
            groups: self.groups.len(),
            names: self.names.len(),
        }
    }

    /// Forgets everything added since the checkpoint.
    pub(crate) fn rollback(&mut self, to: Checkpoint) {
        let Pool { nodes, extra, index, hasher, groups, group_index, .. } = self;
        remove_ids(index, to.nodes, nodes.len(), |id| hasher.node(&nodes[id as usize], extra));
        remove_ids(group_index, to.groups, groups.len(), |group| groups[group as usize].hash);
        self.names.truncate(&self.hasher, to.names);
        self.nodes.truncate(to.nodes);
        self.meta.truncate(to.nodes);
        self.extra.truncate(to.extra);
        self.groups.truncate(to.groups);
        self.digests.truncate(to.nodes, to.groups);
    }
}

/// What the methods do whose documentation says that they panic.
#[cold]
#[track_caller]
fn foreign(ty: Idx) -> ! {
    panic!("type {ty:?} is not in this pool")
}

#[inline]
fn words_of<'p>(nodes: &'p [Node], extra: &'p [u32], ty: u32) -> &'p [u32] {
    nodes[ty as usize].words_in(extra)
}

#[inline]
fn spilled(extra: &[u32], [start, count, _]: [u32; 3]) -> &[u32] {
    &extra[start as usize..start as usize + count as usize]
}

/// Words that fit in a node, followed by zeros, and how many.
pub(crate) fn inline_words(words: &[u32]) -> Option<(u8, [u32; 3])> {
    let mut inline = [0; 3];
    inline.get_mut(..words.len())?.copy_from_slice(words);
    Some((words.len() as u8, inline))
}

/// A member of a group that is about to be added.
#[derive(Clone, Debug)]
pub(crate) struct GroupMember {
    pub(crate) tag: Tag,
    pub(crate) words: Vec<u32>,
    pub(crate) free: u8,
    pub(crate) meta: u8,
}

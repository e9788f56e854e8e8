//! The pool: types with dense ids, each stored once.
//!
//! Hash-consing: a type is a tag and words (see `layout`); interning looks the words up and compares
//! them structurally on every hash match, so a hash value is never taken for identity. A node of up to three words is
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

use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroU32;

use crate::check::sort_of;
use crate::error::TypeError;
use crate::hashing::Digests;
use crate::index::{Index, Mark, Place};
use crate::layout;
use crate::name::{Name, NameError, Names, check_name};
use crate::table::{Seed, Table};
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

const SPILLED: u8 = 0xff;

/// The length of the entry at 0, which is no type, so that it equals none.
const NO_LEN: u8 = 0xfe;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Node {
    words: [u32; 3],
    /// Beside the length, so that both are compared at once.
    pub(crate) tag: Tag,
    /// The number of words if they are inline, else `SPILLED`; then the words are where they start and how many.
    len: u8,
    /// How many enclosing binders the type's free variables reach, 0 if it is closed.
    pub(crate) free: u8,
}

impl Node {
    /// Whether it is the type of these words, which are followed by zeros.
    #[inline(always)]
    fn is(&self, tag: Tag, len: u8, words: [u32; 3]) -> bool {
        // One branch for all of it.
        (kind(self.tag, self.len) == kind(tag, len)) & (self.words == words)
    }

    /// Whether it is the type of these words, more than three.
    #[inline(always)]
    fn is_long(&self, extra: &[u32], tag: Tag, words: &[u32]) -> bool {
        self.long(extra, tag).is_some_and(|own| same_words(own, words))
    }

    /// Its words, if it has this tag and more than three of them.
    #[inline(always)]
    fn long<'p>(&self, extra: &'p [u32], tag: Tag) -> Option<&'p [u32]> {
        if kind(self.tag, self.len) != kind(tag, SPILLED) {
            return None;
        }
        let [start, count, _] = self.words;
        extra.get(start as usize..)?.get(..count as usize)
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
    pub(crate) hash: u32,
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
    extra: Vec<u32>,
    index: Index,
    /// The type after the one that was last found or added. Who meets types again, because a module is read or compiled
    /// once more, mostly meets them in the same order; so this one is compared before anything is looked up.
    expected: u32,
    pub(crate) names: Names,
    pub(crate) groups: Vec<GroupSpan>,
    group_table: Table,
    pub(crate) digests: Digests,
    seed: Seed,
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
    index: Mark,
    group_table: u32,
    name_table: u32,
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
        // The seed keeps crafted input from lining up in the table; it shows in no id and in no byte written.
        let seed = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let mut nodes = Vec::with_capacity(types + 1);
        nodes.push(Node { tag: Tag::Never, len: NO_LEN, free: 0, words: [0; 3] });
        let index = Index::new(nodes.capacity());
        let mut meta = Vec::with_capacity(types + 1);
        meta.push(meta::NO_TYPE);
        Pool {
            nodes,
            meta,
            extra: Vec::new(),
            index,
            expected: 1,
            names: Names::new(),
            groups: Vec::new(),
            group_table: Table::default(),
            digests: Digests::default(),
            seed: Seed::new(seed, u32::MAX),
        }
    }

    /// An empty pool that keeps only `bits` bits of every table hash: with 0, all types and all names collide; and only
    /// the first types are found beside their newest children. For tests of the rule that no hash is identity.
    #[must_use]
    pub fn with_hash_bits(bits: u32) -> Self {
        let hash_mask = 1u32.checked_shl(bits).map_or(u32::MAX, |b| b - 1);
        let pool = Self::new();
        Pool { seed: pool.seed.with_mask(hash_mask), index: pool.index.with_id_bits(6), ..pool }
    }

    /// Makes room for this many more types.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.nodes.reserve_exact(more);
        self.meta.reserve_exact(more);
        self.index.cover(self.nodes.capacity());
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
            + self.index.bytes()
            + self.names.bytes()
            + self.groups.capacity() * size_of::<GroupSpan>()
            + self.group_table.bytes()
    }

    /// The id of a name.
    ///
    /// # Errors
    /// If the string breaks the rules for names.
    pub fn name(&mut self, name: &str) -> Result<Name, TypeError> {
        if let Some(id) = self.names.find(self.seed, name) {
            return Ok(Name(id));
        }
        check_name(name)?;
        Ok(Name(self.names.intern(self.seed, name)?))
    }

    /// The id of a name, if the pool has it.
    #[must_use]
    pub fn find_name(&self, name: &str) -> Option<Name> {
        self.names.find(self.seed, name).map(Name)
    }

    pub(crate) fn intern_checked_name(&mut self, name: &str) -> Result<u32, NameError> {
        self.names.intern(self.seed, name)
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
    pub fn tag(&self, ty: Idx) -> Tag {
        self.nodes[ty.at()].tag
    }

    /// Whether it is a type, a lifetime or a constant.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn sort(&self, ty: Idx) -> Sort {
        sort_of(self.meta[ty.at()])
    }

    /// Whether variables of binders outside the type occur in it.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn is_open(&self, ty: Idx) -> bool {
        self.meta[ty.at()] & meta::OPEN != 0
    }

    /// Whether inference variables occur in it.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn has_inference_variables(&self, ty: Idx) -> bool {
        self.meta[ty.at()] & meta::INFER != 0
    }

    /// Whether it is a member of a recursive group.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn is_recursive(&self, ty: Idx) -> bool {
        self.meta[ty.at()] & meta::RECURSIVE != 0
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

    /// The id of a type that is in the pool already.
    pub(crate) fn lookup(&self, tag: Tag, words: &[u32]) -> Option<u32> {
        let newest = layout::newest_child(tag, words);
        let found = match inline_words(words) {
            Some((len, inline)) => self.search_short(newest, self.seed.short(kind(tag, len), inline), tag, len, inline),
            None => self.search_long(newest, self.seed.long(kind(tag, SPILLED), words), tag, words),
        };
        found.ok()
    }

    /// Interns words that may come from anywhere: on a miss they are checked completely. Words of constants and schemes
    /// must be in normal form already.
    #[inline]
    pub(crate) fn intern_words(&mut self, tag: Tag, words: &[u32]) -> Result<u32, TypeError> {
        let newest = || layout::newest_child(tag, words);
        match *words {
            [] => self.intern_short(tag, newest, []),
            [a] => self.intern_short(tag, newest, [a]),
            [a, b] => self.intern_short(tag, newest, [a, b]),
            [a, b, c] => self.intern_short(tag, newest, [a, b, c]),
            _ => self.intern_long(tag, newest(), words),
        }
    }

    /// [`Pool::intern_words`] for up to three words, which lie in the node: most types, so the way to one that is
    /// expected is straight, and compiled for each length on its own where it is called. `newest` gives the newest child.
    #[inline(always)]
    pub(crate) fn intern_short<const N: usize>(
        &mut self,
        tag: Tag,
        newest: impl FnOnce() -> u32,
        words: [u32; N],
    ) -> Result<u32, TypeError> {
        const { assert!(N <= 3, "more words do not fit in a node") };
        let mut inline = [0; 3];
        inline[..N].copy_from_slice(&words);
        let expected = self.expected;
        match self.nodes.get(expected as usize) {
            Some(node) if node.is(tag, N as u8, inline) => {
                self.expected = expected + 1;
                Ok(expected)
            }
            Some(_) | None => self.find_or_add_short(tag, newest(), words),
        }
    }

    #[inline(never)]
    fn find_or_add_short<const N: usize>(
        &mut self,
        tag: Tag,
        newest: u32,
        words: [u32; N],
    ) -> Result<u32, TypeError> {
        let mut inline = [0; 3];
        inline[..N].copy_from_slice(&words);
        let hash = self.seed.short(kind(tag, N as u8), inline);
        let likely = self.index.likely(newest, hash);
        if let Some(node) = self.nodes.get(likely as usize)
            && node.is(tag, N as u8, inline)
        {
            self.expected = likely + 1;
            return Ok(likely);
        }
        let place = match self.index.vacant(newest) {
            Some(place) if likely == 0 => Place::Near(place),
            Some(_) | None => match self.search_short(newest, hash, tag, N as u8, inline) {
                Ok(id) => {
                    self.expected = id + 1;
                    return Ok(id);
                }
                Err(place) => place,
            },
        };
        // The common case first: children that are closed types.
        let (free, meta) = if layout::may_be_types(tag, N) && self.are_closed_types(&words) {
            (0, 0)
        } else {
            self.check_completely(tag, &words)?
        };
        let id = self.push(Node { tag, len: N as u8, free, words: inline }, meta)?;
        self.enter(place, hash, id);
        Ok(id)
    }

    /// Not inlined: it is seldom needed, and would take registers from those who call it.
    #[inline(never)]
    fn search_short(
        &self,
        newest: u32,
        hash: u32,
        tag: Tag,
        len: u8,
        words: [u32; 3],
    ) -> Result<u32, Place> {
        self.index.find(newest, hash, |id| {
            self.nodes.get(id as usize).is_some_and(|node| node.is(tag, len, words))
        })
    }

    /// [`Pool::intern_words`] for more than three words, of a number that the caller knows.
    #[inline(always)]
    pub(crate) fn intern_array<const N: usize>(
        &mut self,
        tag: Tag,
        newest: impl FnOnce() -> u32,
        words: [u32; N],
    ) -> Result<u32, TypeError> {
        let expected = self.expected;
        match self.nodes.get(expected as usize) {
            Some(node) if node.is_long(&self.extra, tag, &words) => {
                self.expected = expected + 1;
                Ok(expected)
            }
            Some(_) | None => self.find_or_add_long(tag, newest(), &words),
        }
    }

    /// [`Pool::intern_words`] for more than three words.
    fn intern_long(&mut self, tag: Tag, newest: u32, words: &[u32]) -> Result<u32, TypeError> {
        let expected = self.expected;
        match self.nodes.get(expected as usize) {
            Some(node) if node.is_long(&self.extra, tag, words) => {
                self.expected = expected + 1;
                Ok(expected)
            }
            Some(_) | None => self.find_or_add_long(tag, newest, words),
        }
    }

    /// The same for a struct with named fields, at least one, whose words are gathered only if it is not expected.
    pub(crate) fn intern_struct(&mut self, name: u32, fields: &[(Name, Idx)]) -> Result<u32, TypeError> {
        let header = (fields.len() as u32) << 1 | 1;
        let words_of = |(name, ty): &(Name, Idx)| [name.0, ty.number()];
        let expected = self.expected;
        if let Some(node) = self.nodes.get(expected as usize)
            && let Some([own_name, own_header, own_fields @ ..]) = node.long(&self.extra, Tag::Struct)
            && (*own_name == name) & (*own_header == header)
            && own_fields.as_chunks().0.iter().zip(fields).all(|(own, field)| *own == words_of(field))
        {
            self.expected = expected + 1;
            return Ok(expected);
        }
        let mut few = [0; 2 + 2 * 6];
        let mut many = Vec::new();
        let len = 2 + 2 * fields.len();
        let words = match few.get_mut(..len) {
            Some(words) => words,
            None => {
                many.resize(len, 0);
                &mut many[..]
            }
        };
        words[0] = name;
        words[1] = header;
        let mut newest = 0;
        for (pair, field) in words[2..].as_chunks_mut().0.iter_mut().zip(fields) {
            *pair = words_of(field);
            newest = newest.max(pair[1]);
        }
        self.find_or_add_long(Tag::Struct, newest, words)
    }

    #[inline(never)]
    fn find_or_add_long(&mut self, tag: Tag, newest: u32, words: &[u32]) -> Result<u32, TypeError> {
        let hash = self.seed.long(kind(tag, SPILLED), words);
        let likely = self.index.likely(newest, hash);
        if let Some(node) = self.nodes.get(likely as usize)
            && node.is_long(&self.extra, tag, words)
        {
            self.expected = likely + 1;
            return Ok(likely);
        }
        let place = match self.index.vacant(newest) {
            Some(place) if likely == 0 => Place::Near(place),
            Some(_) | None => match self.search_long(newest, hash, tag, words) {
                Ok(id) => {
                    self.expected = id + 1;
                    return Ok(id);
                }
                Err(place) => place,
            },
        };
        // The common cases first: children that are closed types, and names that are distinct.
        let plain = if layout::may_be_types(tag, words.len()) {
            self.are_closed_types(words)
        } else {
            tag == Tag::Struct && self.is_plain_struct(words)
        };
        let (free, meta) = if plain { (0, 0) } else { self.check_completely(tag, words)? };
        let inline = self.spill(words)?;
        let id = self.push(Node { tag, len: SPILLED, free, words: inline }, meta)?;
        self.enter(place, hash, id);
        Ok(id)
    }

    #[inline(never)]
    fn search_long(&self, newest: u32, hash: u32, tag: Tag, words: &[u32]) -> Result<u32, Place> {
        self.index.find(newest, hash, |id| {
            self.nodes.get(id as usize).is_some_and(|node| node.is_long(&self.extra, tag, words))
        })
    }

    /// Adds an entry, which is not in the index yet.
    #[inline(always)]
    fn push(&mut self, node: Node, meta: u8) -> Result<u32, TypeError> {
        let id = self.nodes.len() as u32;
        if id >= ID_LIMIT {
            return Err(TypeError::Full);
        }
        if self.nodes.len() == self.nodes.capacity() {
            self.grow();
        }
        self.nodes.push(node);
        self.meta.push(meta);
        self.expected = id + 1;
        Ok(id)
    }

    /// Puts an entry into the index.
    #[inline(always)]
    fn enter(&mut self, place: Place, hash: u32, id: u32) {
        match place {
            Place::Near(near) if self.index.may_be_near(id) => self.index.put_near(near, hash, id),
            Place::Near(_) | Place::Far(_) => self.enter_far(place, hash, id),
        }
    }

    #[inline(never)]
    fn enter_far(&mut self, place: Place, hash: u32, id: u32) {
        let Pool { nodes, extra, index, seed, .. } = self;
        index.put(place, hash, id, |id| hash_of(nodes, extra, *seed, id));
    }

    /// Room for half as many types again: doubling would leave up to half of the memory unused.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let more = (self.nodes.len() / 2).max(64);
        self.nodes.reserve_exact(more);
        self.meta.reserve_exact(self.nodes.capacity() - self.meta.len());
        self.index.cover(self.nodes.capacity());
    }

    /// Puts words into the shared array. Gives what stands for them in the node.
    #[inline]
    fn spill(&mut self, words: &[u32]) -> Result<[u32; 3], TypeError> {
        let start = u32::try_from(self.extra.len()).map_err(|_| TypeError::Full)?;
        let count = u32::try_from(words.len()).map_err(|_| TypeError::Full)?;
        if self.extra.capacity() - self.extra.len() < words.len() {
            self.extra.reserve_exact((self.extra.len() / 2).max(words.len()).max(64));
        }
        // Not `extend_from_slice`, whose call of `memcpy` costs more than copying a few words.
        self.extra.extend(words.iter().copied());
        Ok([start, count, 0])
    }

    /// Adds the members of a group that is known to be minimal and new. Children that are members are given as ids from
    /// `self.nodes.len()` on.
    pub(crate) fn push_group(&mut self, hash: u32, members: &[GroupMember]) -> Result<u32, TypeError> {
        let base = self.nodes.len() as u32;
        // Members may be children of members before them.
        self.index.cover(self.nodes.len() + members.len());
        for member in members {
            let GroupMember { tag, words, free, meta } = member;
            let (hash, len, inline) = match inline_words(words) {
                Some((len, inline)) => (self.seed.short(kind(*tag, len), inline), len, inline),
                None => (self.seed.long(kind(*tag, SPILLED), words), SPILLED, self.spill(words)?),
            };
            let node = Node { tag: *tag, len, free: *free, words: inline };
            let id = self.push(node, meta | meta::RECURSIVE)?;
            match self.index.find(layout::newest_child(*tag, words), hash, |_| false) {
                Ok(_) => {}
                Err(place) => self.enter(place, hash, id),
            }
        }
        self.groups.push(GroupSpan { base, len: members.len() as u32, hash });
        // Table ids start at 1.
        let Pool { groups, group_table, .. } = &mut *self;
        group_table.insert_new(hash, groups.len() as u32, |id| groups[id as usize - 1].hash);
        Ok(base)
    }

    /// The hash of a group in the table of groups, given what is to be hashed of all members.
    pub(crate) fn hash_group(&self, flat: &[u32]) -> u32 {
        match inline_words(flat) {
            Some((len, inline)) => self.seed.short(kind(Tag::Bound, len), inline),
            None => self.seed.long(kind(Tag::Bound, SPILLED), flat),
        }
    }

    /// A group with these members, if there is one. `member_words(base, i)` gives the words of member `i` as they are if
    /// the group starts at `base`.
    pub(crate) fn find_group(
        &self,
        hash: u32,
        count: usize,
        same: impl Fn(u32, usize) -> bool,
    ) -> Option<u32> {
        let found = self.group_table.find(hash, |group| {
            let span = self.groups[group as usize - 1];
            span.len as usize == count && (0..count).all(|at| same(span.base, at))
        });
        found.ok().map(|group| self.groups[group as usize - 1].base)
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.len(),
            extra: self.extra.len(),
            groups: self.groups.len(),
            names: self.names.len(),
            index: self.index.checkpoint(),
            group_table: self.group_table.generation(),
            name_table: self.names.generation(),
        }
    }

    /// Forgets everything added since the checkpoint.
    pub(crate) fn rollback(&mut self, to: Checkpoint) {
        let Pool { nodes, extra, index, seed, .. } = self;
        let newest_of = |id| layout::newest_child(nodes[id as usize].tag, words_of(nodes, extra, id));
        index.truncate(to.nodes as u32, nodes.len() as u32, to.index, newest_of, |id| {
            hash_of(nodes, extra, *seed, id)
        });
        if self.groups.len() > to.groups {
            let groups = &self.groups;
            self.group_table.truncate(to.groups as u32, to.group_table, |id| groups[id as usize - 1].hash);
        }
        self.names.truncate(self.seed, to.names, to.name_table);
        self.nodes.truncate(to.nodes);
        self.meta.truncate(to.nodes);
        self.extra.truncate(to.extra);
        self.groups.truncate(to.groups);
        self.digests.truncate(to.nodes, to.groups);
    }
}

#[inline]
fn words_of<'p>(nodes: &'p [Node], extra: &'p [u32], ty: u32) -> &'p [u32] {
    let node = &nodes[ty as usize];
    if node.len == SPILLED { spilled(extra, node.words) } else { &node.words[..usize::from(node.len)] }
}

#[inline]
fn spilled(extra: &[u32], [start, count, _]: [u32; 3]) -> &[u32] {
    &extra[start as usize..start as usize + count as usize]
}

fn hash_of(nodes: &[Node], extra: &[u32], seed: Seed, ty: u32) -> u32 {
    let Node { tag, len, free: _, words } = nodes[ty as usize];
    if len == SPILLED {
        seed.long(kind(tag, len), spilled(extra, words))
    } else {
        seed.short(kind(tag, len), words)
    }
}

/// Tag and length as a hash takes them.
#[inline(always)]
fn kind(tag: Tag, len: u8) -> u16 {
    u16::from_le_bytes([tag.number(), len])
}

/// Words that fit in a node, followed by zeros, and how many.
fn inline_words(words: &[u32]) -> Option<(u8, [u32; 3])> {
    let mut inline = [0; 3];
    inline.get_mut(..words.len())?.copy_from_slice(words);
    Some((words.len() as u8, inline))
}

/// Slice equality: a call of `memcmp` costs more than comparing the few words of a type.
#[inline(always)]
fn same_words(left: &[u32], right: &[u32]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right)) == 0
}

/// A member of a group that is about to be added.
#[derive(Clone, Debug)]
pub(crate) struct GroupMember {
    pub(crate) tag: Tag,
    pub(crate) words: Vec<u32>,
    pub(crate) free: u8,
    pub(crate) meta: u8,
}

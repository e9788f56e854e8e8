//! Digests of types, computed on demand in batches.
//!
//! `docs/bundle-format.md` specifies the messages. They are padded to whole 64-byte blocks, so that the
//! digest of a message of at most 1024 bytes is that of a single full BLAKE3 chunk, and messages of equal
//! length are hashed together by its vectorized compression. Types are hashed by level: the children of a
//! type are on lower levels.
//!
//! **Invariant:** a digest covers everything reachable from a type and nothing else: no ids, no spans, no
//! documentation.
//!
//! **Invariant:** types with inference variables have no digest.

use std::borrow::Cow;

use blake3::IncrementCounter;
use blake3::platform::Platform;
use hashbrown::HashTable;

use crate::digest::Digest;
use crate::layout::{self, Quick, Role};
use crate::pool::{GroupSpan, Idx, Pool, meta};
use crate::refine::{Edges, refine};
use crate::tag::Tag;

/// Version of the messages.
pub(crate) const MESSAGE_VERSION: u8 = 1;
const HEADER: usize = 12;
const BLOCK: usize = 64;

/// Number of messages of one length after which they are hashed; a multiple of the vector width.
const FULL: usize = 64;

/// Maximum number of children whose digests fit in a message of four blocks.
const MAX_CHILDREN: usize = (4 * BLOCK - HEADER) / 32;

const KIND_TYPE: u8 = 0;
const KIND_GROUP: u8 = 1;
const KIND_MEMBER: u8 = 2;

/// The two identities of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Space {
    #[default]
    Exact = 0,
    Shape = 1,
}

/// Error of a type with inference variables, which has no meaning outside its inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a type with inference variables has no portable form")]
pub struct NotPortable {
    /// The type with inference variables.
    pub ty: Idx,
}

/// Digests computed so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digests {
    space: Space,
    exact: Vec<[u8; 32]>,
    done: Vec<u64>,
    /// Ids in the order in which their digests were computed.
    log: Vec<u32>,
    /// Ids by digest, for the first `indexed` entries of the log.
    index: HashTable<u32>,
    indexed: usize,
    /// For each group, the offsets of its members in portable order; empty if not computed.
    orders: Vec<Box<[u32]>>,
    pub(crate) shapes: Option<Box<crate::shape::Shapes>>,
}

/// Digests of requested types: those that the pool stores, and those computed for the request.
pub(crate) struct Computed<'p> {
    stored: &'p Digests,
    new: Option<Digests>,
}

impl Computed<'_> {
    /// Returns the table with the digest of a type and those of its children.
    pub(crate) fn of(&self, id: u32) -> &Digests {
        self.new.as_ref().filter(|_| !self.stored.has(id)).unwrap_or(self.stored)
    }
}

pub(crate) fn bit(bits: &[u64], at: u32) -> bool {
    bits.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

pub(crate) fn set_bit(bits: &mut Vec<u64>, at: u32) {
    let word = at as usize / 64;
    if word >= bits.len() {
        bits.resize(word + 1, 0);
    }
    bits[word] |= 1 << (at % 64);
}

fn clear_bits_from(bits: &mut Vec<u64>, from: usize) {
    bits.truncate(from.div_ceil(64));
    if let Some(last) = bits.get_mut(from / 64) {
        *last &= (1 << (from % 64)) - 1;
    }
}

fn index_hash(digest: &[u8; 32]) -> u64 {
    u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

impl Digests {
    pub(crate) fn in_space(space: Space) -> Self {
        Digests { space, ..Digests::default() }
    }

    #[inline]
    pub(crate) fn has(&self, id: u32) -> bool {
        bit(&self.done, id)
    }

    pub(crate) fn get(&self, id: u32) -> Option<Digest> {
        if self.has(id) { Some(Digest(self.exact[id as usize])) } else { None }
    }

    /// Stores the digest of a type. [`Digests::finish`] marks it as known.
    #[inline]
    fn put(&mut self, id: u32, digest: [u8; 32]) {
        self.exact[id as usize] = digest;
    }

    /// Marks digests as known.
    fn finish(&mut self, ids: Vec<u32>) {
        self.done.resize(self.exact.len().div_ceil(64), 0);
        for &id in &ids {
            self.done[id as usize / 64] |= 1 << (id % 64);
        }
        if self.log.is_empty() {
            self.log = ids;
        } else {
            self.log.extend(ids);
        }
    }

    pub(crate) fn truncate(&mut self, nodes: usize, groups: usize) {
        self.exact.truncate(nodes);
        clear_bits_from(&mut self.done, nodes);
        let before = self.log.len();
        self.log.retain(|&id| (id as usize) < nodes);
        if self.log.len() < before {
            self.index.clear();
            self.indexed = 0;
        }
        self.orders.truncate(groups);
        if let Some(shapes) = &mut self.shapes {
            shapes.truncate(nodes);
        }
    }

    /// Returns the type with this digest, if it is known.
    pub(crate) fn find(&mut self, digest: &Digest) -> Option<u32> {
        let Digests { exact, log, index, indexed, .. } = self;
        for &id in &log[*indexed..] {
            let hash_of = |&id: &u32| index_hash(&exact[id as usize]);
            index.insert_unique(hash_of(&id), id, hash_of);
        }
        *indexed = log.len();
        index.find(index_hash(&digest.0), |&id| exact[id as usize] == digest.0).copied()
    }

    /// Returns the offsets of a group's members in portable order; their digests must be known.
    pub(crate) fn group_order(&self, group: usize) -> &[u32] {
        self.orders.get(group).map_or(&[], |order| order)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.exact.capacity() * 32
            + self.done.capacity() * 8
            + self.log.capacity() * 4
            + self.index.allocation_size()
    }
}

/// Hashes messages of `N` bytes each, a multiple of the block size and at most one chunk.
fn hash_batch<const N: usize>(messages: &[[u8; N]], mut put: impl FnMut(usize, [u8; 32])) {
    const WIDTH: usize = 16;
    const IV: [u32; 8] = [
        0x6A09_E667,
        0xBB67_AE85,
        0x3C6E_F372,
        0xA54F_F53A,
        0x510E_527F,
        0x9B05_688C,
        0x1F83_D9AB,
        0x5BE0_CD19,
    ];
    const CHUNK_START: u8 = 1;
    const CHUNK_END: u8 = 2;
    const ROOT: u8 = 8;
    let platform = Platform::detect();
    let mut out = [0; WIDTH * 32];
    for (at, chunk) in messages.chunks(WIDTH).enumerate() {
        let mut inputs: [&[u8; N]; WIDTH] = [&chunk[0]; WIDTH];
        for (input, message) in inputs.iter_mut().zip(chunk) {
            *input = message;
        }
        let (out, _) = out.split_at_mut(chunk.len() * 32);
        platform.hash_many(
            &inputs[..chunk.len()],
            &IV,
            0,
            IncrementCounter::No,
            0,
            CHUNK_START,
            CHUNK_END | ROOT,
            out,
        );
        for (offset, digest) in out.as_chunks::<32>().0.iter().enumerate() {
            put(at * WIDTH + offset, *digest);
        }
    }
}

/// Messages of `N` bytes each with the ids of their types. The buffers are allocated once and reused.
struct Messages<const N: usize> {
    messages: Vec<[u8; N]>,
    ids: Vec<u32>,
}

impl<const N: usize> Default for Messages<N> {
    fn default() -> Self {
        Messages { messages: Vec::new(), ids: Vec::with_capacity(FULL) }
    }
}

impl<const N: usize> Messages<N> {
    /// Returns the buffer of the next message, with its previous content.
    #[inline]
    fn next(&mut self, id: u32) -> &mut [u8; N] {
        if self.messages.is_empty() {
            self.messages = vec![[0; N]; FULL];
        }
        let at = self.ids.len();
        self.ids.push(id);
        &mut self.messages[at]
    }

    #[inline]
    fn push(&mut self, id: u32, message: &[u8]) {
        let (own, padding) = self.next(id).split_at_mut(message.len());
        own.copy_from_slice(message);
        padding.fill(0);
    }

    /// Writes the message of a type that consists of children only.
    #[inline]
    fn push_children(&mut self, id: u32, head: &[u8; HEADER], words: &[u32], exact: &[[u8; 32]]) {
        let (own, rest) = self.next(id).split_at_mut(HEADER);
        own.copy_from_slice(head);
        let (places, _) = rest.as_chunks_mut();
        for (place, &child) in places.iter_mut().zip(words) {
            *place = exact[child as usize];
        }
        rest[32 * words.len()..].fill(0);
    }

    /// Hashes the messages if there are at least `least`.
    #[inline]
    fn flush(&mut self, least: usize, to: &mut Digests) {
        if self.ids.len() >= least {
            self.hash(to);
        }
    }

    #[inline(never)]
    fn hash(&mut self, to: &mut Digests) {
        let Messages { messages, ids } = self;
        hash_batch(&messages[..ids.len()], |at, digest| to.put(ids[at], digest));
        ids.clear();
    }
}

/// Messages of one level, by length in blocks.
#[derive(Default)]
struct Batch {
    one: Messages<64>,
    two: Messages<128>,
    three: Messages<192>,
    four: Messages<256>,
    rest: Vec<(u32, [u8; 32])>,
}

impl Batch {
    /// Adds a message. At most [`FULL`] messages may be added between two flushes.
    #[inline]
    fn add(&mut self, id: u32, message: &[u8]) {
        match message.len().div_ceil(BLOCK) {
            1 => self.one.push(id, message),
            2 => self.two.push(id, message),
            3 => self.three.push(id, message),
            4 => self.four.push(id, message),
            _ => self.rest.push((id, hash_padded(message))),
        }
    }

    /// Adds the message of a type that consists of at most [`MAX_CHILDREN`] children.
    #[inline]
    fn add_children(&mut self, id: u32, space: Space, tag: Tag, words: &[u32], exact: &[[u8; 32]]) {
        let [a, b, c, d] = (32 * words.len() as u32).to_le_bytes();
        let head = [b'T', b'L', MESSAGE_VERSION, space as u8, KIND_TYPE, tag.number(), 0, 0, a, b, c, d];
        match (HEADER + 32 * words.len()).div_ceil(BLOCK) {
            1 => self.one.push_children(id, &head, words, exact),
            2 => self.two.push_children(id, &head, words, exact),
            3 => self.three.push_children(id, &head, words, exact),
            _ => self.four.push_children(id, &head, words, exact),
        }
    }

    /// Hashes the messages of those lengths of which there are enough. Hashing early keeps messages in the
    /// cache and bounds the memory of a wide level. Types of one level do not need each other's digests.
    #[inline]
    fn flush_full(&mut self, to: &mut Digests) {
        self.flush_from(FULL, to);
    }

    fn flush(&mut self, to: &mut Digests) {
        self.flush_from(1, to);
        for (id, digest) in self.rest.drain(..) {
            to.put(id, digest);
        }
    }

    #[inline]
    fn flush_from(&mut self, least: usize, to: &mut Digests) {
        self.one.flush(least, to);
        self.two.flush(least, to);
        self.three.flush(least, to);
        self.four.flush(least, to);
    }
}

fn hash_padded(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.resize(message.len().next_multiple_of(BLOCK), 0);
    *blake3::hash(&padded).as_bytes()
}

fn start(message: &mut Vec<u8>, space: Space, kind: u8, tag: u8) {
    message.clear();
    message.extend([b'T', b'L', MESSAGE_VERSION, space as u8, kind, tag, 0, 0, 0, 0, 0, 0]);
}

fn finish(message: &mut [u8]) {
    let len = (message.len() - HEADER) as u32;
    message[8..HEADER].copy_from_slice(&len.to_le_bytes());
}

fn push_name(message: &mut Vec<u8>, name: &str) {
    message.extend((name.len() as u32).to_le_bytes());
    message.extend(name.as_bytes());
}

/// Returns a commutative node's words with its operands in the order of their digests.
fn sorted_operands<'d>(tag: Tag, words: &[u32], digest: impl Fn(u32) -> &'d [u8; 32]) -> Vec<u32> {
    if tag == Tag::DimSum {
        let mut terms: Vec<&[u32]> = words[2..].chunks_exact(3).collect();
        terms.sort_unstable_by_key(|term| digest(term[2]));
        words[..2].iter().chain(terms.into_iter().flatten()).copied().collect()
    } else {
        let mut children = words.to_vec();
        children.sort_unstable_by_key(|&child| digest(child));
        children
    }
}

/// Writes the message of one type.
#[inline]
pub(crate) fn write_type<'d>(
    message: &mut Vec<u8>,
    space: Space,
    tag: Tag,
    words: &[u32],
    digest: impl Fn(u32) -> &'d [u8; 32],
    name: impl Fn(u32) -> &'d str,
) {
    let sorted;
    let words = if tag.is_commutative() {
        sorted = sorted_operands(tag, words, &digest);
        &sorted[..]
    } else {
        words
    };
    start(message, space, KIND_TYPE, tag.number());
    layout::for_each(tag, words, |role, _, word| match role {
        Role::Child(_) => message.extend(digest(word)),
        Role::Name => push_name(message, name(word)),
        Role::Num => message.extend(word.to_le_bytes()),
    });
    finish(message);
}

#[inline]
fn type_message(pool: &Pool, digests: &Digests, id: u32, message: &mut Vec<u8>) {
    let tag = pool.nodes[id as usize].tag;
    let digest = |child: u32| &digests.exact[child as usize];
    write_type(message, digests.space, tag, pool.words(id), digest, |name| pool.names.get(name));
}

/// Reference inside a member of a group.
pub(crate) enum MemberRef<'d> {
    Inner(u32),
    Outer(&'d [u8; 32]),
}

/// Appends one member of a group to a message.
pub(crate) fn write_member<'d>(
    message: &mut Vec<u8>,
    tag: Tag,
    words: &[u32],
    mut reference: impl FnMut(u32) -> MemberRef<'d>,
    name: impl Fn(u32) -> &'d str,
) {
    message.push(tag.number());
    message.extend((words.len() as u32).to_le_bytes());
    layout::for_each(tag, words, |role, _, word| match role {
        Role::Child(_) => match reference(word) {
            MemberRef::Inner(member) => {
                message.push(1);
                message.extend(member.to_le_bytes());
            }
            MemberRef::Outer(digest) => {
                message.push(0);
                message.extend(digest);
            }
        },
        Role::Name => push_name(message, name(word)),
        Role::Num => message.extend(word.to_le_bytes()),
    });
}

/// Starts the message of a group with this many members.
pub(crate) fn start_group(message: &mut Vec<u8>, space: Space, members: u32) {
    start(message, space, KIND_GROUP, 0);
    message.extend(members.to_le_bytes());
}

/// Writes the message of a member, given the digest of its group.
pub(crate) fn write_membership(message: &mut Vec<u8>, space: Space, group: &[u8; 32], member: u32) {
    start(message, space, KIND_MEMBER, 0);
    message.extend(group);
    message.extend(member.to_le_bytes());
    finish(message);
}

/// Completes a message and hashes it.
pub(crate) fn hash_message(message: &mut [u8]) -> [u8; 32] {
    finish(message);
    hash_padded(message)
}

/// Appends a member of a group of the pool; `inner` maps references to other members.
fn push_member(
    (pool, digests): (&Pool, &Digests),
    span: GroupSpan,
    id: u32,
    message: &mut Vec<u8>,
    mut inner: impl FnMut(u32) -> u32,
) {
    let reference = |word: u32| {
        if span.members().contains(&word) {
            MemberRef::Inner(inner(word - span.base))
        } else {
            MemberRef::Outer(&digests.exact[word as usize])
        }
    };
    let tag = pool.nodes[id as usize].tag;
    write_member(message, tag, pool.words(id), reference, |name| pool.names.get(name));
}

/// Returns the offsets of a group's members in portable order. The digests of all outside references must be
/// known.
fn portable_order(pool: &Pool, digests: &Digests, span: GroupSpan) -> Box<[u32]> {
    let mut edges = Edges::default();
    let keys: Vec<Vec<u8>> = span
        .members()
        .map(|id| {
            let mut key = Vec::new();
            push_member((pool, digests), span, id, &mut key, |offset| {
                edges.push(offset);
                0
            });
            edges.close_node();
            key
        })
        .collect();
    // The partitions are those of interning the group, so the work is bounded as it was there.
    let mut work = u64::MAX;
    let ranks = refine(&keys, &edges, &mut work).unwrap_or_default();
    let mut order: Vec<u32> = (0..span.len).collect();
    order.sort_by_key(|&offset| ranks.get(offset as usize).copied().unwrap_or(offset));
    order.into_boxed_slice()
}

fn hash_group(pool: &Pool, digests: &mut Digests, group: usize) {
    let span = pool.groups[group];
    let order = portable_order(pool, digests, span);
    let mut position_of = vec![0u32; order.len()];
    for (&offset, at) in order.iter().zip(0..) {
        position_of[offset as usize] = at;
    }
    let mut message = Vec::new();
    start_group(&mut message, digests.space, span.len);
    for &offset in &order {
        let at = |offset| position_of[offset as usize];
        push_member((pool, digests), span, span.base + offset, &mut message, at);
    }
    let digest = hash_message(&mut message);
    let members: Vec<[u8; BLOCK]> = position_of
        .iter()
        .map(|at| {
            write_membership(&mut message, digests.space, &digest, *at);
            let mut padded = [0; BLOCK];
            padded[..message.len()].copy_from_slice(&message);
            padded
        })
        .collect();
    hash_batch(&members, |offset, digest| digests.put(span.base + offset as u32, digest));
    if digests.orders.len() <= group {
        digests.orders.resize(group + 1, Box::default());
    }
    digests.orders[group] = order;
}

impl Pool {
    /// Returns a type's words, with commutative operands in the order of their digests.
    pub(crate) fn portable_words(&self, digests: &Digests, ty: u32) -> Cow<'_, [u32]> {
        let (tag, words) = (self.nodes[ty as usize].tag, self.words(ty));
        if !tag.is_commutative() {
            return Cow::Borrowed(words);
        }
        Cow::Owned(sorted_operands(tag, words, |child| &digests.exact[child as usize]))
    }

    /// Returns the exact digest of a type. Computes it and those it depends on if necessary.
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn digest(&mut self, ty: Idx) -> Result<Digest, NotPortable> {
        self.compute(&[ty.number()])?;
        Ok(Digest(self.digests.exact[ty.at()]))
    }

    /// Computes the digests of all types without inference variables.
    pub fn compute_all_digests(&mut self) {
        let all: Vec<u32> =
            (1..self.nodes.len() as u32).filter(|&id| self.meta[id as usize] & meta::INFER == 0).collect();
        // None of them contains inference variables.
        let _ = self.compute(&all);
    }

    /// Returns the type with this digest, if its digest has been computed in this pool.
    pub fn find_digest(&mut self, digest: &Digest) -> Option<Idx> {
        self.digests.find(digest).map(Idx::from_raw)
    }

    /// Number of bytes allocated for digests.
    #[must_use]
    pub fn digest_bytes(&self) -> usize {
        self.digests.bytes()
    }

    /// Computes the digests of these types and of all types that they reach.
    pub(crate) fn compute(&mut self, targets: &[u32]) -> Result<(), NotPortable> {
        let needed = self.needed(targets)?;
        self.with_digests(|pool, digests| pool.compute_needed(digests, &needed));
        Ok(())
    }

    /// Returns the digests of these types and of all types that they reach, without storing new ones.
    pub(crate) fn computed(&self, targets: &[u32]) -> Result<Computed<'_>, NotPortable> {
        let needed = self.needed(targets)?;
        if needed.is_empty() {
            return Ok(Computed { stored: &self.digests, new: None });
        }
        let mut new = Digests::in_space(self.digests.space);
        new.exact = vec![[0; 32]; self.nodes.len()];
        for &id in &needed {
            layout::for_each_child(self.nodes[id as usize].tag, self.words(id), |child| {
                if let Some(known) = self.digests.get(child) {
                    new.put(child, known.0);
                    set_bit(&mut new.done, child);
                }
            });
        }
        self.compute_needed(&mut new, &needed);
        Ok(Computed { stored: &self.digests, new: Some(new) })
    }

    fn with_digests(&mut self, f: impl FnOnce(&Pool, &mut Digests)) {
        let mut digests = std::mem::take(&mut self.digests);
        f(self, &mut digests);
        self.digests = digests;
    }

    /// Computes the digests of these types. Their children are among them or have digests. Each type comes
    /// with a level greater than those of its children; the members of a group share one level.
    pub(crate) fn compute_reached(
        &mut self,
        types: impl Iterator<Item = (u32, u32)>,
    ) -> Result<(), NotPortable> {
        let mut needed = Vec::with_capacity(types.size_hint().0);
        for (ty, level) in types {
            if self.meta[ty as usize] & meta::INFER != 0 {
                return Err(NotPortable { ty: Idx::from_raw(ty) });
            }
            if !self.digests.has(ty) {
                needed.push((ty, level));
            }
        }
        self.with_digests(|pool, digests| pool.compute_levels(digests, &needed));
        Ok(())
    }

    /// Computes the digests of these types, in ascending order, whose children are among them or have
    /// digests.
    fn compute_needed(&self, digests: &mut Digests, needed: &[u32]) {
        let (Some(&first), Some(&last)) = (needed.first(), needed.last()) else { return };
        // Levels start at 1; level 0 is for known digests.
        let mut level = vec![0u32; (last - first + 1) as usize];
        let level_of = |level: &[u32], id: u32| if id < first { 0 } else { level[(id - first) as usize] };
        let mut levels = Vec::with_capacity(needed.len());
        let mut at = 0;
        while at < needed.len() {
            let id = needed[at];
            let mut own = 0;
            let members = self.members_of(id);
            for member in members.clone() {
                layout::for_each_child(self.nodes[member as usize].tag, self.words(member), |child| {
                    if child < id {
                        own = own.max(level_of(&level, child));
                    }
                });
            }
            at += members.len();
            for member in members {
                level[(member - first) as usize] = own + 1;
                levels.push((member, own + 1));
            }
        }
        self.compute_levels(digests, &levels);
    }

    /// Computes the digests of types, level by level.
    fn compute_levels(&self, digests: &mut Digests, needed: &[(u32, u32)]) {
        digests.exact.resize(self.nodes.len(), [0; 32]);
        // Counting sort by level.
        let deepest = needed.iter().map(|&(_, level)| level).max().unwrap_or(0);
        let mut next = vec![0u32; deepest as usize + 2];
        for &(_, level) in needed {
            next[level as usize + 1] += 1;
        }
        for at in 1..next.len() {
            next[at] += next[at - 1];
        }
        let mut by_level = vec![0u32; needed.len()];
        for &(id, level) in needed {
            let slot = &mut next[level as usize];
            by_level[*slot as usize] = id;
            *slot += 1;
        }
        let mut batch = Batch::default();
        let mut message = Vec::new();
        let mut start = 0;
        // After the sort, `next` contains the end of each level.
        for end in next {
            for &id in &by_level[start as usize..end as usize] {
                match self.group_of(id) {
                    // The first member represents its group.
                    Some(group) if self.groups[group].base == id => hash_group(self, digests, group),
                    Some(_) => {}
                    None => {
                        let tag = self.nodes[id as usize].tag;
                        let words = self.words(id);
                        if matches!(layout::quick(tag), Quick::Types(_)) && words.len() <= MAX_CHILDREN {
                            batch.add_children(id, digests.space, tag, words, &digests.exact);
                        } else {
                            type_message(self, digests, id, &mut message);
                            batch.add(id, &message);
                        }
                        batch.flush_full(digests);
                    }
                }
            }
            batch.flush(digests);
            start = end;
        }
        digests.finish(by_level);
    }

    /// Returns the types without digests among the targets and everything that they reach, in ascending
    /// order, with complete groups.
    fn needed(&self, targets: &[u32]) -> Result<Vec<u32>, NotPortable> {
        if let Some(&ty) = targets.iter().find(|&&ty| self.meta[ty as usize] & meta::INFER != 0) {
            return Err(NotPortable { ty: Idx::from_raw(ty) });
        }
        if targets.iter().all(|&ty| self.digests.has(ty)) {
            return Ok(Vec::new());
        }
        let mut marked = vec![0u64; self.nodes.len().div_ceil(64)];
        let mut stack: Vec<u32> = Vec::new();
        let mark = |id: u32, marked: &mut Vec<u64>, stack: &mut Vec<u32>| {
            if !self.digests.has(id) && !bit(marked, id) {
                for member in self.members_of(id) {
                    set_bit(marked, member);
                    stack.push(member);
                }
            }
        };
        for &target in targets {
            mark(target, &mut marked, &mut stack);
        }
        while let Some(id) = stack.pop() {
            layout::for_each_child(self.nodes[id as usize].tag, self.words(id), |child| {
                mark(child, &mut marked, &mut stack);
            });
        }
        let mut needed = Vec::new();
        for (word, &bits) in marked.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                needed.push(word as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        Ok(needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batched_hashes_are_ordinary_blake3_hashes_of_the_padded_message() {
        let mut batch = Batch::default();
        let mut digests = Digests::default();
        let messages: Vec<Vec<u8>> =
            (0..200usize).map(|len| (0..len * 3).map(|at| (at * 7 + len) as u8).collect()).collect();
        digests.exact.resize(messages.len(), [0; 32]);
        for (message, id) in messages.iter().zip(0..) {
            batch.add(id, message);
            batch.flush_full(&mut digests);
        }
        batch.flush(&mut digests);
        digests.finish((0..messages.len() as u32).collect());
        for (message, id) in messages.iter().zip(0..).skip(1) {
            assert_eq!(digests.get(id), Some(Digest(hash_padded(message))), "{} bytes", message.len());
        }
    }
}

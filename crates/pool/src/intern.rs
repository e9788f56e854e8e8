//! Interning: the type of given words, found if the pool has it, else checked and added.
//!
//! Three steps, each for what the one before does not have. The type that is *expected* is compared: the one after the
//! type that was last found, since who meets types again, because a module is read or compiled once more, mostly meets
//! them in the same order. Then the index is asked (see `index`). What it does not have either is checked
//! (see `check`) and added.
//!
//! **Invariant:** whatever way a type is found, its words were compared.

use crate::error::TypeError;
use crate::index::Place;
use crate::layout;
use crate::name::Name;
use crate::pool::{
    GroupMember, GroupSpan, ID_LIMIT, Idx, Node, Pool, SPILLED, hash_of, inline_words, kind, meta,
};
use crate::tag::Tag;

/// The fewest types, and words of long types, that there is room made for at once: a pool of a thousand types grows often
/// enough to show otherwise.
const LEAST_GROWTH: usize = 256;

/// What the next type to be found may be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// The type after the last one, if types come in order: if the last one was found where it was expected. Otherwise 0,
    /// which equals no type: where types come in any order, comparing would wait for the end of the last search, and its
    /// outcome be foreseen wrongly too often.
    id: u32,
    /// The type after the last that was found by searching, or added.
    after: u32,
}

impl Pool {
    /// Takes note that a type was found by searching.
    #[inline(always)]
    fn found(&mut self, id: u32) -> u32 {
        let in_order = id == self.expected.after;
        self.expected = Expected { id: if in_order { id + 1 } else { 0 }, after: id + 1 };
        id
    }

    /// Takes note that a type was added.
    #[inline(always)]
    fn added(&mut self, id: u32) -> u32 {
        self.expected = Expected { id: 0, after: id + 1 };
        id
    }

    /// Takes note that the expected type was found.
    #[inline(always)]
    fn found_expected(&mut self) -> u32 {
        let id = self.expected.id;
        self.expected.id = id + 1;
        id
    }

    /// Whether a type of up to three words is expected.
    #[inline(always)]
    fn expects<const N: usize>(&self, tag: Tag, words: [u32; N]) -> bool {
        let node = self.nodes.get(self.expected.id as usize);
        node.is_some_and(|node| node.is(tag, N as u8, padded(words)))
    }

    /// Whether a type of perhaps one word, and children after it, is expected. The words are compared where they are, one
    /// after another, whatever their number is: a way for each number would be shorter, but is hard to predict.
    #[inline(always)]
    fn expects_children(&self, tag: Tag, first: Option<u32>, rest: &[Idx]) -> bool {
        let own = match self.nodes.get(self.expected.id as usize) {
            Some(node) if node.tag == tag => node.words_in(&self.extra),
            Some(_) | None => return false,
        };
        let own = match (first, own) {
            (None, own) => own,
            (Some(first), [own_first, own @ ..]) if *own_first == first => own,
            (Some(_), _) => return false,
        };
        own.len() == rest.len() && own.iter().zip(rest).all(|(own, child)| *own == child.number())
    }

    /// Whether the struct with this name and these fields is expected.
    #[inline(always)]
    fn expects_struct(&self, name: u32, fields: &[(Name, Idx)]) -> bool {
        let node = self.nodes.get(self.expected.id as usize);
        let Some([own_name, own_header, own_fields @ ..]) =
            node.and_then(|node| node.long(&self.extra, Tag::Struct))
        else {
            return false;
        };
        (*own_name == name) & (*own_header == struct_header(fields))
            && own_fields.as_chunks().0.iter().zip(fields).all(|(own, field)| *own == words_of(field))
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
            _ => self.find_or_add_long(tag, newest(), words),
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
        if self.expects(tag, words) {
            return Ok(self.found_expected());
        }
        self.find_or_add_short(tag, newest(), words)
    }

    /// [`Pool::intern_words`] for a struct with named fields, at least one.
    #[inline]
    pub(crate) fn intern_struct(&mut self, name: u32, fields: &[(Name, Idx)]) -> Result<u32, TypeError> {
        if self.expects_struct(name, fields) {
            return Ok(self.found_expected());
        }
        self.find_or_add_struct(name, fields)
    }

    /// Interns a type of one word, perhaps, and children after it. `newest` gives the newest child.
    #[inline(always)]
    pub(crate) fn intern_children(
        &mut self,
        tag: Tag,
        first: Option<u32>,
        rest: &[Idx],
        newest: impl FnOnce() -> u32,
    ) -> Result<u32, TypeError> {
        if self.expects_children(tag, first, rest) {
            return Ok(self.found_expected());
        }
        self.find_or_add_children(tag, first, newest(), rest)
    }

    /// Finds or adds a type of one word, perhaps, and children after it.
    #[inline(never)]
    fn find_or_add_children(
        &mut self,
        tag: Tag,
        first: Option<u32>,
        newest: u32,
        rest: &[Idx],
    ) -> Result<u32, TypeError> {
        let n = Idx::number;
        match (first, rest) {
            (None, []) => self.find_or_add_short(tag, newest, []),
            (None, [a]) => self.find_or_add_short(tag, newest, [n(*a)]),
            (None, [a, b]) => self.find_or_add_short(tag, newest, [n(*a), n(*b)]),
            (None, [a, b, c]) => self.find_or_add_short(tag, newest, [n(*a), n(*b), n(*c)]),
            (None, [a, b, c, d]) => self.find_or_add_long(tag, newest, &[n(*a), n(*b), n(*c), n(*d)]),
            (Some(first), []) => self.find_or_add_short(tag, newest, [first]),
            (Some(first), [a]) => self.find_or_add_short(tag, newest, [first, n(*a)]),
            (Some(first), [a, b]) => self.find_or_add_short(tag, newest, [first, n(*a), n(*b)]),
            (Some(first), [a, b, c]) => self.find_or_add_long(tag, newest, &[first, n(*a), n(*b), n(*c)]),
            (Some(first), [a, b, c, d]) => {
                self.find_or_add_long(tag, newest, &[first, n(*a), n(*b), n(*c), n(*d)])
            }
            (first, rest) => {
                let words: Vec<u32> = first.into_iter().chain(rest.iter().map(|child| n(*child))).collect();
                self.find_or_add_long(tag, newest, &words)
            }
        }
    }

    #[inline(never)]
    fn find_or_add_struct(&mut self, name: u32, fields: &[(Name, Idx)]) -> Result<u32, TypeError> {
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
        words[1] = struct_header(fields);
        let mut newest = 0;
        for (pair, field) in words[2..].as_chunks_mut().0.iter_mut().zip(fields) {
            *pair = words_of(field);
            newest = newest.max(pair[1]);
        }
        self.find_or_add_long(Tag::Struct, newest, words)
    }

    /// Finds or adds a type of up to three words.
    #[inline(never)]
    fn find_or_add_short<const N: usize>(
        &mut self,
        tag: Tag,
        newest: u32,
        words: [u32; N],
    ) -> Result<u32, TypeError> {
        let inline = padded(words);
        let hash = self.seed.short(kind(tag, N as u8), inline);
        let likely = self.index.likely(newest, hash);
        if let Some(node) = self.nodes.get(likely as usize)
            && node.is(tag, N as u8, inline)
        {
            return Ok(self.found(likely));
        }
        let place = match self.index.vacant(newest) {
            Some(place) if likely == 0 => Place::Near(place),
            Some(_) | None => match self.search_short(newest, hash, tag, N as u8, inline) {
                Ok(id) => return Ok(self.found(id)),
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
        Ok(self.added(id))
    }

    /// Not inlined: it is seldom needed, and would take registers from those who call it.
    #[inline(never)]
    fn search_short(&self, newest: u32, hash: u32, tag: Tag, len: u8, words: [u32; 3]) -> Result<u32, Place> {
        self.index
            .find(newest, hash, |id| self.nodes.get(id as usize).is_some_and(|node| node.is(tag, len, words)))
    }

    /// Finds or adds a type of more than three words.
    #[inline(never)]
    fn find_or_add_long(&mut self, tag: Tag, newest: u32, words: &[u32]) -> Result<u32, TypeError> {
        let hash = self.seed.long(kind(tag, SPILLED), words);
        let likely = self.index.likely(newest, hash);
        if let Some(node) = self.nodes.get(likely as usize)
            && node.is_long(&self.extra, tag, words)
        {
            return Ok(self.found(likely));
        }
        let place = match self.index.vacant(newest) {
            Some(place) if likely == 0 => Place::Near(place),
            Some(_) | None => match self.search_long(newest, hash, tag, words) {
                Ok(id) => return Ok(self.found(id)),
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
        Ok(self.added(id))
    }

    #[inline(never)]
    fn search_long(&self, newest: u32, hash: u32, tag: Tag, words: &[u32]) -> Result<u32, Place> {
        self.index.find(newest, hash, |id| {
            self.nodes.get(id as usize).is_some_and(|node| node.is_long(&self.extra, tag, words))
        })
    }

    /// The id of a type that is in the pool already.
    pub(crate) fn lookup(&self, tag: Tag, words: &[u32]) -> Option<u32> {
        let newest = layout::newest_child(tag, words);
        let found = match inline_words(words) {
            Some((len, inline)) => {
                let hash = self.seed.short(kind(tag, len), inline);
                self.search_short(newest, hash, tag, len, inline)
            }
            None => self.search_long(newest, self.seed.long(kind(tag, SPILLED), words), tag, words),
        };
        found.ok()
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
        let more = (self.nodes.len() / 2).max(LEAST_GROWTH);
        self.reserve(more);
    }

    /// Makes room for this many more types.
    pub(crate) fn reserve(&mut self, more: usize) {
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
            self.extra.reserve_exact((self.extra.len() / 2).max(words.len()).max(LEAST_GROWTH));
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
            let place = self.index.place_for_new(layout::newest_child(*tag, words), hash);
            self.enter(place, hash, id);
        }
        self.groups.push(GroupSpan { base, len: members.len() as u32, hash });
        // Table ids start at 1.
        let Pool { groups, group_table, .. } = &mut *self;
        group_table.insert_new(hash, groups.len() as u32, |id| groups[id as usize - 1].hash);
        Ok(base)
    }
}

/// The second word of a struct with named fields.
#[inline(always)]
fn struct_header(fields: &[(Name, Idx)]) -> u32 {
    (fields.len() as u32) << 1 | 1
}

#[inline(always)]
fn words_of((name, ty): &(Name, Idx)) -> [u32; 2] {
    [name.0, ty.number()]
}

/// Up to three words, followed by zeros.
#[inline(always)]
fn padded<const N: usize>(words: [u32; N]) -> [u32; 3] {
    const { assert!(N <= 3, "more words do not fit in a node") };
    let mut inline = [0; 3];
    inline[..N].copy_from_slice(&words);
    inline
}

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

/// For how many more types, or words of long types, room is made at once where there are so many. A small pool doubles; in
/// a large one that would leave up to half of the memory unused, so it grows by half.
fn growth(len: usize) -> usize {
    if len < 4096 { len.max(256) } else { len / 2 }
}

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
    fn expects_short(&self, kind: u16, words: [u32; 3]) -> bool {
        self.nodes.get(self.expected.id as usize).is_some_and(|node| node.is(kind, words))
    }

    /// Whether a type of perhaps one word, and children after it, is expected. Many words are compared where they are, one
    /// after another: a way for each number would be shorter, but is hard to predict.
    #[inline(always)]
    fn expects_children(&self, tag: Tag, first: Option<u32>, rest: &[Idx]) -> bool {
        let Some(node) = self.nodes.get(self.expected.id as usize) else { return false };
        if let Some((len, words)) = few_words(first, rest) {
            return node.is(kind(tag, len), words);
        }
        let own = match (first, node.long(&self.extra, tag)) {
            (None, Some(own)) => own,
            (Some(first), Some([own_first, own @ ..])) if *own_first == first => own,
            (Some(_), Some(_)) | (_, None) => return false,
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
            [] => self.intern_short(tag, 0, newest, [0, 0, 0]),
            [a] => self.intern_short(tag, 1, newest, [a, 0, 0]),
            [a, b] => self.intern_short(tag, 2, newest, [a, b, 0]),
            [a, b, c] => self.intern_short(tag, 3, newest, [a, b, c]),
            _ => self.find_or_add_long(tag, newest(), words),
        }
    }

    /// [`Pool::intern_words`] for up to three words, followed by zeros: most types, so the way to one that is expected is
    /// straight. `newest` gives the newest child.
    #[inline(always)]
    pub(crate) fn intern_short(
        &mut self,
        tag: Tag,
        len: u8,
        newest: impl FnOnce() -> u32,
        words: [u32; 3],
    ) -> Result<u32, TypeError> {
        let kind = kind(tag, len);
        if self.expects_short(kind, words) {
            return Ok(self.found_expected());
        }
        self.find_or_add_short(tag, len, newest(), words)
    }

    /// [`Pool::intern_words`] for a struct with named fields, at least one.
    #[inline]
    pub(crate) fn intern_struct(&mut self, name: u32, fields: &[(Name, Idx)]) -> Result<u32, TypeError> {
        if self.expects_struct(name, fields) {
            return Ok(self.found_expected());
        }
        self.find_or_add_struct(name, fields)
    }

    /// Interns a type of one word, perhaps, and children after it.
    #[inline(always)]
    pub(crate) fn intern_children(
        &mut self,
        tag: Tag,
        first: Option<First>,
        rest: &[Idx],
    ) -> Result<u32, TypeError> {
        let (first, child) = match first {
            None => (None, 0),
            Some(First::Child(child)) => (Some(child.number()), child.number()),
            Some(First::Name(name)) => (Some(name.0), 0),
        };
        if self.expects_children(tag, first, rest) {
            return Ok(self.found_expected());
        }
        self.find_or_add_children(tag, first, child, rest)
    }

    /// Finds or adds a type of one word, perhaps, and children after it. `child` is the word if it is a child, else 0.
    #[inline(never)]
    fn find_or_add_children(
        &mut self,
        tag: Tag,
        first: Option<u32>,
        child: u32,
        rest: &[Idx],
    ) -> Result<u32, TypeError> {
        if let Some((len, words)) = few_words(first, rest) {
            // The first word is no child, or it is `child`.
            let newest = match first {
                None => words[0].max(words[1]).max(words[2]),
                Some(_) => child.max(words[1]).max(words[2]),
            };
            return self.find_or_add_short(tag, len, newest, words);
        }
        let skip = usize::from(first.is_some());
        let mut few = [0; 8];
        let mut many = Vec::new();
        let words = match few.get_mut(..skip + rest.len()) {
            Some(words) => words,
            None => {
                many.resize(skip + rest.len(), 0);
                &mut many[..]
            }
        };
        if let Some(first) = first {
            words[0] = first;
        }
        let mut newest = child;
        for (word, child) in words[skip..].iter_mut().zip(rest) {
            *word = child.number();
            newest = newest.max(*word);
        }
        self.find_or_add_long(tag, newest, words)
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

    /// Finds or adds a type of up to three words, followed by zeros.
    #[inline(never)]
    fn find_or_add_short(
        &mut self,
        tag: Tag,
        len: u8,
        newest: u32,
        words: [u32; 3],
    ) -> Result<u32, TypeError> {
        let kind = kind(tag, len);
        let hash = self.seed.short(kind, words);
        let home = self.index.home(newest, hash);
        let likely = self.index.likely(home);
        if let Some(node) = self.nodes.get(likely as usize)
            && node.is(kind, words)
        {
            return Ok(self.found(likely));
        }
        let place = match self.index.vacant(home) {
            Some(place) if likely == 0 => place,
            Some(_) | None => match self.search_short(newest, hash, kind, words) {
                Ok(id) => return Ok(self.found(id)),
                Err(place) => place,
            },
        };
        // The common case first: children that are closed types. All three are looked at, whatever their number is.
        let [a, b, c] = words;
        let [b, c] = [if len > 1 { b } else { a }, if len > 2 { c } else { a }];
        let (free, meta) = if layout::may_be_types(tag, usize::from(len)) && self.are_closed_types(&[a, b, c])
        {
            (0, 0)
        } else {
            self.check_completely(tag, &words[..usize::from(len)])?
        };
        let id = self.push(Node { tag, len, free, words }, meta)?;
        self.enter(place, hash, id);
        Ok(self.added(id))
    }

    /// Not inlined: it is seldom needed, and would take registers from those who call it.
    #[inline(never)]
    fn search_short(&self, newest: u32, hash: u32, kind: u16, words: [u32; 3]) -> Result<u32, Place> {
        self.index
            .find(newest, hash, |id| self.nodes.get(id as usize).is_some_and(|node| node.is(kind, words)))
    }

    /// Finds or adds a type of more than three words.
    #[inline(never)]
    fn find_or_add_long(&mut self, tag: Tag, newest: u32, words: &[u32]) -> Result<u32, TypeError> {
        let hash = self.seed.long(kind(tag, SPILLED), words);
        let home = self.index.home(newest, hash);
        let likely = self.index.likely(home);
        if let Some(node) = self.nodes.get(likely as usize)
            && node.is_long(&self.extra, tag, words)
        {
            return Ok(self.found(likely));
        }
        let place = match self.index.vacant(home) {
            Some(place) if likely == 0 => place,
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
                let kind = kind(tag, len);
                self.search_short(newest, self.seed.short(kind, inline), kind, inline)
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

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.reserve(growth(self.nodes.len()));
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
            self.extra.reserve_exact(growth(self.extra.len()).max(words.len()));
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

/// What comes before the children of a type.
#[derive(Clone, Copy)]
pub(crate) enum First {
    Child(Idx),
    Name(Name),
}

/// One word, perhaps, and children after it, if they are at most three: how many, and the words, followed by zeros. They
/// are read the same way whatever their number is, which would be hard to foresee.
#[inline(always)]
fn few_words(first: Option<u32>, rest: &[Idx]) -> Option<(u8, [u32; 3])> {
    let at = |at: usize| rest.get(at).map_or(0, |child| child.number());
    let (len, words) = match first {
        None => (rest.len(), [at(0), at(1), at(2)]),
        Some(first) => (1 + rest.len(), [first, at(0), at(1)]),
    };
    (len <= 3).then_some((len as u8, words))
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

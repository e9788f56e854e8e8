//! Finds types by their content: beside the newest child that they have, and where that place is full, by a hash.
//!
//! Types are built from types that were built a moment ago. So a type is put where its *newest child* decides, the one
//! with the highest id: four neighbouring ids share a chunk of eight places, half a cache line, for the types whose
//! newest child is one of them. What was built last lies beside what is built next, in lines that the processor still
//! has, however large the pool is; a table of hashes waits for memory at every new type. Chunks are never moved or
//! looked through when the pool grows: there are just more of them.
//!
//! A place is one word: as many low bits as an id may have here, and above them the *mark*, a part of the type's hash.
//! All eight are compared at once. What finds its chunk full goes to the *far* table, a hash table of all such types; so
//! does what has an id that does not fit, and all types that have only *common* children, those that were built first:
//! `int` and `str` are in so many types that they make no neighbourhood. Where one type is the newest child of very many,
//! then, one line that never leaves the cache is read before the table.
//!
//! **Invariant:** a type with a newest child that is not common is in the far table only if the chunk of that child is
//! full. So a chunk with a vacant place has all there is.
//! **Invariant:** the index never decides identity. Its callers compare the types themselves for every id it gives.

use crate::table::{Chunk, Table, Vacant};

/// Ids of children that share a chunk: eight places for the four types that there are in the mean.
const SHARE: usize = 4;

/// Newest children below this are common. Types that have them are all far.
const COMMON: u32 = 64;

/// The bits of a place that are an id, unless a test wants fewer.
const ID_BITS: u32 = 24;

#[derive(Clone, Debug)]
pub(crate) struct Index {
    chunks: Vec<Chunk>,
    /// The bits of a place that are its id. No near type has the id that is all of them: it stands for no type, in a
    /// place that has to be taken.
    ids: u32,
    far: Table,
    /// The ids in the far table, in the order in which they came, so from small to large.
    far_ids: Vec<u32>,
}

/// Where a type can be put that was not found, valid until the index changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Near(Near),
    Far(Vacant),
}

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// In the far table.
    far: bool,
    chunk: usize,
    mark: u32,
    /// The bits of a place there that are its id.
    ids: u32,
}

/// A vacant place of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    chunk: usize,
    place: usize,
}

/// What was the last of the far table, to return to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    far: u32,
    generation: u32,
}

impl Index {
    /// An index for types with ids below `end`.
    pub(crate) fn new(end: usize) -> Self {
        let mut index =
            Index { chunks: Vec::new(), ids: (1 << ID_BITS) - 1, far: Table::default(), far_ids: vec![0] };
        index.cover(end);
        index
    }

    /// The same for fewer near ids, with nothing in it.
    pub(crate) fn with_id_bits(self, bits: u32) -> Self {
        Index { ids: (1 << bits) - 1, ..self }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
            + self.far.bytes()
            + self.far_ids.capacity() * size_of::<u32>()
    }

    /// Makes chunks for all newest children below `end`.
    pub(crate) fn cover(&mut self, end: usize) {
        let chunks = end.div_ceil(SHARE);
        if let Some(more) = chunks.checked_sub(self.chunks.len()) {
            self.chunks.reserve_exact(more);
            self.chunks.resize(chunks, Chunk::EMPTY);
        }
    }

    /// The part of a hash that a place holds.
    #[inline(always)]
    fn mark(&self, hash: u32) -> u32 {
        hash & !self.ids
    }

    /// The first chunk where a type with this newest child and this hash may be. A near type is nowhere else.
    #[inline(always)]
    pub(crate) fn home(&self, newest: u32, hash: u32) -> Home {
        if newest < COMMON {
            let (chunk, mark, ids) = self.far.home_of(hash);
            Home { far: true, chunk, mark, ids }
        } else {
            Home { far: false, chunk: newest as usize / SHARE, mark: self.mark(hash), ids: self.ids }
        }
    }

    #[inline(always)]
    fn chunk(&self, home: Home) -> Option<&Chunk> {
        if home.far { self.far.chunk(home.chunk) } else { self.chunks.get(home.chunk) }
    }

    /// What is nearly always the type that was sought, if it is at home: to be compared, and not to be relied on. 0 if no
    /// type there has this mark; otherwise it may be any number.
    #[inline(always)]
    pub(crate) fn likely(&self, home: Home) -> u32 {
        let joined = self.chunk(home).map_or(0, |chunk| chunk.joined(home.mark, home.ids));
        if home.far { self.far_ids.get(joined as usize).copied().unwrap_or(u32::MAX) } else { joined }
    }

    /// A place at home, if there is one; then the type is nowhere else.
    #[inline(always)]
    pub(crate) fn vacant(&self, home: Home) -> Option<Place> {
        let place = self.chunk(home)?.vacant()?;
        Some(if home.far {
            Place::Far(Vacant::at_home(home.chunk, place))
        } else {
            Place::Near(Near { chunk: home.chunk, place })
        })
    }

    /// A place beside the newest child, if there is one; then the type is not far.
    #[inline(always)]
    fn vacant_near(&self, newest: u32) -> Option<Near> {
        if newest < COMMON {
            return None;
        }
        let chunk = newest as usize / SHARE;
        let place = self.chunks.get(chunk)?.vacant()?;
        Some(Near { chunk, place })
    }

    /// The id for which `same` holds, or the place for the type. `same` is asked for some ids of other types, and for
    /// numbers that are no type's.
    pub(crate) fn find(&self, newest: u32, hash: u32, same: impl Fn(u32) -> bool) -> Result<u32, Place> {
        let mark = self.mark(hash);
        if newest >= COMMON
            && let Some(chunk) = self.chunks.get(newest as usize / SHARE)
            && let Some(id) = chunk.each(mark, self.ids).find(|&id| same(id))
        {
            return Ok(id);
        }
        if let Some(place) = self.vacant_near(newest) {
            return Err(Place::Near(place));
        }
        match self.far.find(hash, |at| same(self.far_ids[at as usize])) {
            Ok(at) => Ok(self.far_ids[at as usize]),
            Err(place) => Err(Place::Far(place)),
        }
    }

    /// The place for a type that is known not to be there.
    pub(crate) fn place_for_new(&self, newest: u32, hash: u32) -> Place {
        self.vacant_near(newest).map_or_else(|| Place::Far(self.far.vacant(hash)), Place::Near)
    }

    /// Whether a type of this id can be near.
    #[inline(always)]
    pub(crate) fn may_be_near(&self, id: u32) -> bool {
        id < self.ids
    }

    /// Puts a type where there is a place beside its newest child. It [may be near](Index::may_be_near).
    #[inline(always)]
    pub(crate) fn put_near(&mut self, Near { chunk, place }: Near, hash: u32, id: u32) {
        let word = id | self.mark(hash);
        self.chunks[chunk].put(place, word);
    }

    /// Puts a type into the place that was found for it; there is a chunk for its newest child. `hash_of` gives the
    /// hashes of types that are in the index.
    pub(crate) fn put(&mut self, place: Place, hash: u32, id: u32, hash_of: impl Fn(u32) -> u32) {
        let vacant = match place {
            Place::Near(near) if self.may_be_near(id) => return self.put_near(near, hash, id),
            Place::Near(near) => {
                // The chunk may have no vacant place while one of its types is far.
                self.chunks[near.chunk].fill_up(self.ids);
                self.far.vacant(hash)
            }
            Place::Far(vacant) => vacant,
        };
        self.far_ids.push(id);
        let Index { far, far_ids, .. } = self;
        far.insert(vacant, hash, far_ids.len() as u32 - 1, |at| hash_of(far_ids[at as usize]));
    }

    pub(crate) fn checkpoint(&self) -> Mark {
        Mark { far: self.far_ids.len() as u32 - 1, generation: self.far.generation() }
    }

    /// Forgets the types with the ids `from .. end`, all that were put since `to`. The functions give newest children
    /// and hashes of types that are in the index.
    pub(crate) fn truncate(
        &mut self,
        from: u32,
        end: u32,
        to: Mark,
        newest_of: impl Fn(u32) -> u32,
        hash_of: impl Fn(u32) -> u32,
    ) {
        // In reverse, so that the places of a chunk stay filled from the first on.
        for id in (from..end.min(self.ids)).rev() {
            let newest = newest_of(id);
            if newest >= COMMON {
                self.chunks[newest as usize / SHARE].take_out(id, self.ids);
            }
        }
        let far_ids = &self.far_ids;
        self.far.truncate(to.far, to.generation, |at| hash_of(far_ids[at as usize]));
        self.far_ids.truncate(to.far as usize + 1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A type as the index sees it: a newest child, a hash, and what tells types of equal hashes apart.
    type Content = (u32, u32, u32);

    struct Model {
        index: Index,
        /// By id; the entry at 0 is no type.
        types: Vec<Content>,
        ids: BTreeMap<Content, u32>,
    }

    impl Model {
        /// `id_bits` so few that most ids do not fit beside a newest child.
        fn new(id_bits: u32) -> Self {
            let index = Index::new(1).with_id_bits(id_bits);
            Model { index, types: vec![(0, 0, 0)], ids: BTreeMap::new() }
        }

        fn find(&self, content: Content) -> Result<u32, Place> {
            let same = |id: u32| self.types.get(id as usize) == Some(&content) && id != 0;
            let home = self.index.home(content.0, content.1);
            let likely = self.index.likely(home);
            if same(likely) {
                return Ok(likely);
            }
            match self.index.vacant(home) {
                Some(place) if likely == 0 => Err(place),
                Some(_) | None => self.index.find(content.0, content.1, same),
            }
        }

        fn intern(&mut self, content: Content) -> u32 {
            let place = match self.find(content) {
                Ok(id) => return id,
                Err(place) => place,
            };
            let id = self.types.len() as u32;
            self.types.push(content);
            self.ids.insert(content, id);
            self.index.cover(self.types.len());
            let Model { index, types, .. } = self;
            index.put(place, content.1, id, |id| types[id as usize].1);
            id
        }

        fn truncate(&mut self, end: usize, to: Mark) {
            let types = &self.types;
            let (newest, hash) = (|id: u32| types[id as usize].0, |id: u32| types[id as usize].1);
            self.index.truncate(end as u32, types.len() as u32, to, newest, hash);
            for content in self.types.drain(end..) {
                self.ids.remove(&content);
            }
        }

        fn check(&self) {
            for (&content, &id) in &self.ids {
                assert_eq!(self.find(content).ok(), Some(id), "{content:?}");
            }
        }
    }

    struct Rng(u64);

    impl Rng {
        fn below(&mut self, bound: u32) -> u32 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            ((self.0 >> 33) as u32) % bound
        }
    }

    /// Types with few different hashes, most of whose newest children are recent, and sometimes those of all.
    fn content(rng: &mut Rng, ids: u32) -> Content {
        let newest = match rng.below(4) {
            0 => rng.below(3).min(ids - 1),
            1 => rng.below(ids),
            _ => ids - 1 - rng.below(ids.min(8)),
        };
        (newest, rng.below(40) << 24 | rng.below(50), rng.below(40))
    }

    #[test]
    fn every_type_is_found_again_and_no_other() {
        for (seed, id_bits) in [(1, 24), (2, 6), (3, 9), (4, 1)] {
            let mut rng = Rng(seed);
            let mut model = Model::new(id_bits);
            for _ in 0..4000 {
                let content = content(&mut rng, model.types.len() as u32);
                let known = model.ids.get(&content).copied();
                let next = model.types.len() as u32;
                assert_eq!(model.intern(content), known.unwrap_or(next));
            }
            model.check();
        }
    }

    #[test]
    fn what_was_added_since_a_checkpoint_is_forgotten_and_nothing_else() {
        for (seed, id_bits) in [(5, 24), (6, 7), (7, 10)] {
            let mut rng = Rng(seed);
            let mut model = Model::new(id_bits);
            for _ in 0..40 {
                let (mark, end, before) = (model.index.checkpoint(), model.types.len(), model.ids.clone());
                for _ in 0..1 + rng.below(300) {
                    let content = content(&mut rng, model.types.len() as u32);
                    model.intern(content);
                }
                model.check();
                if rng.below(2) == 0 {
                    let gone: Vec<Content> = model.types[end..].to_vec();
                    model.truncate(end, mark);
                    assert_eq!(model.ids, before);
                    model.check();
                    assert!(gone.into_iter().all(|content| model.find(content).is_err()));
                }
            }
        }
    }
}

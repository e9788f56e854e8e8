//! An open-addressing hash table of dense ids, for hash-consing.
//!
//! Chunks of eight places, half a cache line: a place is one word, an id in as many low bits as there are places, and
//! above it as much of the id's hash as fits, its *mark*. A lookup costs one cache line, whether it finds something or
//! not. All eight places are compared at once, and the ids of those whose marks match are joined by `or`: nearly always
//! there is one, and [`Table::likely`] has it without a loop and without a branch that depends on what is found. Where
//! two places match, what comes out is no id or another one's; comparing the things themselves tells, and
//! [`Table::find`] then looks at each place on its own. Places of a chunk fill up from the first; chunks are probed
//! linearly; at most five eighths of the places are taken, so that few chunks are full.
//!
//! A chunk's number is the part of the hash between its lowest three bits and the mark, so chunk and mark together are
//! the hash, but for bits that no table of this size looks at. The table holds exactly the ids `1 ..= len`, and twice as
//! many places take one more bit of hash for the chunk and one more for the id, which the mark loses. So growing reads
//! the old chunks and writes the new ones in order: a chunk's ids go to the chunk of the same number or to that of the
//! upper half. Ids that did not fit into the chunk of their hash have the highest bit set, and their hash is asked for.
//!
//! (Whole hashes beside the ids, which this replaced, need twice the memory, and twice as many cache lines at a
//! million types. A byte of hash for each place in an array of its own needs two cache lines for what is found.)
//!
//! **Invariant:** the table never decides identity. Its callers compare the things themselves for every id it gives.

use crate::pool::ID_LIMIT;

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    chunks: Vec<Chunk>,
    /// The bits of a place that are its id: the number of places less one, 0 without any.
    ids: u32,
    len: u32,
    /// How many ids there can be before the table grows.
    room: u32,
    /// Raised whenever entries move, so that a rollback knows whether it may undo insertions one by one.
    generation: u32,
}

/// The places of a chunk.
pub(crate) const PLACES: usize = 8;

/// So many that the number of places has one bit more than an id can have; there is always a vacant one then.
const MAX_CHUNKS: usize = (ID_LIMIT as usize) / PLACES;

/// Set in a place whose id is not in the chunk of its hash.
const AWAY: u32 = 1 << 31;

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Chunk {
    /// Zero is vacant, and comes after everything that is not.
    places: [u32; PLACES],
}

/// A vacant place that [`Table::find`] found, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant {
    chunk: usize,
    place: usize,
    /// [`AWAY`] or nothing.
    away: u32,
}

impl Vacant {
    /// A vacant place of the chunk where the search began.
    #[inline(always)]
    pub(crate) fn at_home(chunk: usize, place: usize) -> Self {
        Vacant { chunk, place, away: 0 }
    }
}

impl Chunk {
    pub(crate) const EMPTY: Chunk = Chunk { places: [0; PLACES] };

    /// The ids with this mark, joined by `or`; 0 if there is none.
    #[inline(always)]
    pub(crate) fn joined(&self, mark: u32, ids: u32) -> u32 {
        // Compiles to two vector comparisons. What is vacant has the mark 0 and the id 0.
        let mut joined = 0;
        for place in self.places {
            joined |= place & u32::from(place & !ids == mark).wrapping_neg();
        }
        joined & ids
    }

    /// The first vacant place.
    #[inline(always)]
    pub(crate) fn vacant(&self) -> Option<usize> {
        let taken = |place: usize| usize::from(self.places[place % PLACES] != 0);
        if taken(PLACES - 1) == 1 {
            return None;
        }
        let mut first = 4 * taken(3);
        first += 2 * taken(first + 1);
        first += taken(first);
        Some(first)
    }

    /// Fills a place, the first that is [vacant](Chunk::vacant).
    #[inline(always)]
    pub(crate) fn put(&mut self, place: usize, word: u32) {
        self.places[place % PLACES] = word;
    }

    /// Fills all vacant places with this word.
    pub(crate) fn fill_up(&mut self, word: u32) {
        self.places.iter_mut().filter(|place| **place == 0).for_each(|place| *place = word);
    }

    /// Makes the place of this id vacant, if it has one. The last that came has to go first.
    pub(crate) fn take_out(&mut self, id: u32, ids: u32) {
        if let Some(place) = self.places.iter_mut().find(|place| **place & ids == id) {
            *place = 0;
        }
    }

    /// The ids with this mark.
    pub(crate) fn each(&self, mark: u32, ids: u32) -> impl Iterator<Item = u32> + '_ {
        self.places
            .iter()
            .filter(move |&&place| place & !ids == mark && place != 0)
            .map(move |place| place & ids)
    }
}

impl Table {
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    fn set_chunks(&mut self, chunks: usize) -> Vec<Chunk> {
        self.room = room_of(chunks);
        self.ids = (chunks * PLACES - 1) as u32;
        std::mem::replace(&mut self.chunks, vec![Chunk::EMPTY; chunks])
    }

    /// The chunk where a search for a hash begins.
    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        (hash & self.ids) as usize / PLACES
    }

    /// The part of a hash that a place holds.
    #[inline(always)]
    fn mark(&self, hash: u32) -> u32 {
        hash & !self.ids & !AWAY
    }

    /// The chunk after this one.
    #[inline(always)]
    fn next(&self, chunk: usize) -> usize {
        (chunk + 1) & (self.ids as usize / PLACES)
    }

    /// Moves the ids up to `len` into this many chunks.
    #[cold]
    fn rebuild(&mut self, chunks: usize, hash_of: impl Fn(u32) -> u32) {
        self.set_chunks(chunks);
        for id in 1..=self.len {
            let hash = hash_of(id);
            self.put(self.vacant(hash), hash, id);
        }
        self.generation = self.generation.wrapping_add(1);
    }

    /// Moves all ids into twice as many chunks. Gives those that were not in the chunk of their hash and have no place
    /// yet; all others come from one chunk into two, where there is room for them.
    #[cold]
    #[inline(never)]
    fn spread(&mut self) -> Vec<u32> {
        let (ids, first) = (self.ids, self.chunks.is_empty());
        let old = self.set_chunks(if first { 4 } else { 2 * self.chunks.len() });
        let mut away = Vec::new();
        let upper = ids.wrapping_add(1);
        let (low, high) = self.chunks.split_at_mut(old.len());
        for ((from, low), high) in old.iter().zip(low).zip(high) {
            let halves = [low, high];
            // How many places of each half are taken, in a byte each. No branch depends on where an id goes.
            let mut taken = 0u32;
            for &place in &from.places {
                let half = usize::from(place & upper != 0);
                let moves = (place != 0) & (place & AWAY == 0);
                if place & AWAY != 0 {
                    away.push(place & ids);
                }
                let at = (taken >> (8 * half)) as usize % PLACES;
                halves[half].places[at] = if moves { place & !upper } else { 0 };
                taken += u32::from(moves) << (8 * half);
            }
        }
        self.generation = self.generation.wrapping_add(1);
        away
    }

    #[inline(always)]
    fn put(&mut self, Vacant { chunk, place, away }: Vacant, hash: u32, id: u32) {
        let word = id | self.mark(hash) | away;
        self.chunks[chunk].places[place] = word;
    }

    /// The place for an id that is known not to be there.
    #[inline]
    pub(crate) fn vacant(&self, hash: u32) -> Vacant {
        let (mut at, mut away) = (self.home(hash), 0);
        while let Some(chunk) = self.chunks.get(at) {
            if let Some(place) = chunk.vacant() {
                return Vacant { chunk: at, place, away };
            }
            at = self.next(at);
            away = AWAY;
        }
        NOWHERE
    }

    /// The chunk where a search for this hash begins, the mark that it has there, and the bits of a place that are its id.
    #[inline(always)]
    pub(crate) fn home_of(&self, hash: u32) -> (usize, u32, u32) {
        (self.home(hash), self.mark(hash), self.ids)
    }

    #[inline(always)]
    pub(crate) fn chunk(&self, chunk: usize) -> Option<&Chunk> {
        self.chunks.get(chunk)
    }

    /// The id for which `same` holds, or the place to insert it. `same` is asked for some ids of other things, too.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Result<u32, Vacant> {
        let (mut at, mut away) = (self.home(hash), 0);
        while let Some(chunk) = self.chunks.get(at) {
            let mark = self.mark(hash) | away;
            let joined = chunk.joined(mark, self.ids);
            if joined != 0 {
                if joined <= self.len && same(joined) {
                    return Ok(joined);
                }
                if let Some(id) = chunk.each(mark, self.ids).find(|&id| same(id)) {
                    return Ok(id);
                }
            }
            if let Some(place) = chunk.vacant() {
                return Err(Vacant { chunk: at, place, away });
            }
            at = self.next(at);
            away = AWAY;
        }
        Err(NOWHERE)
    }

    /// Whether the next id can be inserted without moving others.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.len < self.room
    }

    /// Fills a place that `find` returned with the next id. There must be [room](Table::has_room).
    #[inline(always)]
    pub(crate) fn fill(&mut self, found: Vacant, hash: u32, id: u32) {
        self.put(found, hash, id);
        self.len = id;
    }

    /// Fills a place that `find` returned with the next id, unless the table has to grow first. `hash_of` gives the
    /// hashes of the ids that are in the table.
    #[inline]
    pub(crate) fn insert(&mut self, found: Vacant, hash: u32, id: u32, hash_of: impl Fn(u32) -> u32) {
        let place = if self.has_room() { found } else { self.grow(hash, hash_of) };
        self.fill(place, hash, id);
    }

    /// Doubles the places. Gives the place of the next id, which has this hash.
    #[cold]
    pub(crate) fn grow(&mut self, hash: u32, hash_of: impl Fn(u32) -> u32) -> Vacant {
        for id in self.spread() {
            let hash = hash_of(id);
            self.put(self.vacant(hash), hash, id);
        }
        self.vacant(hash)
    }

    /// Inserts the next id, which is known not to be there.
    pub(crate) fn insert_new(&mut self, hash: u32, id: u32, hash_of: impl Fn(u32) -> u32) {
        self.insert(self.vacant(hash), hash, id, hash_of);
    }

    /// Forgets the ids from `len + 1` on. `generation` is that of when `len` was current.
    pub(crate) fn truncate(&mut self, len: u32, generation: u32, hash_of: impl Fn(u32) -> u32) {
        if self.generation != generation {
            self.len = len;
            self.rebuild(chunks_for(len as usize), hash_of);
            return;
        }
        // No entry has moved: taking them out in reverse leaves the chunks as they were.
        for id in (len + 1..=self.len).rev() {
            let mut at = self.home(hash_of(id));
            let place = loop {
                match self.chunks[at].places.iter().position(|&place| place & self.ids == id) {
                    Some(place) => break place,
                    None => at = self.next(at),
                }
            };
            self.chunks[at].places[place] = 0;
        }
        self.len = len;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Table { generation: self.generation.wrapping_add(1), ..Table::default() };
    }
}

/// An empty table has no chunk, and grows before anything is put anywhere.
const NOWHERE: Vacant = Vacant { chunk: 0, place: 0, away: 0 };

/// How many ids may be in this many chunks.
fn room_of(chunks: usize) -> u32 {
    if chunks >= MAX_CHUNKS { u32::MAX } else { (chunks * PLACES * 5 / 8) as u32 }
}

fn chunks_for(count: usize) -> usize {
    (count * 8).div_ceil(5 * PLACES).next_power_of_two().clamp(2, MAX_CHUNKS)
}

/// What makes the hashes of one pool its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    low: u64,
    high: u64,
    /// The bits that are kept of every hash: all of them, except in tests.
    mask: u32,
}

impl Seed {
    pub(crate) fn new(seed: u64, mask: u32) -> Self {
        Seed { low: seed, high: seed.rotate_left(32) ^ B, mask }
    }

    pub(crate) fn with_mask(self, mask: u32) -> Self {
        Seed { mask, ..self }
    }

    /// The hash of a kind of type, given as 16 bits, and of up to three words, followed by zeros: one multiplication.
    #[inline(always)]
    pub(crate) fn short(self, kind: u16, [a, b, c]: [u32; 3]) -> u32 {
        self.finish(pair(a, b) ^ self.low, pair(c, u32::from(kind)))
    }

    /// The hash of a kind of type and of at least four words: four words to a multiplication, the last of which may have
    /// been seen before, so that the number of words decides no branch but the loop's.
    #[inline(always)]
    pub(crate) fn long(self, kind: u16, words: &[u32]) -> u32 {
        let mut state = self.start(kind, words.len());
        let [a, b, c, d] = words.last_chunk::<4>().copied().unwrap_or_default();
        for &[a, b, c, d] in words[..words.len().saturating_sub(1)].as_chunks::<4>().0 {
            state = step(state, [a, b], [c, d]);
        }
        self.end(state, [a, b], [c, d])
    }

    #[inline(always)]
    fn start(self, kind: u16, words: usize) -> u64 {
        self.low ^ (u64::from(kind) << 32 | words as u64).wrapping_mul(A)
    }

    #[inline(always)]
    fn end(self, state: u64, [a, b]: [u32; 2], [c, d]: [u32; 2]) -> u32 {
        self.finish(pair(a, b) ^ state, pair(c, d))
    }

    /// The hash of text.
    pub(crate) fn text(self, bytes: &[u8]) -> u32 {
        let mut state = self.low ^ (bytes.len() as u64).wrapping_mul(A);
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            state = mix(state ^ u64::from_le_bytes(word), A);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.finish(state, u64::from_le_bytes(last))
    }

    #[inline(always)]
    fn finish(self, left: u64, right: u64) -> u32 {
        let done = mix(left, right ^ self.high);
        (done ^ (done >> 32)) as u32 & self.mask
    }
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xe703_7ed1_a0b4_28db;

/// Mixes four words into a state.
#[inline(always)]
fn step(state: u64, [a, b]: [u32; 2], [c, d]: [u32; 2]) -> u64 {
    mix(pair(a, b) ^ state, pair(c, d) ^ A)
}

/// Mixes two words into one by a full multiplication.
#[inline(always)]
fn mix(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Two words as one. Not one above the other: the compiler would read both at once where they lie side by side, and
/// the processor would wait for them if they were written one by one just before, as arguments are.
#[inline(always)]
const fn pair(low: u32, high: u32) -> u64 {
    (high as u64).wrapping_mul(B) ^ low as u64
}

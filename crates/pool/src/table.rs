//! An open-addressing hash table of dense ids, for hash-consing.
//!
//! Chunks of twelve places, after the F14 tables of folly: a chunk is one cache line and holds a byte of hash for each
//! place (zero is vacant) and then the ids. The bytes are searched as two words, so a lookup costs one cache line,
//! whether it finds something or not, and seldom mispredicts a branch. (Hash bytes and ids in two arrays, which is
//! what this replaced, cost two lines one after the other: at least a sixth more time for a hit at a million types.) Chunks are probed
//! linearly; at most 85 % of the places are taken.
//!
//! The table holds exactly the ids `1 ..= len`. Growing asks for the hash of each id again, in order, which reads what the
//! ids stand for sequentially.
//!
//! **Invariant:** the table never decides identity. [`Table::find`] asks its caller to compare the things themselves for
//! every entry whose hash bits match.

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    chunks: Vec<Chunk>,
    len: u32,
    /// How many ids there can be before the table grows.
    room: u32,
    /// Raised whenever entries move, so that a rollback knows whether it may undo insertions one by one.
    generation: u32,
}

/// The places of a chunk.
const PLACES: usize = 12;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    /// The hash bytes of places 0 to 7 and of places 8 to 11; the upper half of the second word is unused.
    tags: [u64; 2],
    ids: [u32; PLACES],
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Below this many chunks, tables grow fourfold, because asking for hashes again costs more than the space.
const SMALL: usize = 1024;

/// A vacant place that [`Table::find`] found, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant {
    chunk: usize,
    place: usize,
}

/// A high bit for every zero byte; exact up to and including the lowest.
#[inline(always)]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// The byte of the hash that is kept, never zero. The lower bits choose the chunk.
#[inline(always)]
const fn tag_byte(hash: u32) -> u64 {
    let byte = hash >> 24;
    byte as u64 + (byte == 0) as u64
}

impl Chunk {
    const EMPTY: Chunk = Chunk { tags: [0; 2], ids: [0; PLACES] };

    /// The places whose byte is that of `pattern`, as a set that [`place_of`] reads; exact up to and including the first.
    #[inline(always)]
    fn places_with(&self, pattern: u64) -> u64 {
        let first = zero_bytes(self.tags[0] ^ pattern);
        let second = zero_bytes(self.tags[1] ^ pattern) & (HIGH >> 32);
        // Bit 8i is place i, bit 8i + 1 is place 8 + i.
        first >> 7 | second >> 6
    }

    #[inline(always)]
    fn put(&mut self, place: usize, hash: u32, id: u32) {
        self.tags[place / 8] |= tag_byte(hash) << (place % 8 * 8);
        self.ids[place] = id;
    }
}

/// The first place of a set that is not empty.
#[inline(always)]
const fn place_of(set: u64) -> usize {
    let bit = set.trailing_zeros() as usize;
    bit / 8 + bit % 2 * 8
}

impl Table {
    /// A table that can take this many ids before it grows.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut table = Table::default();
        if count > 0 {
            table.clear_to(chunks_for(count));
        }
        table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    fn clear_to(&mut self, chunks: usize) {
        // Not both at once: the old ones may be large.
        self.chunks = Vec::new();
        self.chunks = vec![Chunk::EMPTY; chunks];
        self.room = u32::try_from(room_of(chunks)).unwrap_or(u32::MAX);
    }

    #[cold]
    #[inline(never)]
    fn rebuild(&mut self, chunks: usize, hash_of: impl Fn(u32) -> u32) {
        self.clear_to(chunks);
        for id in 1..=self.len {
            let hash = hash_of(id);
            let Vacant { chunk, place } = self.vacant(hash);
            self.chunks[chunk].put(place, hash, id);
        }
        self.generation = self.generation.wrapping_add(1);
    }

    /// The place for an id that is known not to be there.
    #[inline]
    pub(crate) fn vacant(&self, hash: u32) -> Vacant {
        let mask = self.chunks.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(chunk) = self.chunks.get(at) {
            let vacant = chunk.places_with(0);
            if vacant != 0 {
                return Vacant { chunk: at, place: place_of(vacant) };
            }
            at = (at + 1) & mask;
        }
        // An empty table grows before anything is put anywhere.
        Vacant { chunk: 0, place: 0 }
    }

    /// The id for which `same` holds among those with these hash bits, or the place to insert it.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Result<u32, Vacant> {
        let mask = self.chunks.len().wrapping_sub(1);
        let pattern = tag_byte(hash) * LOW;
        let mut at = hash as usize & mask;
        // An empty table has no chunk, and grows before anything is put anywhere.
        while let Some(chunk) = self.chunks.get(at) {
            let mut matches = chunk.places_with(pattern);
            while matches != 0 {
                let id = chunk.ids[place_of(matches)];
                // Above the lowest, a match may be none, and its place vacant.
                if id != 0 && same(id) {
                    return Ok(id);
                }
                matches &= matches - 1;
            }
            let vacant = chunk.places_with(0);
            if vacant != 0 {
                return Err(Vacant { chunk: at, place: place_of(vacant) });
            }
            at = (at + 1) & mask;
        }
        Err(Vacant { chunk: 0, place: 0 })
    }

    /// Fills a place that `find` returned with the next id, unless the table has to grow first.
    #[inline]
    pub(crate) fn insert(&mut self, found: Vacant, hash: u32, id: u32, hash_of: impl Fn(u32) -> u32) {
        let Vacant { chunk, place } = if self.len < self.room { found } else { self.grow(hash, hash_of) };
        self.chunks[chunk].put(place, hash, id);
        self.len = id;
    }

    /// Makes room for this many more ids.
    pub(crate) fn reserve(&mut self, more: usize, hash_of: impl Fn(u32) -> u32) {
        let count = self.len as usize + more;
        if count > self.room as usize {
            self.rebuild(chunks_for(count), hash_of);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, hash: u32, hash_of: impl Fn(u32) -> u32) -> Vacant {
        let factor = if self.chunks.len() < SMALL { 4 } else { 2 };
        self.rebuild((self.chunks.len() * factor).max(4), hash_of);
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
        let mask = self.chunks.len().wrapping_sub(1);
        for id in (len + 1..=self.len).rev() {
            let mut at = hash_of(id) as usize & mask;
            let place = loop {
                match self.chunks[at].ids.iter().position(|&other| other == id) {
                    Some(place) => break place,
                    None => at = (at + 1) & mask,
                }
            };
            let chunk = &mut self.chunks[at];
            chunk.ids[place] = 0;
            chunk.tags[place / 8] &= !(0xff << (place % 8 * 8));
        }
        self.len = len;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Table { generation: self.generation.wrapping_add(1), ..Table::default() };
    }
}

/// How many ids may be in this many chunks.
const fn room_of(chunks: usize) -> usize {
    chunks * PLACES * 17 / 20
}

fn chunks_for(count: usize) -> usize {
    (count * 20).div_ceil(17 * PLACES).next_power_of_two().max(2)
}

/// Mixes two words into one by a full multiplication.
#[inline(always)]
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Seeded hash of a tag and its words: four words to a multiplication, the last of which may have been seen before, so
/// that the number of words decides no branch but the loop's.
#[inline(always)]
pub(crate) fn hash_words(seed: u64, tag: u8, words: &[u32]) -> u32 {
    let Some(&last) = words.last_chunk::<4>() else {
        let mut inline = [0; 3];
        inline[..words.len()].copy_from_slice(words);
        return hash_inline(seed, tag, words.len(), inline);
    };
    let mut state = head(seed, tag, words.len());
    for &four in words[..words.len() - 1].as_chunks::<4>().0 {
        state = mix(pair(four[0], four[1]) ^ state, pair(four[2], four[3]) ^ A);
    }
    finish(seed, state, last)
}

/// What [`hash_words`] gives for up to three words, followed by zeros.
#[inline(always)]
pub(crate) fn hash_inline(seed: u64, tag: u8, len: usize, [a, b, c]: [u32; 3]) -> u32 {
    finish(seed, head(seed, tag, len), [a, b, c, 0])
}

const A: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

#[inline(always)]
fn head(seed: u64, tag: u8, len: usize) -> u64 {
    seed ^ (u64::from(tag) << 32 | len as u64).wrapping_mul(A)
}

#[inline(always)]
fn finish(seed: u64, state: u64, [a, b, c, d]: [u32; 4]) -> u32 {
    let done = mix(pair(a, b) ^ state, pair(c, d) ^ 0xe703_7ed1_a0b4_28db ^ seed);
    (done ^ (done >> 32)) as u32
}

/// Seeded hash of text.
pub(crate) fn hash_bytes(seed: u64, bytes: &[u8]) -> u32 {
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(A);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word), A);
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    let done = mix(state ^ u64::from_le_bytes(last), A ^ seed.rotate_left(32));
    (done ^ (done >> 32)) as u32
}

//! An open-addressing hash table of dense ids, for hash-consing.
//!
//! Chunks of eight places: a chunk is one cache line and holds the whole 32-bit hash of each place and then the ids, so a
//! lookup costs one cache line, whether it finds something or not. All eight hashes are compared at once, and the ids of
//! those that match are joined by `or`: nearly always there is one, and [`Table::likely`] has it without a loop, without a
//! place and without a branch that depends on what is found. Where two places match, what comes out is no id or another
//! one's; comparing the things themselves tells, and [`Table::find`] then looks at each place on its own. Places of a
//! chunk fill up from the first; chunks are probed linearly; at most 80 % of the places are taken.
//!
//! (Twelve places with a byte of hash each, which is what this replaced, need less memory, but finding a known type took
//! 210 instructions instead of 150, and growing asked for every hash again and scattered the ids over the new chunks.)
//!
//! The table holds exactly the ids `1 ..= len`. Growing reads the old chunks and writes the new ones in order and needs
//! nothing else: a chunk's ids go to the chunk of the same number or to that of the upper half.
//!
//! **Invariant:** the table never decides identity. Its callers compare the things themselves for every id it gives.

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
const PLACES: usize = 8;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    hashes: [u32; PLACES],
    /// Zero is vacant, and comes after everything that is not.
    ids: [u32; PLACES],
}

/// A vacant place that [`Table::find`] found, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant {
    chunk: usize,
    place: usize,
}

impl Chunk {
    const EMPTY: Chunk = Chunk { hashes: [0; PLACES], ids: [0; PLACES] };

    /// The ids with this hash, joined by `or`; 0 if there is none.
    #[inline(always)]
    fn joined(&self, hash: u32) -> u32 {
        // Compiles to two vector comparisons.
        let mut joined = 0;
        for place in 0..PLACES {
            joined |= self.ids[place] & u32::from(self.hashes[place] == hash).wrapping_neg();
        }
        joined
    }

    /// The first vacant place.
    #[inline(always)]
    fn vacant(&self) -> Option<usize> {
        if self.ids[PLACES - 1] != 0 {
            return None;
        }
        Some(self.ids.iter().map(|&id| usize::from(id != 0)).sum())
    }

    /// The places with this hash.
    fn each(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let both = self.hashes.iter().zip(&self.ids);
        both.filter(move |&(&other, &id)| other == hash && id != 0).map(|(_, &id)| id)
    }
}

impl Table {
    /// A table that can take this many ids before it grows.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut table = Table::default();
        if count > 0 {
            table.set_chunks(chunks_for(count));
        }
        table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>()
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    fn set_chunks(&mut self, chunks: usize) -> Vec<Chunk> {
        self.room = u32::try_from(room_of(chunks)).unwrap_or(u32::MAX);
        std::mem::replace(&mut self.chunks, vec![Chunk::EMPTY; chunks])
    }

    /// Moves the ids up to `len` into this many chunks.
    #[cold]
    #[inline(never)]
    fn rebuild(&mut self, chunks: usize) {
        let old = self.set_chunks(chunks);
        let mask = chunks - 1;
        // How many places of each new chunk are taken.
        let mut taken = vec![0u8; chunks];
        for chunk in &old {
            for (&hash, &id) in chunk.hashes.iter().zip(&chunk.ids) {
                if id.wrapping_sub(1) < self.len {
                    let mut at = hash as usize & mask;
                    while usize::from(taken[at]) == PLACES {
                        at = (at + 1) & mask;
                    }
                    let place = usize::from(taken[at]);
                    taken[at] += 1;
                    self.put(Vacant { chunk: at, place }, hash, id);
                }
            }
        }
        self.generation = self.generation.wrapping_add(1);
    }

    #[inline(always)]
    fn put(&mut self, Vacant { chunk, place }: Vacant, hash: u32, id: u32) {
        let chunk = &mut self.chunks[chunk];
        chunk.hashes[place] = hash;
        chunk.ids[place] = id;
    }

    /// The place for an id that is known not to be there.
    #[inline]
    pub(crate) fn vacant(&self, hash: u32) -> Vacant {
        let mask = self.chunks.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(chunk) = self.chunks.get(at) {
            if let Some(place) = chunk.vacant() {
                return Vacant { chunk: at, place };
            }
            at = (at + 1) & mask;
        }
        // An empty table grows before anything is put anywhere.
        Vacant { chunk: 0, place: 0 }
    }

    /// What is nearly always the id with this hash, if there is one: to be compared, and not to be relied on. 0 or an
    /// id that turns out to be another one's says nothing; it may be greater than any id.
    #[inline(always)]
    pub(crate) fn likely(&self, hash: u32) -> u32 {
        let mask = self.chunks.len().wrapping_sub(1);
        self.chunks.get(hash as usize & mask).map_or(0, |chunk| chunk.joined(hash))
    }

    /// The place for an id whose hash is that of none, if it is where a search begins.
    #[inline(always)]
    pub(crate) fn vacant_at_home(&self, hash: u32) -> Option<Vacant> {
        let at = hash as usize & self.chunks.len().wrapping_sub(1);
        let place = self.chunks.get(at)?.vacant()?;
        Some(Vacant { chunk: at, place })
    }

    /// The id for which `same` holds, or the place to insert it. `same` is asked for some ids of other things, too.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Result<u32, Vacant> {
        let mask = self.chunks.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        // An empty table has no chunk, and grows before anything is put anywhere.
        while let Some(chunk) = self.chunks.get(at) {
            let joined = chunk.joined(hash);
            if joined != 0 {
                if joined <= self.len && same(joined) {
                    return Ok(joined);
                }
                if let Some(id) = chunk.each(hash).find(|&id| same(id)) {
                    return Ok(id);
                }
            }
            if let Some(place) = chunk.vacant() {
                return Err(Vacant { chunk: at, place });
            }
            at = (at + 1) & mask;
        }
        Err(Vacant { chunk: 0, place: 0 })
    }

    /// Fills a place that `find` returned with the next id, unless the table has to grow first.
    #[inline]
    pub(crate) fn insert(&mut self, found: Vacant, hash: u32, id: u32) {
        let place = if self.len < self.room { found } else { self.grow(hash) };
        self.put(place, hash, id);
        self.len = id;
    }

    /// Makes room for this many more ids.
    pub(crate) fn reserve(&mut self, more: usize) {
        let count = self.len as usize + more;
        if count > self.room as usize {
            self.rebuild(chunks_for(count));
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, hash: u32) -> Vacant {
        self.rebuild((self.chunks.len() * 2).max(4));
        self.vacant(hash)
    }

    /// Inserts the next id, which is known not to be there.
    pub(crate) fn insert_new(&mut self, hash: u32, id: u32) {
        self.insert(self.vacant(hash), hash, id);
    }

    /// Forgets the ids from `len + 1` on. `generation` is that of when `len` was current.
    pub(crate) fn truncate(&mut self, len: u32, generation: u32, hash_of: impl Fn(u32) -> u32) {
        if self.generation != generation {
            self.len = len;
            self.rebuild(chunks_for(len as usize));
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
            self.put(Vacant { chunk: at, place }, 0, 0);
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
    chunks * PLACES * 4 / 5
}

fn chunks_for(count: usize) -> usize {
    (count * 5).div_ceil(4 * PLACES).next_power_of_two().max(2)
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
        let mut state = self.low ^ (u64::from(kind) << 32 | words.len() as u64).wrapping_mul(A);
        let last = words.last_chunk::<4>().copied().unwrap_or_default();
        for &[a, b, c, d] in words[..words.len().saturating_sub(1)].as_chunks::<4>().0 {
            state = mix(pair(a, b) ^ state, pair(c, d) ^ A);
        }
        self.finish(pair(last[0], last[1]) ^ state, pair(last[2], last[3]))
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

/// Mixes two words into one by a full multiplication.
#[inline(always)]
fn mix(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    (wide as u64) ^ ((wide >> 64) as u64)
}

#[inline(always)]
const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

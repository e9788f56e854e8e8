//! An open-addressing hash table of dense ids, for hash-consing.
//!
//! Linear probing over one array of `u32` entries, at most four fifths full. The table holds exactly the ids
//! `1 ..= len`, so an id needs no more bits than an index into the array; the bits above hold the top of the hash. One entry
//! is therefore four bytes, and a lookup, successful or not, is nearly always one cache line. Growing asks for the hash
//! of each id again, in order, which reads what the ids stand for sequentially.
//!
//! **Invariant:** the table never decides identity. [`Table::find`] asks its caller to compare the things themselves for
//! every entry whose hash bits match.

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<u32>,
    len: u32,
    /// Raised whenever entries move, so that a rollback knows whether it may undo insertions one by one.
    generation: u32,
}

const MIN_ENTRIES: usize = 16;

/// A vacant place that [`Table::find`] found, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant(usize);

impl Table {
    /// A table that can take this many ids before it grows.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut table = Table::default();
        if count > 0 {
            table.entries = vec![0; size_for(count)];
        }
        table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u32>()
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Makes room for one more entry, so that the place found next stays valid.
    #[inline]
    pub(crate) fn reserve_one(&mut self, hash_of: impl Fn(u32) -> u32) {
        if (self.len as usize + 1) * 5 > self.entries.len() * 4 {
            self.rebuild((self.entries.len() * 2).max(MIN_ENTRIES), hash_of);
        }
    }

    #[cold]
    #[inline(never)]
    fn rebuild(&mut self, size: usize, hash_of: impl Fn(u32) -> u32) {
        self.entries.clear();
        self.entries.resize(size, 0);
        self.entries.shrink_to(size);
        for id in 1..=self.len {
            let hash = hash_of(id);
            let place = self.vacant(hash);
            self.entries[place.0] = self.entry(hash, id);
        }
        self.generation = self.generation.wrapping_add(1);
    }

    #[inline]
    fn mask(&self) -> u32 {
        (self.entries.len() as u32).wrapping_sub(1)
    }

    #[inline]
    fn entry(&self, hash: u32, id: u32) -> u32 {
        hash & !self.mask() | id
    }

    fn vacant(&self, hash: u32) -> Vacant {
        let mask = self.mask();
        let mut at = hash & mask;
        while self.entries[at as usize] != 0 {
            at = (at + 1) & mask;
        }
        Vacant(at as usize)
    }

    /// The id for which `same` holds among those with these hash bits, or the place to insert it.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Result<u32, Vacant> {
        if self.entries.is_empty() {
            return Err(Vacant(0));
        }
        let mask = self.mask();
        let mut at = hash & mask;
        loop {
            let entry = self.entries[at as usize];
            if entry == 0 {
                return Err(Vacant(at as usize));
            }
            // An entry whose id is not vacant and whose upper bits are those of the hash.
            if (entry ^ hash) & !mask == 0 && same(entry & mask) {
                return Ok(entry & mask);
            }
            at = (at + 1) & mask;
        }
    }

    /// Fills a place that `find` returned after `reserve_one`, with the next id.
    #[inline]
    pub(crate) fn insert(&mut self, place: Vacant, hash: u32, id: u32) {
        self.entries[place.0] = self.entry(hash, id);
        self.len = id;
    }

    /// Inserts the next id, which is known not to be there.
    pub(crate) fn insert_new(&mut self, hash: u32, id: u32, hash_of: impl Fn(u32) -> u32) {
        self.reserve_one(hash_of);
        let place = self.vacant(hash);
        self.insert(place, hash, id);
    }

    /// Forgets the ids from `len + 1` on. `generation` is that of when `len` was current.
    pub(crate) fn truncate(&mut self, len: u32, generation: u32, hash_of: impl Fn(u32) -> u32) {
        if self.generation != generation {
            self.len = len;
            self.rebuild(size_for(len as usize), hash_of);
            return;
        }
        // No entry has moved: taking them out in reverse leaves the array as it was.
        for id in (len + 1..=self.len).rev() {
            let hash = hash_of(id);
            let (mask, wanted) = (self.mask(), self.entry(hash, id));
            let mut at = hash & mask;
            while self.entries[at as usize] != wanted {
                at = (at + 1) & mask;
            }
            self.entries[at as usize] = 0;
        }
        self.len = len;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Table { generation: self.generation.wrapping_add(1), ..Table::default() };
    }
}

fn size_for(count: usize) -> usize {
    (count * 5 / 4 + 1).next_power_of_two().max(MIN_ENTRIES)
}

/// Mixes two words into one by a full multiplication.
#[inline]
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Seeded hash of a tag and its words.
#[inline]
pub(crate) fn hash_words(seed: u64, tag: u8, words: &[u32]) -> u32 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    const B: u64 = 0xe703_7ed1_a0b4_28db;
    let mut state = seed ^ (u64::from(tag) << 32 | words.len() as u64).wrapping_mul(A);
    let mut pairs = words.chunks_exact(4);
    for four in &mut pairs {
        let low = u64::from(four[0]) | u64::from(four[1]) << 32;
        let high = u64::from(four[2]) | u64::from(four[3]) << 32;
        state = mix(low ^ state, high ^ A);
    }
    let (low, high) = match *pairs.remainder() {
        [a, b, c] => (u64::from(a) | u64::from(b) << 32, u64::from(c)),
        [a, b] => (u64::from(a) | u64::from(b) << 32, 0),
        [a] => (u64::from(a), 0),
        _ => (0, 0),
    };
    let done = mix(low ^ state, high ^ B ^ seed);
    (done ^ (done >> 32)) as u32
}

/// Seeded hash of text.
pub(crate) fn hash_bytes(seed: u64, bytes: &[u8]) -> u32 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
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

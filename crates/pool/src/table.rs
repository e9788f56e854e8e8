//! An open-addressing hash table from 32 hash bits to a dense id, for hash-consing.
//!
//! Linear probing over one array of `u64` entries (hash bits above, id below; zero is vacant), at most four fifths full.
//! Growing moves entries by their stored hash bits and never touches what the ids stand for.
//!
//! **Invariant:** the table never decides identity. [`Table::find`] asks its caller to compare the things themselves for
//! every entry whose hash bits match.

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<u64>,
    len: usize,
    /// Raised whenever entries move, so that a rollback knows whether it may undo insertions one by one.
    generation: u32,
}

const MIN_ENTRIES: usize = 16;

/// A vacant place that [`Table::find`] found, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant(usize);

impl Table {
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut table = Table::default();
        if count > 0 {
            table.resize((count * 5 / 4 + 1).next_power_of_two().max(MIN_ENTRIES));
        }
        table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u64>()
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Makes room for one more entry, so that the place found next stays valid.
    #[inline]
    pub(crate) fn reserve_one(&mut self) {
        if (self.len + 1) * 5 > self.entries.len() * 4 {
            self.resize((self.entries.len() * 2).max(MIN_ENTRIES));
        }
    }

    #[cold]
    fn resize(&mut self, size: usize) {
        let old = std::mem::replace(&mut self.entries, vec![0; size]);
        let mask = size - 1;
        for entry in old {
            if entry != 0 {
                let mut at = (entry >> 32) as usize & mask;
                while self.entries[at] != 0 {
                    at = (at + 1) & mask;
                }
                self.entries[at] = entry;
            }
        }
        self.generation = self.generation.wrapping_add(1);
    }

    /// The id for which `same` holds among those with these hash bits, or the place to insert it.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Result<u32, Vacant> {
        let mask = self.entries.len().wrapping_sub(1);
        if self.entries.is_empty() {
            return Err(Vacant(0));
        }
        let mut at = hash as usize & mask;
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                return Err(Vacant(at));
            }
            if (entry >> 32) as u32 == hash && same(entry as u32) {
                return Ok(entry as u32);
            }
            at = (at + 1) & mask;
        }
    }

    /// Fills a place that `find` returned after `reserve_one`. The id must not be zero.
    #[inline]
    pub(crate) fn insert(&mut self, place: Vacant, hash: u32, id: u32) {
        self.entries[place.0] = u64::from(hash) << 32 | u64::from(id);
        self.len += 1;
    }

    /// Takes out the entry that was inserted last of those still present, if no entry has moved since.
    pub(crate) fn remove_latest(&mut self, hash: u32, id: u32) {
        let mask = self.entries.len() - 1;
        let wanted = u64::from(hash) << 32 | u64::from(id);
        let mut at = hash as usize & mask;
        while self.entries[at] != wanted {
            if self.entries[at] == 0 {
                return;
            }
            at = (at + 1) & mask;
        }
        self.entries[at] = 0;
        self.len -= 1;
    }

    /// Keeps only the entries whose ids are below `limit`.
    pub(crate) fn retain_below(&mut self, limit: u32) {
        let mut old = std::mem::take(&mut self.entries);
        old.retain(|&entry| entry != 0 && (entry as u32) < limit);
        self.len = old.len();
        let size = (self.len * 5 / 4 + 1).next_power_of_two().max(MIN_ENTRIES);
        self.entries = old;
        self.resize(size);
    }
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

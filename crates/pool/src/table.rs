//! An open-addressing hash table of dense ids, for hash-consing.
//!
//! Groups of eight places. One `u64` holds a byte of hash for each place of a group (zero is vacant) and is searched as a
//! word; another array holds the ids. What is searched is an eighth of what a table of hashes and ids would be, so a
//! lookup that finds nothing seldom leaves the cache, and one that finds something reads one id. Groups are probed
//! linearly; at most four fifths of the places are taken.
//!
//! The table holds exactly the ids `1 ..= len`. Growing asks for the hash of each id again, in order, which reads what the
//! ids stand for sequentially.
//!
//! **Invariant:** the table never decides identity. [`Table::find`] asks its caller to compare the things themselves for
//! every entry whose hash bits match.

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    control: Vec<u64>,
    ids: Vec<u32>,
    len: u32,
    /// Raised whenever entries move, so that a rollback knows whether it may undo insertions one by one.
    generation: u32,
}

const GROUP: usize = 8;
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Below this many places, tables grow fourfold, because asking for hashes again costs more than the space.
const SMALL: usize = 1 << 15;

/// A vacant place that [`Table::find`] found, valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacant(usize);

/// A high bit for every zero byte; exact up to and including the lowest.
#[inline(always)]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// The byte of the hash that is kept, never zero. The lower bits choose the group.
#[inline(always)]
const fn control_byte(hash: u32) -> u64 {
    let byte = hash >> 24;
    if byte == 0 { 1 } else { byte as u64 }
}

impl Table {
    /// A table that can take this many ids before it grows.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let mut table = Table::default();
        if count > 0 {
            table.clear_to(places_for(count));
        }
        table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.control.capacity() * size_of::<u64>() + self.ids.capacity() * size_of::<u32>()
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    fn clear_to(&mut self, places: usize) {
        self.control = vec![0; places / GROUP];
        self.ids = vec![0; places];
    }

    /// Makes room for one more entry, so that the place found next stays valid.
    #[inline(always)]
    pub(crate) fn reserve_one(&mut self, hash_of: impl Fn(u32) -> u32) {
        if (self.len as usize + 1) * 5 > self.ids.len() * 4 {
            let factor = if self.ids.len() < SMALL { 4 } else { 2 };
            self.rebuild((self.ids.len() * factor).max(2 * GROUP), hash_of);
        }
    }

    #[cold]
    #[inline(never)]
    fn rebuild(&mut self, places: usize, hash_of: impl Fn(u32) -> u32) {
        self.clear_to(places);
        for id in 1..=self.len {
            let hash = hash_of(id);
            let place = self.vacant(hash);
            self.put(place, hash, id);
        }
        self.generation = self.generation.wrapping_add(1);
    }

    #[inline(always)]
    fn put(&mut self, place: Vacant, hash: u32, id: u32) {
        self.control[place.0 / GROUP] |= control_byte(hash) << (place.0 % GROUP * 8);
        self.ids[place.0] = id;
    }

    fn vacant(&self, hash: u32) -> Vacant {
        let mask = self.control.len() - 1;
        let mut group = hash as usize & mask;
        loop {
            let vacant = zero_bytes(self.control[group]);
            if vacant != 0 {
                return Vacant(group * GROUP + vacant.trailing_zeros() as usize / 8);
            }
            group = (group + 1) & mask;
        }
    }

    /// The id for which `same` holds among those with these hash bits, or the place to insert it.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u32, mut same: impl FnMut(u32) -> bool) -> Result<u32, Vacant> {
        if self.control.is_empty() {
            return Err(Vacant(0));
        }
        let mask = self.control.len() - 1;
        let wanted = control_byte(hash) * LOW;
        let mut group = hash as usize & mask;
        loop {
            let control = self.control[group];
            let mut matches = zero_bytes(control ^ wanted);
            while matches != 0 {
                let id = self.ids[group * GROUP + matches.trailing_zeros() as usize / 8];
                // Above the lowest, a match may be none, and its place vacant.
                if id != 0 && same(id) {
                    return Ok(id);
                }
                matches &= matches - 1;
            }
            let vacant = zero_bytes(control);
            if vacant != 0 {
                return Err(Vacant(group * GROUP + vacant.trailing_zeros() as usize / 8));
            }
            group = (group + 1) & mask;
        }
    }

    /// Fills a place that `find` returned after `reserve_one`, with the next id.
    #[inline]
    pub(crate) fn insert(&mut self, place: Vacant, hash: u32, id: u32) {
        self.put(place, hash, id);
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
            self.rebuild(places_for(len as usize), hash_of);
            return;
        }
        // No entry has moved: taking them out in reverse leaves the arrays as they were.
        let mask = self.control.len().wrapping_sub(1);
        for id in (len + 1..=self.len).rev() {
            let mut group = hash_of(id) as usize & mask;
            let place = loop {
                let places = group * GROUP..(group + 1) * GROUP;
                match self.ids[places].iter().position(|&other| other == id) {
                    Some(at) => break group * GROUP + at,
                    None => group = (group + 1) & mask,
                }
            };
            self.ids[place] = 0;
            self.control[place / GROUP] &= !(0xff << (place % GROUP * 8));
        }
        self.len = len;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Table { generation: self.generation.wrapping_add(1), ..Table::default() };
    }
}

fn places_for(count: usize) -> usize {
    (count * 5 / 4 + 1).next_power_of_two().max(2 * GROUP)
}

/// Mixes two words into one by a full multiplication.
#[inline(always)]
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// Seeded hash of a tag and its words.
#[inline(always)]
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

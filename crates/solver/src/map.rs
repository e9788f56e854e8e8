//! Hash maps with a fast hash whose seed is random for each process. Nothing may depend on their order of iteration.
//!
//! All maps share one seed: a small model is checked in a few microseconds, of which seeds for a dozen maps would be a
//! noticeable part. Most maps stay empty, so [`Map`] and [`Set`] look the seed up when they hash. A table that hashes
//! something for every node stores it ([`HashState`]).

use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;

use foldhash::fast::{FoldHasher, RandomState};
use hashbrown::HashTable;
use smallvec::SmallVec;

/// Up to this number of entries a scan is faster than a hash table, and needs no memory for one.
pub(crate) const MAX_SCANNED: usize = 4;

pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, LookedUp>;
pub(crate) type Set<K> = hashbrown::HashSet<K, LookedUp>;

fn seed() -> &'static RandomState {
    static SEED: OnceLock<RandomState> = OnceLock::new();
    SEED.get_or_init(RandomState::default)
}

/// The seed of the process.
#[derive(Clone, Debug)]
pub(crate) struct HashState(RandomState);

impl Default for HashState {
    fn default() -> Self {
        Self(seed().clone())
    }
}

impl BuildHasher for HashState {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

/// Looks up the seed of the process for each hash, and takes no memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LookedUp;

impl BuildHasher for LookedUp {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        seed().build_hasher()
    }
}

/// A map that scans its first entries, for maps that are small in most models.
pub(crate) struct ScannedMap<K, V> {
    first: [Option<(K, V)>; MAX_SCANNED],
    others: Map<K, V>,
}

impl<K, V> Default for ScannedMap<K, V> {
    fn default() -> Self {
        Self { first: [const { None }; MAX_SCANNED], others: Map::default() }
    }
}

impl<K: Eq + Hash, V> ScannedMap<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self.first.iter().map_while(Option::as_ref).find(|(known, _)| known == key) {
            Some((_, value)) => Some(value),
            None if self.others.is_empty() => None,
            None => self.others.get(key),
        }
    }

    /// Inserts a key that the map does not have.
    pub(crate) fn insert_new(&mut self, key: K, value: V) {
        match self.first.iter_mut().find(|entry| entry.is_none()) {
            Some(free) => *free = Some((key, value)),
            None => {
                self.others.insert(key, value);
            }
        }
    }
}

/// Maximum number of hashes that [`Positions`] scans.
const MAX_SCANNED_HASHES: usize = 32;

/// Number of hashes that [`Positions`] compares at once, in a few vector instructions.
const BLOCK: usize = 8;

/// Number of blocks that [`Positions`] stores without an allocation: a small model has a few shapes and constants.
const MAX_INLINE_BLOCKS: usize = 2;

/// The positions of items in a list without equal items, by the hashes of the items.
///
/// The first hashes are scanned: a scan of a few words takes less time than to allocate and fill a hash table.
#[derive(Clone, Default)]
pub(crate) struct Positions {
    /// The upper half of the hash of each item. The last block ends with zeros.
    hashes: SmallVec<[[u32; BLOCK]; MAX_INLINE_BLOCKS]>,
    /// The number of items.
    count: usize,
    /// The positions, once there are more than [`MAX_SCANNED_HASHES`].
    table: HashTable<u32>,
}

impl Positions {
    /// The position of the item with this hash that `is_same` recognises.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_same: impl FnMut(usize) -> bool) -> Option<usize> {
        let key = Self::key(hash);
        if self.table.is_empty() {
            for (block, keys) in self.hashes.iter().enumerate() {
                if keys.iter().fold(false, |found, known| found | (*known == key)) {
                    let positions = (0..BLOCK).filter(|at| keys[*at] == key).map(|at| block * BLOCK + at);
                    let mut positions = positions.take_while(|at| *at < self.count);
                    if let Some(at) = positions.find(|at| is_same(*at)) {
                        return Some(at);
                    }
                }
            }
            return None;
        }
        let is_found = |at: &u32| Self::hash(&self.hashes, *at as usize) == key && is_same(*at as usize);
        self.table.find(Self::spread(key), is_found).map(|at| *at as usize)
    }

    /// Adds the hash of the item at the next position.
    #[inline]
    pub(crate) fn push(&mut self, hash: u64) {
        let (block, at) = (self.count / BLOCK, self.count % BLOCK);
        if at == 0 {
            self.hashes.push([0; BLOCK]);
        }
        self.hashes[block][at] = Self::key(hash);
        self.count += 1;
        if self.count > MAX_SCANNED_HASHES {
            self.index();
        }
    }

    /// Adds the positions that are not in the table.
    fn index(&mut self) {
        let Self { hashes, count, table } = self;
        let spread = |at: &u32| Self::spread(Self::hash(hashes, *at as usize));
        if table.is_empty() {
            table.reserve(2 * MAX_SCANNED_HASHES, spread);
        }
        for at in table.len()..*count {
            let at = u32::try_from(at).expect("memory ends before 2^32 items");
            table.insert_unique(spread(&at), at, spread);
        }
    }

    fn hash(hashes: &[[u32; BLOCK]], at: usize) -> u32 {
        hashes[at / BLOCK][at % BLOCK]
    }

    fn key(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    /// A hash for the table, which selects a bucket by the low bits and compares the highest ones.
    fn spread(key: u32) -> u64 {
        u64::from(key) << 32 | u64::from(key)
    }
}

/// A set of positions in a list, as bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct PositionSet {
    words: Vec<u64>,
}

impl PositionSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(crate) fn contains(&self, position: usize) -> bool {
        self.words.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    pub(crate) fn insert(&mut self, position: usize) {
        let word = position / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (position % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::{PositionSet, Positions, ScannedMap};

    #[test]
    fn a_set_of_positions_has_the_inserted_ones_only() {
        let mut set = PositionSet::default();
        assert!(set.is_empty());
        for position in [0, 5, 63, 64, 200] {
            set.insert(position);
            assert!(!set.is_empty());
        }
        let found: Vec<usize> = (0..400).filter(|at| set.contains(*at)).collect();
        assert_eq!(found, [0, 5, 63, 64, 200]);
    }

    #[test]
    fn every_position_is_found_by_its_hash_before_and_after_the_table() {
        // The last one makes all hashes zero, as the places of a block without items.
        for equal_bits in [0_u64, 60, 63] {
            let mut positions = Positions::default();
            let hash = |item: usize| (item as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) << equal_bits;
            for item in 0..100 {
                assert_eq!(positions.find(hash(item), |at| at == item), None);
                positions.push(hash(item));
                assert!((0..=item).all(|known| positions.find(hash(known), |at| at == known) == Some(known)));
            }
        }
    }

    #[test]
    fn a_scanned_map_finds_every_key() {
        let mut map = ScannedMap::default();
        for key in 0..20 {
            assert_eq!(map.get(&key), None);
            map.insert_new(key, key * key);
            assert!((0..=key).all(|known| map.get(&known) == Some(&(known * known))));
        }
    }
}

//! Hash maps with a fast hash whose seed is random for each process. Nothing may depend on their order of iteration.
//!
//! All maps share one seed: a small model is checked in a few microseconds, of which seeds for a dozen maps would be a
//! noticeable part. Most maps stay empty, so [`Map`] and [`Set`] look the seed up when they hash. A table that hashes
//! something for every node stores it ([`HashState`]).

use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;

use foldhash::fast::{FoldHasher, RandomState};

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

#[cfg(test)]
mod tests {
    use super::ScannedMap;

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

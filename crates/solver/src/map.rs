//! Hash maps with a fast hash whose seed is random for each process. Nothing may depend on their order of iteration.
//!
//! All maps share one seed: a small model is checked in a few microseconds, of which seeds for a dozen maps would be a
//! noticeable part.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::fast::{FoldHasher, RandomState};

pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, HashState>;
pub(crate) type Set<K> = hashbrown::HashSet<K, HashState>;

/// Hashes with the seed of the process.
#[derive(Clone, Debug)]
pub(crate) struct HashState(RandomState);

impl Default for HashState {
    fn default() -> Self {
        static SEED: OnceLock<RandomState> = OnceLock::new();
        Self(SEED.get_or_init(RandomState::default).clone())
    }
}

impl BuildHasher for HashState {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

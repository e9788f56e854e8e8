//! Hash maps with a fast, seeded hash. Nothing may depend on their order of iteration.

pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;
pub(crate) type Set<K> = hashbrown::HashSet<K, foldhash::fast::RandomState>;

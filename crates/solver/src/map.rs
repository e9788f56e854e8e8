//! Hash maps with the hash of the workspace, whose seeds differ between processes. Nothing may depend on
//! their order of iteration.

use foldhash::fast::RandomState;

pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, RandomState>;
pub(crate) type Set<K> = hashbrown::HashSet<K, RandomState>;

//! Maps and sets of ids and positions, with a fast hash. Their order reaches no output.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;
pub(crate) type Set<T> = HashSet<T, RandomState>;
pub(crate) type OrderedMap<K, V> = indexmap::IndexMap<K, V, RandomState>;
pub(crate) type OrderedSet<T> = indexmap::IndexSet<T, RandomState>;

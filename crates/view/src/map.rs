//! Maps and sets of ids and positions, with a fast hash. Their order reaches no output.
//! A [`Table`] has the order of its insertions.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use foldhash::fast::RandomState;

pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;
pub(crate) type Set<T> = HashSet<T, RandomState>;
pub(crate) type OrderedMap<K, V> = indexmap::IndexMap<K, V, RandomState>;
pub(crate) type OrderedSet<T> = indexmap::IndexSet<T, RandomState>;

/// Items that are stored once, in the order of their first use.
#[derive(Debug)]
pub(crate) struct Table<T> {
    items: Vec<T>,
    known: Map<T, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { items: Vec::new(), known: Map::default() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// A table that begins with these items. Of equal ones, the first is found.
    pub(crate) fn of(items: Vec<T>) -> Self {
        let mut known = Map::default();
        for (at, item) in items.iter().enumerate() {
            known.entry(item.clone()).or_insert(at);
        }
        Self { items, known }
    }

    /// The position of an item, which is added if it is new.
    pub(crate) fn position(&mut self, item: T) -> usize {
        if let Some(at) = self.known.get(&item) {
            return *at;
        }
        let at = self.items.len();
        self.known.insert(item.clone(), at);
        self.items.push(item);
        at
    }
}

impl<T> Table<T> {
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

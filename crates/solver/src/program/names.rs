//! Names of a body, interned, with the value that each means in the scope being read.
//!
//! Entering a nested graph marks the undo log; leaving it puts back what was shadowed. A lookup costs
//! one hash however deep the scope is.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::{NameId, ValueId};

/// A position in the undo log.
#[derive(Clone, Copy)]
pub(super) struct ScopeMark(usize);

#[derive(Default)]
pub(super) struct Names<'a> {
    table: HashTable<NameId>,
    hasher: RandomState,
    pub(super) names: Vec<&'a str>,
    current: Vec<Option<ValueId>>,
    shadowed: Vec<(NameId, Option<ValueId>)>,
    depth: usize,
}

impl<'a> Names<'a> {
    pub(super) fn reserve(&mut self, names: usize) {
        let Self { table, hasher, names: known, .. } = self;
        table.reserve(names, |id| hasher.hash_one(known[id.index()]));
        self.names.reserve(names);
        self.current.reserve(names);
    }

    #[inline]
    pub(super) fn intern(&mut self, name: &'a str) -> NameId {
        let hash = self.hasher.hash_one(name);
        if let Some(id) = self.table.find(hash, |id| self.names[id.index()] == name) {
            return *id;
        }
        let id = NameId::new(self.names.len());
        self.names.push(name);
        self.current.push(None);
        let (names, hasher) = (&self.names, &self.hasher);
        self.table.insert_unique(hash, id, |id| hasher.hash_one(names[id.index()]));
        id
    }

    #[inline]
    pub(super) fn meaning(&self, name: NameId) -> Option<ValueId> {
        self.current[name.index()]
    }

    pub(super) fn define(&mut self, name: NameId, value: ValueId) {
        let before = self.current[name.index()].replace(value);
        if self.depth > 0 {
            self.shadowed.push((name, before));
        }
    }

    /// As [`Names::define`], for a name that nothing has made yet: the graphs around this one may make it.
    pub(super) fn define_everywhere(&mut self, name: NameId, value: ValueId) {
        self.current[name.index()] = Some(value);
    }

    pub(super) fn enter(&mut self) -> ScopeMark {
        self.depth += 1;
        ScopeMark(self.shadowed.len())
    }

    pub(super) fn leave(&mut self, mark: ScopeMark) {
        self.depth -= 1;
        while self.shadowed.len() > mark.0 {
            if let Some((name, before)) = self.shadowed.pop() {
                self.current[name.index()] = before;
            }
        }
    }
}

//! Interned names of a body, and the value that each name denotes in the current scope.
//!
//! A nested graph can shadow the names of the graphs around it. [`Names::enter`] marks the undo log, and
//! [`Names::leave`] restores the shadowed values, so a lookup costs one hash at any depth.

use std::convert::Infallible;
use std::hash::BuildHasher;
use std::str::Utf8Error;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::{NameId, ValueId};
use crate::signature::is_same_name;

/// A position in the undo log.
#[derive(Clone, Copy)]
pub(super) struct ScopeMark(usize);

#[derive(Default)]
pub(super) struct Names<'a> {
    table: HashTable<NameId>,
    hasher: RandomState,
    /// The names in order of their ids. Each is UTF-8.
    pub(super) names: Vec<&'a [u8]>,
    current: Vec<Option<ValueId>>,
    shadowed: Vec<(NameId, Option<ValueId>)>,
    depth: usize,
}

impl<'a> Names<'a> {
    pub(super) fn reserve(&mut self, additional: usize) {
        self.names.reserve(additional);
        self.current.reserve(additional);
        let Self { table, hasher, names, .. } = self;
        table.reserve(additional, |id| hasher.hash_one(names[id.index()]));
    }

    /// As [`Names::intern_bytes`], for an input of a node; `None` for an omitted one. Most nodes read the
    /// output of the node before them, so the newest name is compared first: with a lookup for each, a check
    /// of 5,000 nodes takes 1.07 times as long. The id must be that of [`Names::intern_bytes`], which a test
    /// compares.
    #[inline]
    pub(super) fn intern_input(&mut self, name: &'a [u8]) -> Result<Option<NameId>, Utf8Error> {
        match self.names.last() {
            _ if name.is_empty() => Ok(None),
            Some(newest) if is_same_name(newest, name) => Ok(Some(NameId::new(self.names.len() - 1))),
            Some(_) | None => self.intern_bytes(name).map(Some),
        }
    }

    /// Returns the id of a name. Bytes that were not interned before must be UTF-8.
    pub(super) fn intern_bytes(&mut self, name: &'a [u8]) -> Result<NameId, Utf8Error> {
        self.intern_if(name, |name| std::str::from_utf8(name).map(drop))
    }

    /// Returns the id of a name.
    pub(super) fn intern(&mut self, name: &'a str) -> NameId {
        let Ok(id) = self.intern_if(name.as_bytes(), |_| Ok::<_, Infallible>(()));
        id
    }

    /// Returns the id of a name, which is checked if it is new.
    fn intern_if<E>(
        &mut self,
        name: &'a [u8],
        check: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<NameId, E> {
        let Self { table, hasher, names, current, .. } = self;
        let key = hasher.hash_one(name);
        let is_same = |id: &NameId| is_same_name(names[id.index()], name);
        match table.entry(key, is_same, |id| hasher.hash_one(names[id.index()])) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(vacant) => {
                check(name)?;
                let id = NameId::new(names.len());
                vacant.insert(id);
                names.push(name);
                current.push(None);
                Ok(id)
            }
        }
    }

    /// The value that a name denotes.
    #[inline]
    pub(super) fn meaning(&self, name: NameId) -> Option<ValueId> {
        self.current[name.index()]
    }

    /// Makes a name denote a value until the current graph ends.
    pub(super) fn define(&mut self, name: NameId, value: ValueId) {
        let before = self.current[name.index()].replace(value);
        if self.depth > 0 {
            self.shadowed.push((name, before));
        }
    }

    /// As [`Names::define`], for a name without a definition so far: a graph around the current one may
    /// define it.
    pub(super) fn define_everywhere(&mut self, name: NameId, value: ValueId) {
        self.current[name.index()] = Some(value);
    }

    pub(super) fn enter(&mut self) -> ScopeMark {
        self.depth += 1;
        ScopeMark(self.shadowed.len())
    }

    pub(super) fn leave(&mut self, mark: ScopeMark) {
        self.depth -= 1;
        for (name, before) in self.shadowed.drain(mark.0..).rev() {
            self.current[name.index()] = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_name_keeps_its_id_when_the_table_grows() {
        let texts: Vec<String> = (0..5000).map(|number| format!("value_{number}")).collect();
        let mut names = Names::default();
        let first: Vec<_> = texts.iter().map(|text| names.intern(text)).collect();
        names.reserve(20_000);
        let again: Vec<_> = texts.iter().map(|text| names.intern(text)).collect();
        assert_eq!(first, again);
        assert!(first.iter().enumerate().all(|(at, id)| id.index() == at));
    }

    #[test]
    fn an_input_has_the_id_of_its_name() {
        let texts =
            ["x", "y", "x1", "y1", "größe", "x10", "x01", "y", "value_1", "value_2", "value_1", "value_1"];
        let (mut inputs, mut names) = (Names::default(), Names::default());
        for text in texts {
            assert_eq!(inputs.intern_input(text.as_bytes()), Ok(Some(names.intern(text))), "{text}");
        }
        assert_eq!(inputs.names, names.names);
        assert_eq!(inputs.intern_input(b""), Ok(None));
        assert!(inputs.intern_input(b"\xff").is_err());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_not_a_name() {
        let mut names = Names::default();
        assert!(names.intern_bytes(b"\xff\xfe").is_err());
        assert!(names.intern_bytes("größe".as_bytes()).is_ok());
        assert_eq!(names.names.len(), 1);
    }
}

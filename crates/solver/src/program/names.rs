//! Names of a body, interned, with the value that each means in the scope being read.
//!
//! Entering a nested graph marks the undo log; leaving it puts back what was shadowed. A lookup costs
//! one hash however deep the scope is.
//!
//! Interning names is a third of what building a body costs, so the table is our own: open addressing
//! with linear probing, at most half full, where a place holds half of a hash beside the number. A name
//! that is there costs one probe and one comparison, about half of what a general hash table takes.

use std::hash::BuildHasher;
use std::str::Utf8Error;

use foldhash::fast::RandomState;

use super::{NameId, ValueId};

/// A position in the undo log.
#[derive(Clone, Copy)]
pub(super) struct ScopeMark(usize);

/// A place of the table: nothing, or a name with its hash.
#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    name: Option<NameId>,
}

const EMPTY: Place = Place { hash: 0, name: None };

pub(super) struct Names<'a> {
    /// A power of two of places.
    table: Vec<Place>,
    hasher: RandomState,
    /// Each is UTF-8.
    pub(super) names: Vec<&'a [u8]>,
    current: Vec<Option<ValueId>>,
    shadowed: Vec<(NameId, Option<ValueId>)>,
    depth: usize,
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self {
            table: vec![EMPTY; 16],
            hasher: RandomState::default(),
            names: Vec::new(),
            current: Vec::new(),
            shadowed: Vec::new(),
            depth: 0,
        }
    }
}

impl<'a> Names<'a> {
    pub(super) fn reserve(&mut self, names: usize) {
        self.names.reserve(names);
        self.current.reserve(names);
        self.grow(self.names.len() + names);
    }

    /// The number of a name; bytes that were not met before must be UTF-8.
    #[inline]
    pub(super) fn intern_bytes(&mut self, name: &'a [u8]) -> Result<NameId, Utf8Error> {
        let hash = self.hash(name);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                Place { name: None, .. } => return self.add(hash, name, at),
                Place { hash: other, name: Some(id) } if other == hash && self.names[id.index()] == name => {
                    return Ok(id);
                }
                Place { name: Some(_), .. } => at = (at + 1) & mask,
            }
        }
    }

    /// Names that differ in their last byte alone, as numbered names do, get neighbouring places: where the table
    /// is larger than the caches, that is the difference between one miss for each name and one for ten.
    #[inline]
    fn hash(&self, name: &[u8]) -> u32 {
        const NEIGHBOURS: u32 = 32;
        match name.split_last() {
            Some((last, rest)) => {
                let hash = self.hasher.hash_one(rest) as u32;
                hash.wrapping_add(u32::from(*last) % NEIGHBOURS)
            }
            None => 0,
        }
    }

    /// The number of a name.
    pub(super) fn intern(&mut self, name: &'a str) -> NameId {
        self.intern_bytes(name.as_bytes()).expect("a string is UTF-8")
    }

    fn add(&mut self, hash: u32, name: &'a [u8], at: usize) -> Result<NameId, Utf8Error> {
        // Telling that a short name is ASCII costs a fraction of reading it as UTF-8.
        if !name.is_ascii() {
            std::str::from_utf8(name)?;
        }
        let id = NameId::new(self.names.len());
        self.table[at] = Place { hash, name: Some(id) };
        self.names.push(name);
        self.current.push(None);
        self.grow(self.names.len());
        Ok(id)
    }

    /// Makes room for so many names in all.
    #[inline]
    fn grow(&mut self, names: usize) {
        if names.saturating_mul(2) > self.table.len() {
            self.rehash(names);
        }
    }

    #[cold]
    fn rehash(&mut self, names: usize) {
        let places = names.saturating_mul(2).next_power_of_two();
        let old = std::mem::replace(&mut self.table, vec![EMPTY; places]);
        for place in old.into_iter().filter(|place| place.name.is_some()) {
            let mut at = place.hash as usize & (places - 1);
            while self.table[at].name.is_some() {
                at = (at + 1) & (places - 1);
            }
            self.table[at] = place;
        }
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

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_name_has_one_number_however_the_table_grows() {
        let texts: Vec<String> = (0..5000).map(|number| format!("value_{number}")).collect();
        let mut names = Names::default();
        let first: Vec<_> = texts.iter().map(|text| names.intern(text)).collect();
        names.reserve(20_000);
        let again: Vec<_> = texts.iter().map(|text| names.intern(text)).collect();
        assert_eq!(first, again);
        assert!(first.iter().enumerate().all(|(at, id)| id.index() == at));
    }

    #[test]
    fn bytes_that_are_no_text_are_no_name() {
        let mut names = Names::default();
        assert!(names.intern_bytes(b"\xff\xfe").is_err());
        assert!(names.intern_bytes("größe".as_bytes()).is_ok());
        assert_eq!(names.names.len(), 1);
    }
}

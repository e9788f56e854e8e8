//! Interned names of a body, and the value that each name denotes in the current scope.
//!
//! A nested graph can shadow the names of the graphs around it. [`Names::enter`] marks the undo log, and
//! [`Names::leave`] restores the shadowed values, so a lookup costs one hash at any depth.
//!
//! Exporters number their names, and a graph uses names with near numbers together. [`hash`] keeps such names
//! together in the table. A graph of a million nodes has a table larger than the caches; with hashes that
//! scatter the names (`hash_one(name)`), a check takes 1.5 to 2 times as long, and 0.9 times for 5,000 nodes.
//! Any hash of the name is correct.

use std::convert::Infallible;
use std::hash::{BuildHasher, Hasher};
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
        table.reserve(additional, |id| hash(hasher, names[id.index()]));
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
        let key = hash(hasher, name);
        let is_same = |id: &NameId| is_same_name(names[id.index()], name);
        match table.entry(key, is_same, |id| hash(hasher, names[id.index()])) {
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

/// Hashes everything but the last two digits, and adds them. So names that differ in these digits only are
/// neighbours in the table.
#[inline]
fn hash(hasher: &RandomState, name: &[u8]) -> u64 {
    let (start, end) = match name.split_last_chunk::<8>() {
        Some((start, end)) => (start, u64::from_le_bytes(*end)),
        None => (&[][..], name.iter().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56)),
    };
    let (number, rest) = split_number(end);
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(rest);
    if !start.is_empty() {
        hasher.write(start);
    }
    // The table selects a position by the low bits, and compares the seven highest ones.
    hasher.finish().wrapping_add(number | number << 57)
}

/// Splits the last two adjacent digits, or a digit at the end, from the last eight bytes of a name.
#[inline]
fn split_number(word: u64) -> (u64, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte is a digit if its difference to `0` is at most 9; the sum does not overflow into the next byte.
    let values = word ^ (ONES * 0x30);
    let digits = !(((values & (ONES * 0x7f)) + ONES * 0x76) | values) & (ONES * 0x80);
    // The second of two adjacent digits. The last byte of a name is the highest.
    let pairs = digits & digits << 8;
    if pairs == 0 {
        return match digits >> 63 {
            0 => (0, word),
            _ => (values >> 56, word & !(0xff << 56)),
        };
    }
    let first = 48 - (pairs.leading_zeros() & !7);
    let value = |at: u32| values >> at & 0xf;
    (10 * value(first) + value(first + 8), word & !(0xffff << first))
}

#[cfg(test)]
mod tests {
    use super::{Names, split_number};

    #[test]
    fn the_last_two_digits_are_split_off() {
        let split = |text: &[u8; 8]| {
            let (number, rest) = split_number(u64::from_le_bytes(*text));
            (number, rest.to_le_bytes())
        };
        assert_eq!(split(b"value_17"), (17, *b"value_\0\0"));
        assert_eq!(split(b"v12345_0"), (45, *b"v123\0\0_0"));
        assert_eq!(split(b"20utputs"), (20, *b"\0\0utputs"));
        assert_eq!(split(b"output_7"), (7, *b"output_\0"));
        assert_eq!(split(b"nodigits"), (0, *b"nodigits"));
        assert_eq!(split(b"12345678"), (78, *b"123456\0\0"));
        // The neighbours of the digits in ASCII, and digits with the highest bit set.
        assert_eq!(split(b"/:/:/:/:"), (0, *b"/:/:/:/:"));
        assert_eq!(split(&[0xb1; 8]), (0, [0xb1; 8]));
    }

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

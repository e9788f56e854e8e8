//! Names of a body, interned, with the value that each means in the scope being read.
//!
//! Entering a nested graph marks the undo log; leaving it puts back what was shadowed. A lookup costs
//! one hash however deep the scope is.
//!
//! Interning names is a third of what building a body costs, and where a table is larger than the caches
//! every probe is a miss. So the table is our own, and made for the names that exporters write: numbered ones.
//!
//! - A name is a number of up to three digits, the last of its kind near its end, and *the rest*. The rest is
//!   hashed; the number is added. Names that differ in their numbers alone stand beside one another, in blocks of
//!   a thousand places, in whatever order of the rest's parts they come.
//! - A place that is taken sends a name on by a step which is again the rest's own (double hashing), so a block that
//!   overlaps another moves as a whole, and runs of occupied places do not grow together as under linear probing.
//!   The step is odd and the number of places a power of two, so every place is tried in the end.
//! - Whoever reads a value mostly reads the one that was made last, or the one as far from the last
//!   read as that was from the one before it. Both are tried before anything is hashed.
//!
//! A place holds half of a hash beside the number. What is equal is told by the bytes, never by a hash.

use std::hash::{BuildHasher, Hasher};
use std::str::Utf8Error;

use foldhash::fast::RandomState;

use super::{NameId, ValueId};

/// A position in the undo log.
#[derive(Clone, Copy)]
pub(super) struct ScopeMark(usize);

/// A place of the table: nothing, or a name with a part of its hash.
#[derive(Clone, Copy)]
struct Place {
    tag: u32,
    name: Option<NameId>,
}

const EMPTY: Place = Place { tag: 0, name: None };

/// Where a name is looked for, and by what it is told from most others.
#[derive(Clone, Copy)]
struct Probe {
    first: usize,
    step: usize,
    tag: u32,
}

pub(super) struct Names<'a> {
    /// A power of two of places, at most two thirds of them taken.
    table: Vec<Place>,
    hasher: RandomState,
    /// Each is UTF-8.
    pub(super) names: Vec<&'a [u8]>,
    current: Vec<Option<ValueId>>,
    shadowed: Vec<(NameId, Option<ValueId>)>,
    depth: usize,
    /// The position of the name read last, and how far it was from the one before.
    last_read: usize,
    stride: usize,
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
            last_read: 0,
            stride: 0,
        }
    }
}

impl<'a> Names<'a> {
    pub(super) fn reserve(&mut self, names: usize) {
        self.names.reserve(names);
        self.current.reserve(names);
        self.grow(self.names.len() + names);
    }

    /// As [`Names::intern_bytes`], for a name that is probably known and near the ones that were met last.
    #[inline]
    pub(super) fn intern_read(&mut self, name: &'a [u8]) -> Result<NameId, Utf8Error> {
        let newest = self.names.len().wrapping_sub(1);
        let next = self.last_read.wrapping_add(self.stride);
        let is = |at: usize| self.names.get(at).is_some_and(|known| *known == name);
        let id = if is(next) {
            NameId::new(next)
        } else if is(newest) {
            NameId::new(newest)
        } else {
            self.intern_bytes(name)?
        };
        self.stride = id.index().wrapping_sub(self.last_read);
        self.last_read = id.index();
        Ok(id)
    }

    /// The number of a name; bytes that were not met before must be UTF-8.
    #[inline]
    pub(super) fn intern_bytes(&mut self, name: &'a [u8]) -> Result<NameId, Utf8Error> {
        let probe = self.probe(name);
        let mask = self.table.len() - 1;
        let mut at = probe.first & mask;
        loop {
            match self.table[at] {
                Place { name: None, .. } => return self.add(probe, name, at),
                Place { tag, name: Some(id) } if tag == probe.tag && self.names[id.index()] == name => {
                    return Ok(id);
                }
                Place { name: Some(_), .. } => at = at.wrapping_add(probe.step) & mask,
            }
        }
    }

    #[inline]
    fn probe(&self, name: &[u8]) -> Probe {
        let (start, end) = match name.split_last_chunk::<8>() {
            Some((start, end)) => (start, u64::from_le_bytes(*end)),
            None => (&[][..], name.iter().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56)),
        };
        let (number, rest) = split_number(end);
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(rest);
        if !start.is_empty() {
            hasher.write(start);
        }
        let hash = hasher.finish();
        let (high, low) = ((hash >> 32) as u32, hash as u32);
        Probe {
            first: (low as usize).wrapping_add(number as usize),
            step: (high | 1) as usize,
            tag: high.wrapping_add(number),
        }
    }

    /// The number of a name.
    pub(super) fn intern(&mut self, name: &'a str) -> NameId {
        self.intern_bytes(name.as_bytes()).expect("a string is UTF-8")
    }

    fn add(&mut self, probe: Probe, name: &'a [u8], at: usize) -> Result<NameId, Utf8Error> {
        // Telling that a short name is ASCII costs a fraction of reading it as UTF-8.
        if !name.is_ascii() {
            std::str::from_utf8(name)?;
        }
        let id = NameId::new(self.names.len());
        self.table[at] = Place { tag: probe.tag, name: Some(id) };
        self.names.push(name);
        self.current.push(None);
        self.grow(self.names.len());
        Ok(id)
    }

    /// Makes room for so many names in all.
    #[inline]
    fn grow(&mut self, names: usize) {
        if names.saturating_mul(3) / 2 > self.table.len() {
            self.rehash(names);
        }
    }

    #[cold]
    fn rehash(&mut self, names: usize) {
        let mask = (names.saturating_mul(3) / 2).next_power_of_two() - 1;
        let mut table = vec![EMPTY; mask + 1];
        for (index, name) in self.names.iter().enumerate() {
            let probe = self.probe(name);
            let mut at = probe.first & mask;
            while table[at].name.is_some() {
                at = at.wrapping_add(probe.step) & mask;
            }
            table[at] = Place { tag: probe.tag, name: Some(NameId::new(index)) };
        }
        self.table = table;
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

/// The last two or three digits of the last number of more than one digit in eight bytes (or the last digit, where
/// there is none), and the bytes without them.
#[inline]
fn split_number(word: u64) -> (u32, u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte is a digit where what is left of `0` is at most 9; the sum cannot carry into the next byte.
    let values = word ^ (ONES * 0x30);
    let digits = !(((values & (ONES * 0x7f)) + ONES * 0x76) | values) & (ONES * 0x80);
    // Bytes that are digits after a digit. The last byte of a name is the highest.
    let pairs = digits & digits << 8;
    if pairs == 0 {
        return match digits >> 63 {
            0 => (0, word),
            _ => ((values >> 56) as u32, word & !(0xff << 56)),
        };
    }
    let last = 56 - (pairs.leading_zeros() & !7);
    let value = |at: u32| (values >> at) as u32 & 0xf;
    let mut number = value(last) + 10 * value(last - 8);
    let mut taken = 0xffff << (last - 8);
    if last >= 16 && digits >> (last - 9) & 1 == 1 {
        number += 100 * value(last - 16);
        taken |= 0xff << (last - 16);
    }
    (number, word & !taken)
}

#[cfg(test)]
mod tests {
    use super::{Names, split_number};

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
    fn numbers_are_split_from_what_is_around_them() {
        let split = |text: &[u8; 8]| {
            let (number, rest) = split_number(u64::from_le_bytes(*text));
            (number, rest.to_le_bytes())
        };
        assert_eq!(split(b"value_17"), (17, *b"value_\0\0"));
        assert_eq!(split(b"v12345_0"), (345, *b"v12\0\0\0_0"));
        assert_eq!(split(b"add_20_1"), (20, *b"add_\0\0_1"));
        assert_eq!(split(b"output_0"), (0, *b"output_\0"));
        assert_eq!(split(b"20utputs"), (20, *b"\0\0utputs"));
        assert_eq!(split(b"nodigits"), (0, *b"nodigits"));
        assert_eq!(split(b"12345678"), (678, *b"12345\0\0\0"));
        // Bytes beside the digits, and the same with the highest bit set.
        assert_eq!(split(b"/:/:/:/:"), (0, *b"/:/:/:/:"));
        assert_eq!(split(&[0xb1; 8]), (0, [0xb1; 8]));
    }

    #[test]
    fn what_is_read_where_it_is_expected_is_the_name_that_a_lookup_finds() {
        let texts: Vec<String> = (0..3000).map(|number| format!("v{}_{}", number / 3, number % 3)).collect();
        let mut names = Names::default();
        let made: Vec<_> = texts.iter().map(|text| names.intern(text)).collect();
        for stride in [0, 1, 3, 7, 1000] {
            for at in (0..100).map(|turn| turn * stride % texts.len()) {
                let read = names.intern_read(texts[at].as_bytes());
                assert_eq!(read, Ok(made[at]));
            }
        }
        assert_eq!(names.names.len(), texts.len());
    }

    #[test]
    fn bytes_that_are_no_text_are_no_name() {
        let mut names = Names::default();
        assert!(names.intern_bytes(b"\xff\xfe").is_err());
        assert!(names.intern_bytes("größe".as_bytes()).is_ok());
        assert_eq!(names.names.len(), 1);
    }
}

//! The `op` lines of a table, and the operators by name: an open-addressing hash table with linear probing. Those of the
//! embedded text are computed when this crate is compiled.
//!
//! **Invariant:** the hash table is at most half full, so a search ends.

use super::Table;
use crate::fnv::hash;

/// An `op` line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// The position of the line in the text.
    pub(super) line: u32,
    /// Start and end of the name in the text.
    pub(super) name: u32,
    pub(super) name_end: u32,
    /// The version.
    pub(super) since: u32,
}

/// The `op` lines of the embedded text.
pub(super) static HEADS: [Head; count(b"op ")] = heads();

/// The positions of the `domain` lines of the embedded text.
pub(super) static DOMAINS: [u32; count(b"domain ")] = starts(b"domain ");

/// The operators of the embedded text by name.
pub(super) static BY_NAME: [u32; slots(count(b"op "))] = by_name();

/// The length of the hash table for a number of schemas.
pub(super) const fn slots(schemas: usize) -> usize {
    (2 * schemas + 1).next_power_of_two()
}

/// Positions in the list of heads that may have this name.
pub(super) fn named(by_name: &[u32], name: &str) -> impl Iterator<Item = usize> {
    let first = hash(name.as_bytes(), 0, name.len());
    let slots = (first..).map(|at| by_name[at % by_name.len()]).take_while(|slot| *slot > 0);
    slots.map(|slot| slot as usize - 1)
}

/// Fills an empty hash table with the first head of each operator. A slot holds the position in `heads` plus one, or 0 if it
/// is free. `domains` are the positions of the first heads of the domains.
pub(super) const fn fill(by_name: &mut [u32], text: &[u8], heads: &[Head], domains: &[usize]) {
    let (mut position, mut domain) = (0, 0);
    while position < heads.len() {
        let mut is_first = false;
        while domain < domains.len() && domains[domain] <= position {
            is_first = true;
            domain += 1;
        }
        let (start, end) = (heads[position].name as usize, heads[position].name_end as usize);
        if is_first || !is_same(text, &heads[position - 1], &heads[position]) {
            let mut at = hash(text, start, end) % by_name.len();
            while by_name[at] > 0 {
                at = (at + 1) % by_name.len();
            }
            by_name[at] = position as u32 + 1;
        }
        position += 1;
    }
}

/// Whether two lines have one name.
const fn is_same(text: &[u8], a: &Head, b: &Head) -> bool {
    let length = a.name_end - a.name;
    if b.name_end - b.name != length {
        return false;
    }
    let mut at = 0;
    while at < length {
        if text[(a.name + at) as usize] != text[(b.name + at) as usize] {
            return false;
        }
        at += 1;
    }
    true
}

const TEXT: &[u8] = Table::TEXT.as_bytes();

/// The number of lines with this start.
const fn count(start: &[u8]) -> usize {
    let (mut at, mut found) = (0, 0);
    while at < TEXT.len() {
        if TEXT[at] == b'\n' && continues_with(at + 1, start) {
            found += 1;
        }
        at += 1;
    }
    found
}

/// The positions of the lines with this start.
const fn starts<const COUNT: usize>(start: &[u8]) -> [u32; COUNT] {
    assert!(TEXT.len() < u32::MAX as usize);
    let mut starts = [0; COUNT];
    let (mut at, mut found) = (0, 0);
    while at < TEXT.len() {
        if TEXT[at] == b'\n' && continues_with(at + 1, start) {
            starts[found] = (at + 1) as u32;
            found += 1;
        }
        at += 1;
    }
    starts
}

/// Whether the text continues with these bytes.
const fn continues_with(at: usize, bytes: &[u8]) -> bool {
    let mut length = 0;
    while length < bytes.len() {
        if at + length >= TEXT.len() || TEXT[at + length] != bytes[length] {
            return false;
        }
        length += 1;
    }
    true
}

/// Reads the `op` lines, in which one space separates words.
const fn heads<const COUNT: usize>() -> [Head; COUNT] {
    let lines: [u32; COUNT] = starts(b"op ");
    let mut heads = [Head { line: 0, name: 0, name_end: 0, since: 0 }; COUNT];
    let mut position = 0;
    while position < COUNT {
        let name = lines[position] as usize + b"op ".len();
        let mut end = name;
        while TEXT[end] != b' ' {
            end += 1;
        }
        let (mut since, mut at) = (0, end + 1);
        while TEXT[at].is_ascii_digit() {
            since = 10 * since + (TEXT[at] - b'0') as u32;
            at += 1;
        }
        heads[position] = Head { line: lines[position], name: name as u32, name_end: end as u32, since };
        position += 1;
    }
    heads
}

const fn by_name<const LENGTH: usize>() -> [u32; LENGTH] {
    let mut domains = [0; DOMAINS.len()];
    let mut domain = 0;
    while domain < domains.len() {
        while domains[domain] < HEADS.len() && HEADS[domains[domain]].line < DOMAINS[domain] {
            domains[domain] += 1;
        }
        domain += 1;
    }
    let mut by_name = [0; LENGTH];
    fill(&mut by_name, TEXT, &HEADS, &domains);
    by_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_computed_heads_are_those_of_the_parser() {
        let parsed = Table::parse(Table::TEXT).unwrap();
        assert_eq!(HEADS[..], parsed.heads[..]);
        assert_eq!(BY_NAME[..], parsed.by_name[..]);
        let computed = Table::get().domains().map(|domain| (&domain.schemas, domain.end));
        assert!(computed.eq(parsed.domains().map(|domain| (&domain.schemas, domain.end))));
    }
}

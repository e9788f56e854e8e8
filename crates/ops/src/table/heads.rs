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
pub(super) static HEADS: [Head; COUNTS.schemas] = heads(&STARTS.ops);

/// The positions of the `domain` lines of the embedded text.
pub(super) static DOMAINS: [u32; COUNTS.domains] = STARTS.domains;

/// The operators of the embedded text by name.
pub(super) static BY_NAME: [u32; slots(COUNTS.schemas)] = by_name();

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

/// The numbers in the header of the embedded text.
const COUNTS: Counts = counts(TEXT);

/// The positions of the lines of the embedded text.
const STARTS: Starts<{ COUNTS.domains }, { COUNTS.schemas }> = starts(TEXT);

struct Counts {
    domains: usize,
    schemas: usize,
}

/// The positions of the `domain` and the `op` lines.
struct Starts<const DOMAINS: usize, const OPS: usize> {
    domains: [u32; DOMAINS],
    ops: [u32; OPS],
}

/// Reads the third line: `count 5 domains 227 operators 659 schemas`.
const fn counts(text: &[u8]) -> Counts {
    let (mut at, mut line) = (0, 0);
    while line < 2 {
        line += (text[at] == b'\n') as usize;
        at += 1;
    }
    let mut numbers = [0; 3];
    let mut number = 0;
    while number < numbers.len() {
        while !text[at].is_ascii_digit() {
            at += 1;
        }
        (numbers[number], at) = decimal(text, at);
        number += 1;
    }
    Counts { domains: numbers[0], schemas: numbers[2] }
}

/// The number at a position, and its end.
const fn decimal(text: &[u8], start: usize) -> (usize, usize) {
    let (mut number, mut at) = (0, start);
    while text[at].is_ascii_digit() {
        number = 10 * number + (text[at] - b'0') as usize;
        at += 1;
    }
    (number, at)
}

/// Finds the lines in one pass, because the compiler interprets this function, which is slow. A wrong number in the header is
/// an error of this evaluation.
const fn starts<const DOMAINS: usize, const OPS: usize>(text: &[u8]) -> Starts<DOMAINS, OPS> {
    assert!(text.len() < u32::MAX as usize);
    let mut starts = Starts { domains: [0; DOMAINS], ops: [0; OPS] };
    let (mut at, mut domains, mut ops) = (0, 0, 0);
    while at < text.len() {
        if continues_with(text, at, b"op ") {
            starts.ops[ops] = at as u32;
            ops += 1;
        } else if continues_with(text, at, b"domain ") {
            starts.domains[domains] = at as u32;
            domains += 1;
        }
        while text[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    assert!(domains == DOMAINS && ops == OPS);
    starts
}

/// Whether the text continues with these bytes.
const fn continues_with(text: &[u8], at: usize, bytes: &[u8]) -> bool {
    let mut length = 0;
    while length < bytes.len() {
        if at + length >= text.len() || text[at + length] != bytes[length] {
            return false;
        }
        length += 1;
    }
    true
}

/// Reads the `op` lines, in which one space separates words.
const fn heads<const COUNT: usize>(lines: &[u32; COUNT]) -> [Head; COUNT] {
    let text = TEXT;
    let mut heads = [Head { line: 0, name: 0, name_end: 0, since: 0 }; COUNT];
    let mut position = 0;
    while position < COUNT {
        let name = lines[position] as usize + b"op ".len();
        let mut end = name;
        while text[end] != b' ' {
            end += 1;
        }
        let (since, _) = decimal(text, end + 1);
        heads[position] =
            Head { line: lines[position], name: name as u32, name_end: end as u32, since: since as u32 };
        position += 1;
    }
    heads
}

const fn by_name<const LENGTH: usize>() -> [u32; LENGTH] {
    let (heads, starts) = (&HEADS, &DOMAINS);
    let mut domains = [0; DOMAINS.len()];
    let mut domain = 0;
    while domain < domains.len() {
        while domains[domain] < heads.len() && heads[domains[domain]].line < starts[domain] {
            domains[domain] += 1;
        }
        domain += 1;
    }
    let mut by_name = [0; LENGTH];
    fill(&mut by_name, TEXT, heads, &domains);
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

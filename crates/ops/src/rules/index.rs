//! The entries of each operator name: an open-addressing hash table with linear probing, computed when this crate is
//! compiled, so that a process that checks one model builds none.
//!
//! **Invariant:** every name of every entry of [`FAMILIES`] has a slot of its own. The table is at most half full, so a
//! search ends.

use super::{Entry, FAMILIES};
use crate::fnv::hash;

/// A name in the list of an entry, and the position of the entry.
#[derive(Clone, Copy)]
struct Slot {
    family: u8,
    entry: u8,
    start: u16,
    /// The length of the name; 0 in a free slot.
    length: u16,
}

const FREE: Slot = Slot { family: 0, entry: 0, start: 0, length: 0 };

static SLOTS: [Slot; (2 * count()).next_power_of_two()] = slots();

/// The entries with this name, in the order of the families.
pub(super) fn entries(name: &str) -> impl Iterator<Item = &'static Entry> {
    let first = hash(name.as_bytes(), 0, name.len());
    let slots = (first..).map(|at| SLOTS[at % SLOTS.len()]).take_while(|slot| slot.length > 0);
    slots.filter_map(move |Slot { family, entry, start, length }| {
        let entry = &FAMILIES[usize::from(family)][usize::from(entry)];
        let (start, length) = (usize::from(start), usize::from(length));
        (entry.names.get(start..start + length) == Some(name)).then_some(entry)
    })
}

/// The end of the name that starts at `start`.
const fn end_of_name(text: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < text.len() && !matches!(text[end], b' ' | b'\n') {
        end += 1;
    }
    end
}

/// The number of names of all entries.
const fn count() -> usize {
    let families = FAMILIES;
    let (mut family, mut count) = (0, 0);
    while family < families.len() {
        let entries = families[family];
        let mut entry = 0;
        while entry < entries.len() {
            let text = entries[entry].names.as_bytes();
            let mut at = 0;
            while at < text.len() {
                let end = end_of_name(text, at);
                count += (end > at) as usize;
                at = end + 1;
            }
            entry += 1;
        }
        family += 1;
    }
    count
}

const fn slots<const LENGTH: usize>() -> [Slot; LENGTH] {
    let families = FAMILIES;
    assert!(families.len() <= 256);
    let mut slots = [FREE; LENGTH];
    let mut family = 0;
    while family < families.len() {
        let entries = families[family];
        assert!(entries.len() <= 256);
        let mut entry = 0;
        while entry < entries.len() {
            let text = entries[entry].names.as_bytes();
            assert!(text.len() < 1 << 16);
            let mut start = 0;
            while start < text.len() {
                let end = end_of_name(text, start);
                if end > start {
                    let mut at = hash(text, start, end) % LENGTH;
                    while slots[at].length > 0 {
                        at = (at + 1) % LENGTH;
                    }
                    let (start, length) = (start as u16, (end - start) as u16);
                    slots[at] = Slot { family: family as u8, entry: entry as u8, start, length };
                }
                start = end + 1;
            }
            entry += 1;
        }
        family += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_entries_in_order_and_no_others() {
        let all = || FAMILIES.iter().copied().flatten();
        for name in all().flat_map(Entry::names).chain(["", "Addd", "relu"]) {
            let expected = all().filter(|entry| entry.names().any(|known| known == name));
            // A family lists no entry twice.
            let key = |entry: &Entry| (entry.domain, entry.names, entry.since, entry.until);
            assert!(entries(name).map(key).eq(expected.map(key)), "{name}");
        }
    }
}

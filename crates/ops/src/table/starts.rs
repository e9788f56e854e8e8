//! The positions of lines in the embedded text, computed when this crate is compiled.

use super::Table;

/// The positions of the `op` lines.
pub(super) static OPERATORS: [u32; count(b"op ")] = positions(b"op ");

/// The positions of the `domain` lines.
pub(super) static DOMAINS: [u32; count(b"domain ")] = positions(b"domain ");

/// The number of lines with this start.
const fn count(start: &[u8]) -> usize {
    let text = Table::TEXT.as_bytes();
    let (mut at, mut found) = (0, 0);
    while at < text.len() {
        if text[at] == b'\n' && is_at(text, at + 1, start) {
            found += 1;
        }
        at += 1;
    }
    found
}

/// The positions of the lines with this start.
const fn positions<const COUNT: usize>(start: &[u8]) -> [u32; COUNT] {
    let text = Table::TEXT.as_bytes();
    assert!(text.len() < u32::MAX as usize);
    let mut positions = [0; COUNT];
    let (mut at, mut found) = (0, 0);
    while at < text.len() {
        if text[at] == b'\n' && is_at(text, at + 1, start) {
            positions[found] = (at + 1) as u32;
            found += 1;
        }
        at += 1;
    }
    positions
}

/// Whether a text continues with these bytes.
const fn is_at(text: &[u8], at: usize, start: &[u8]) -> bool {
    let mut length = 0;
    while length < start.len() {
        if at + length >= text.len() || text[at + length] != start[length] {
            return false;
        }
        length += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_computed_positions_are_those_of_a_parser() {
        let positions = |start: &str| -> Vec<u32> {
            let lines = super::super::words::lines(Table::TEXT);
            lines.filter(|(_, line)| line.starts_with(start)).map(|(at, _)| at as u32).collect()
        };
        assert_eq!(OPERATORS[..], positions("op "));
        assert_eq!(DOMAINS[..], positions("domain "));
    }
}

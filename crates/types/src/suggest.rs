//! Suggestions for misspelt names, in bounded time.
//!
//! The optimal string alignment distance of two names costs the product of their lengths, and a model decides
//! both the lengths and the number of names. [`nearest`] therefore compares names of at most [`MAX_NAME`]
//! characters, skips a candidate whose length or letters alone rule it out, and stops after
//! [`MAX_CANDIDATES`] candidates or [`MAX_CELLS`] cells of distance tables. Where a limit is reached, the
//! suggestions are those found so far.

/// Longer names are neither corrected nor suggested, in characters.
pub const MAX_NAME: usize = 256;

/// Maximum number of candidates for one name.
pub const MAX_CANDIDATES: usize = 1 << 16;

/// Maximum number of cells of the distance tables for one name.
pub const MAX_CELLS: usize = 1 << 20;

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;

/// At most three of `names` that could be a misspelt `name`, the nearest first.
#[must_use]
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let Some(length) = short(name) else { return Vec::new() };
    let lower = name.to_lowercase();
    let letters = Letters::of(&lower);
    let mut cells = 0;
    let mut near: Vec<(usize, &str)> = Vec::new();
    for other in names.take(MAX_CANDIDATES) {
        let limit = 1 + name.len().min(other.len()) / 4;
        let Some(other_length) = short(other).filter(|other| other.abs_diff(length) <= limit) else {
            continue;
        };
        let other_lower = other.to_lowercase();
        if letters.distance(&Letters::of(&other_lower)) > limit {
            continue;
        }
        cells += (length + 1) * (other_length + 1);
        if cells > MAX_CELLS {
            break;
        }
        let distance = strsim::osa_distance(&lower, &other_lower);
        if distance <= limit {
            near.push((distance, other));
        }
    }
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// Number of occurrences of each character. Characters with equal low bits share a counter.
struct Letters([u16; 32]);

impl Letters {
    fn of(name: &str) -> Self {
        let mut counts = [0; 32];
        for letter in name.chars() {
            counts[letter as usize % 32] += 1;
        }
        Self(counts)
    }

    /// A lower bound of the alignment distance: each edit adds at most one character and removes at most one.
    fn distance(&self, other: &Self) -> usize {
        let missing = |a: &Self, b: &Self| -> usize {
            a.0.iter().zip(&b.0).map(|(a, b)| usize::from(a.saturating_sub(*b))).sum()
        };
        missing(self, other).max(missing(other, self))
    }
}

/// The number of characters of a name, if it is at most [`MAX_NAME`].
fn short(name: &str) -> Option<usize> {
    // A character has at most four bytes, so that a very long name is not read.
    let is_possible = name.len() <= 4 * MAX_NAME;
    is_possible.then(|| name.chars().count()).filter(|length| *length <= MAX_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["Conv", "ConvTranspose", "Cos", "conv1"];
        assert_eq!(nearest("Conw", names.into_iter()), ["Conv", "conv1"]);
        assert_eq!(nearest("quite different", names.into_iter()), [""; 0]);
    }

    #[test]
    fn names_at_the_limit_are_compared_and_longer_ones_are_not() {
        let name = |length: usize, last: &str| "é".repeat(length - 1) + last;
        let (at, past) = (MAX_NAME, MAX_NAME + 1);
        assert_eq!(nearest(&name(at, "a"), [name(at, "b").as_str()].into_iter()), [name(at, "b")]);
        assert_eq!(nearest(&name(past, "a"), [name(past, "b").as_str()].into_iter()), [""; 0]);
        assert_eq!(nearest(&name(at, "a"), [name(past, "a").as_str()].into_iter()), [""; 0]);
    }

    #[test]
    fn the_number_of_comparisons_is_bounded() {
        // The letters are the same in another order.
        let far = vec!["ecba"; MAX_CANDIDATES];
        let names = |count: usize| far[..count].iter().copied().chain(["abcd"]);
        // 25 cells for each comparison.
        assert_eq!(nearest("abce", names(1000)), ["abcd"]);
        assert_eq!(nearest("abce", names(MAX_CELLS / 25)), [""; 0]);
        // These are excluded by their lengths, without a comparison; only their number is limited.
        let long = vec!["a much longer name"; MAX_CANDIDATES];
        assert_eq!(nearest("abce", long[1..].iter().copied().chain(["abcd"])), ["abcd"]);
        assert_eq!(nearest("abce", long.iter().copied().chain(["abcd"])), [""; 0]);
    }
}

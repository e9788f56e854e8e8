//! The targets of jump links: the skew-binary scheme of Myers (*An applicative random-access stack*, 1983).
//!
//! Entry `n` has depth `n - 1`, written as a sum of weights `2^k - 1` in which only the smallest may occur
//! twice. Its jump link removes the smallest weight. From entry `n`, any earlier entry is reached with at
//! most `3 log2(n) + 2` links: follow the jump unless it passes the target, otherwise the link to the
//! previous entry.

/// The entry that the jump link of entry `number` refers to; `None` for the first entry.
#[must_use]
pub(crate) fn jump(number: u64) -> Option<u64> {
    let depth = number.checked_sub(1).filter(|depth| *depth > 0)?;
    let (mut rest, mut smallest) = (depth, 0);
    // Weights of all 64 bits, from the largest one.
    for weight in (1..=u64::BITS).map(|bits| u64::MAX >> (bits - 1)) {
        while rest >= weight {
            (rest, smallest) = (rest - weight, weight);
        }
    }
    Some(number - smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of Myers: a jump skips two trees of equal size, or goes to the parent.
    fn by_definition(entries: usize) -> Vec<u64> {
        let mut jumps: Vec<u64> = vec![0, 1];
        for number in 2..=entries {
            let parent = number - 1;
            let once = jumps[parent];
            let twice = jumps[usize::try_from(once).unwrap()];
            jumps.push(if parent as u64 - once == once - twice { twice } else { parent as u64 });
        }
        jumps
    }

    #[test]
    fn jumps_follow_the_definition() {
        let expected = by_definition(5000);
        assert_eq!(jump(0), None);
        assert_eq!(jump(1), None);
        for number in 2..=5000_u64 {
            assert_eq!(jump(number), Some(expected[usize::try_from(number).unwrap()]), "{number}");
        }
    }

    #[test]
    fn every_entry_is_reached_with_logarithmically_many_links() {
        for from in [1_u64, 2, 3, 100, 1023, 1024, 4096, 9_999_999_999] {
            let bound = 3 * (u64::BITS - from.leading_zeros()) + 2;
            for target in (1..=from.min(2000)).chain(from.saturating_sub(2000).max(1)..=from) {
                let (mut at, mut links) = (from, 0);
                while at > target {
                    at = jump(at).filter(|jump| *jump >= target).unwrap_or(at - 1);
                    links += 1;
                }
                assert!(at == target && links <= bound, "{from} to {target}: {links}");
            }
        }
    }

    #[test]
    fn the_largest_number_has_a_jump() {
        assert!(jump(u64::MAX).is_some_and(|jump| jump < u64::MAX));
    }
}

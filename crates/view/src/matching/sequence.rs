//! Alignment of two sequences: patience, and bounded Myers between its anchors.
//!
//! 1. Common ends are aligned.
//! 2. Patience (Cohen 2010): tokens that occur once in each sequence are anchors, as far as their order
//!    agrees: a longest increasing subsequence (Schensted 1961).
//! 3. Between anchors: the greedy algorithm of Myers ("An O(ND) difference algorithm and its variations",
//!    1986) up to [`MAX_EDITS`] edits; then the path that reaches furthest is kept, and the search starts
//!    again from its end.
//!
//! **Invariant:** the result is a common subsequence: positions increase in both, and the tokens are equal.
//!
//! **Cost:** O(n log n) for the anchors, O(n [`MAX_EDITS`]) between them. An alignment with at most
//! [`MAX_EDITS`] edits between two anchors is the longest there.
//!
//! The crates `similar` and `imara-diff` were considered. The first is bounded by a clock only, and the work
//! of a comparison is counted here; both recurse over the input.

use super::Work;
use crate::map::Map;

/// The maximum number of edits of one search.
const MAX_EDITS: usize = 64;

/// Aligns two sequences; returns positions of equal tokens.
pub(super) fn align(old: &[u64], new: &[u64], work: &mut Work) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let [from, to] = trim(old, new, [(0, 0), (old.len(), new.len())], &mut found, work);
    let mut at = from;
    for (next_old, next_new) in anchors(&old[from.0..to.0], &new[from.1..to.1], work) {
        let anchor = (from.0 + next_old, from.1 + next_new);
        between(old, new, [at, anchor], &mut found, work);
        found.push(anchor);
        at = (anchor.0 + 1, anchor.1 + 1);
    }
    between(old, new, [at, to], &mut found, work);
    found.sort_unstable();
    found
}

/// A position in both sequences.
type At = (usize, usize);

/// Aligns the common ends of a window; returns the rest.
fn trim(old: &[u64], new: &[u64], window: [At; 2], found: &mut Vec<At>, work: &mut Work) -> [At; 2] {
    let [mut from, mut to] = window;
    while from.0 < to.0 && from.1 < to.1 && old[from.0] == new[from.1] {
        found.push(from);
        from = (from.0 + 1, from.1 + 1);
        work.tokens += 1;
    }
    while from.0 < to.0 && from.1 < to.1 && old[to.0 - 1] == new[to.1 - 1] {
        to = (to.0 - 1, to.1 - 1);
        found.push(to);
        work.tokens += 1;
    }
    [from, to]
}

/// The tokens that occur once in each sequence and whose order agrees.
fn anchors(old: &[u64], new: &[u64], work: &mut Work) -> Vec<At> {
    work.tokens += old.len() + new.len();
    let mut places: Map<u64, [(u32, usize); 2]> = Map::default();
    for (side, tokens) in [old, new].into_iter().enumerate() {
        for (at, token) in tokens.iter().enumerate() {
            let place = &mut places.entry(*token).or_default()[side];
            *place = (place.0 + 1, at);
        }
    }
    let unique = old.iter().enumerate().filter_map(|(at, token)| match places.get(token) {
        Some([(1, _), (1, other)]) => Some((at, *other)),
        Some(_) | None => None,
    });
    let unique: Vec<At> = unique.collect();
    // The last pair of the best subsequence of each length, and the pair before each pair.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(unique.len());
    for (at, (_, position)) in unique.iter().enumerate() {
        let length = ends.partition_point(|end| unique[*end].1 < *position);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chain: Vec<At> =
        std::iter::successors(ends.last().copied(), |at| before[*at]).map(|at| unique[at]).collect();
    chain.reverse();
    chain
}

/// Aligns a window without anchors.
fn between(old: &[u64], new: &[u64], window: [At; 2], found: &mut Vec<At>, work: &mut Work) {
    let [mut from, to] = trim(old, new, window, found, work);
    while from.0 < to.0 && from.1 < to.1 {
        from = search(&old[..to.0], &new[..to.1], from, found, work);
    }
}

/// The progress in `old` on each diagonal after some edits: diagonal `at` of `edits` is the one with
/// `2 at - edits` more tokens of `old` than of `new`. `None` is outside of the window.
type Round = Vec<Option<usize>>;

/// The progress with one more edit, before equal tokens: a token of `old` or of `new` is skipped.
fn step(last: &Round, at: usize, width: usize) -> Option<(usize, usize)> {
    let removed = at.checked_sub(1).and_then(|before| Some((last[before]? + 1, before)));
    let removed = removed.filter(|(x, _)| *x <= width);
    let added = last.get(at).and_then(|x| Some(((*x)?, at)));
    match (removed, added) {
        (Some(removed), Some(added)) if added.0 > removed.0 => Some(added),
        (Some(removed), _) => Some(removed),
        (None, added) => added,
    }
}

/// One search from a position; returns the position that it reached.
fn search(old: &[u64], new: &[u64], from: At, found: &mut Vec<At>, work: &mut Work) -> At {
    let (old, new) = (&old[from.0..], &new[from.1..]);
    let mut rounds: Vec<Round> = Vec::new();
    let mut best = (0, 0, 0);
    for edits in 0..=MAX_EDITS {
        let mut round = Round::with_capacity(edits + 1);
        for at in 0..=edits {
            let start = match rounds.last() {
                Some(last) => step(last, at, old.len()).map(|(x, _)| x),
                None => Some(0),
            };
            let y_of = |x: usize| (x + edits).checked_sub(2 * at).filter(|y| *y <= new.len());
            work.tokens += 1;
            let reached = start.filter(|x| y_of(*x).is_some()).map(|mut x| {
                while let Some(y) = y_of(x)
                    && x < old.len()
                    && y < new.len()
                    && old[x] == new[y]
                {
                    x += 1;
                    work.tokens += 1;
                }
                x
            });
            if let Some(x) = reached
                && let Some(y) = y_of(x)
                && x + y > best.0
            {
                best = (x + y, edits, at);
            }
            round.push(reached);
        }
        rounds.push(round);
        if best.0 == old.len() + new.len() {
            break;
        }
    }
    let (sum, mut edits, mut at) = best;
    let mut x = rounds[edits][at].unwrap_or(0);
    let end = (from.0 + x, from.1 + sum - x);
    loop {
        let before = edits.checked_sub(1).and_then(|last| step(&rounds[last], at, old.len()));
        let start = before.map_or(0, |(x, _)| x);
        found.extend((start..x).map(|x| (from.0 + x, from.1 + x + edits - 2 * at)));
        let Some((_, previous)) = before else { break };
        (edits, at) = (edits - 1, previous);
        x = rounds[edits][at].unwrap_or(0);
    }
    end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use typeloom_testing::number;

    use super::*;

    /// The length of a longest common subsequence, by dynamic programming.
    fn longest(old: &[u64], new: &[u64]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for a in old {
            let mut diagonal = 0;
            for (at, b) in new.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if a == b { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[new.len()]
    }

    #[track_caller]
    fn check(old: &[u64], new: &[u64]) -> usize {
        let found = align(old, new, &mut Work::default());
        for pair in found.windows(2) {
            assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1, "{found:?}");
        }
        assert!(found.iter().all(|(a, b)| old[*a] == new[*b]));
        found.len()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: number(96, 512), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn short_sequences_without_anchors_are_aligned_best(
            old in prop::collection::vec(0..3_u64, 0..24), new in prop::collection::vec(0..3_u64, 0..24),
        ) {
            let mut found = Vec::new();
            between(&old, &new, [(0, 0), (old.len(), new.len())], &mut found, &mut Work::default());
            prop_assert_eq!(found.len(), longest(&old, &new));
        }

        #[test]
        fn an_alignment_of_any_sequences_is_a_common_subsequence(
            old in prop::collection::vec(0..40_u64, 0..300), new in prop::collection::vec(0..40_u64, 0..300),
        ) {
            let found = check(&old, &new);
            prop_assert!(found <= longest(&old, &new));
            prop_assert!(2 * found + 40 >= longest(&old, &new));
        }
    }

    #[test]
    fn the_work_is_linear_for_sequences_without_similarity() {
        let tokens = |seed: u64, length: u64| -> Vec<u64> {
            (0..length).map(|at| crate::matching::hash::of(&[seed, at]) % 7).collect()
        };
        for length in [10_000, 40_000] {
            let mut work = Work::default();
            align(&tokens(1, length), &tokens(2, length), &mut work);
            assert!(work.tokens <= 2 * MAX_EDITS * length as usize, "{} tokens", work.tokens);
        }
    }
}

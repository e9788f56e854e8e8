//! Hashes of structure, equal on every machine. A collision can cost a better match and never states an
//! equality.

/// The hash of nothing.
pub(super) const EMPTY: u64 = 0x5851_f42d_4c95_7f2d;

/// Adds a word to a hash. The finalizer is that of SplitMix64, so that sums of hashes are hashes of
/// multisets.
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let mut mixed = (hash.rotate_left(29) ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The hash of words.
pub(super) fn of(words: &[u64]) -> u64 {
    words.iter().fold(EMPTY, |hash, word| mix(hash, *word))
}

/// The hash of a text.
pub(super) fn text(text: &str) -> u64 {
    let mut hash = mix(EMPTY, text.len() as u64);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    hash
}

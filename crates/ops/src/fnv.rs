//! The hash of tables that are computed when this crate is compiled.

/// The hash of a part of a text (FNV-1a).
pub(crate) const fn hash(text: &[u8], start: usize, end: usize) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = start;
    while at < end {
        hash = (hash ^ text[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash as usize
}

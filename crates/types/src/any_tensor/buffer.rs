//! Shared bytes that are aligned for every element type.
//!
//! **Invariant:** the last word is zero behind the last byte.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The unit of storage; at least as aligned as any element, and on common targets to 16 bytes.
type Word = u128;

const WORD: usize = size_of::<Word>();

/// Bytes that clones share until one of them writes.
#[derive(Clone)]
pub(super) struct Buffer {
    words: Arc<Vec<Word>>,
    len: usize,
}

impl Buffer {
    pub(super) fn zeroed(len: usize) -> Self {
        Self { words: Arc::new(vec![0; len.div_ceil(WORD)]), len }
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let (whole, rest) = bytes.as_chunks::<WORD>();
        let mut words = Vec::with_capacity(bytes.len().div_ceil(WORD));
        words.extend(whole.iter().map(|word| Word::from_ne_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            words.push(Word::from_ne_bytes(last));
        }
        Self { words: Arc::new(words), len: bytes.len() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let words: &mut Vec<Word> = Arc::make_mut(&mut self.words);
        &mut bytemuck::cast_slice_mut(words)[..self.len]
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && (Arc::ptr_eq(&self.words, &other.words) || self.words == other.words)
    }
}

impl Eq for Buffer {}

impl Hash for Buffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

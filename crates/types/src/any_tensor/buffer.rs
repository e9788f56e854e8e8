//! Shared bytes that are aligned for the elements that are kept in them.
//!
//! A few bytes are kept in place, so that numbers cost no allocation. Others are shared between clones until one of
//! them writes. Bytes of somebody else's (a mapped file) are looked at where they are.
//!
//! **Invariant:** in memory of our own the last word is zero behind the last byte.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;

/// The unit of storage; at least as aligned as any element, and on common targets to 16 bytes.
type Word = u128;

const WORD: usize = size_of::<Word>();

/// Bytes that clones share until one of them writes.
#[derive(Clone)]
pub(super) struct Buffer {
    store: Store,
    len: usize,
}

#[derive(Clone)]
enum Store {
    /// At most a word.
    InPlace(Word),
    Shared(Arc<Vec<Word>>),
    /// Of somebody else, and not to be written.
    Foreign(Bytes),
}

/// Memory that a tensor had and another can have: see [`AnyTensor::into_memory`](super::AnyTensor::into_memory).
#[derive(Debug, Default)]
pub struct Memory {
    words: Vec<Word>,
}

impl Memory {
    /// Memory for this many bytes, zeros.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(WORD)] }
    }

    /// How many bytes it has room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.words.capacity() * WORD
    }
}

impl Buffer {
    pub(super) fn zeroed(len: usize) -> Self {
        if len <= WORD {
            return Self { store: Store::InPlace(0), len };
        }
        Self { store: Store::Shared(Arc::new(vec![0; len.div_ceil(WORD)])), len }
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.len() <= WORD {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            return Self { store: Store::InPlace(Word::from_ne_bytes(word)), len: bytes.len() };
        }
        let (whole, rest) = bytes.as_chunks::<WORD>();
        let mut words = Vec::with_capacity(bytes.len().div_ceil(WORD));
        words.extend(whole.iter().map(|word| Word::from_ne_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            words.push(Word::from_ne_bytes(last));
        }
        Self { store: Store::Shared(Arc::new(words)), len: bytes.len() }
    }

    /// These bytes where they are, if they are aligned to `align` there; else a copy.
    pub(super) fn view(bytes: Bytes, align: usize) -> Self {
        if bytes.len() <= WORD || bytes.as_ptr().align_offset(align) != 0 {
            return Self::from_bytes(&bytes);
        }
        let len = bytes.len();
        Self { store: Store::Foreign(bytes), len }
    }

    /// Memory of before, with its contents but for the end of the last word.
    pub(super) fn reused(memory: Memory, len: usize) -> Self {
        if len <= WORD {
            return Self::zeroed(len);
        }
        let mut words = memory.words;
        words.resize(len.div_ceil(WORD), 0);
        if let Some(last) = words.last_mut() {
            *last = 0;
        }
        Self { store: Store::Shared(Arc::new(words)), len }
    }

    /// The memory, where it is our own and nobody shares it.
    pub(super) fn into_memory(self) -> Option<Memory> {
        match self.store {
            Store::InPlace(_) | Store::Foreign(_) => None,
            Store::Shared(words) => Arc::try_unwrap(words).ok().map(|words| Memory { words }),
        }
    }

    /// Whether writing copies first.
    pub(super) fn is_shared(&self) -> bool {
        match &self.store {
            Store::InPlace(_) => false,
            Store::Shared(words) => Arc::strong_count(words) > 1,
            Store::Foreign(_) => true,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.store {
            Store::InPlace(word) => &bytemuck::bytes_of(word)[..self.len],
            Store::Shared(words) => &bytemuck::cast_slice(words)[..self.len],
            Store::Foreign(bytes) => bytes,
        }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        if let Store::Foreign(bytes) = &self.store {
            *self = Self::from_bytes(bytes);
        }
        match &mut self.store {
            Store::InPlace(word) => &mut bytemuck::bytes_of_mut(word)[..self.len],
            Store::Shared(words) => {
                let words: &mut Vec<Word> = Arc::make_mut(words);
                &mut bytemuck::cast_slice_mut(words)[..self.len]
            }
            // What was foreign was copied above.
            Store::Foreign(_) => &mut [],
        }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        if let (Store::Shared(one), Store::Shared(two)) = (&self.store, &other.store)
            && Arc::ptr_eq(one, two)
        {
            return self.len == other.len;
        }
        self.bytes() == other.bytes()
    }
}

impl Eq for Buffer {}

impl Hash for Buffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_bytes_are_viewed_where_they_are_aligned_and_copied_elsewhere() {
        let owner = Bytes::from(vec![7_u8; 256]);
        let offset = owner.as_ptr().align_offset(8);
        let aligned = Buffer::view(owner.slice(offset..offset + 64), 8);
        assert_eq!(aligned.bytes().as_ptr(), owner[offset..].as_ptr());
        let unaligned = Buffer::view(owner.slice(offset + 1..offset + 65), 8);
        assert_ne!(unaligned.bytes().as_ptr(), owner[offset + 1..].as_ptr());
        assert!(aligned == unaligned);
        let mut written = aligned.clone();
        written.bytes_mut()[0] = 1;
        assert_eq!(written.bytes()[..2], [1, 7]);
        assert_eq!(owner[offset], 7);
    }

    #[test]
    fn memory_is_given_back_by_its_last_owner_alone() {
        let buffer = Buffer::from_bytes(&[1; 100]);
        let other = buffer.clone();
        assert!(buffer.into_memory().is_none());
        let memory = other.into_memory().unwrap_or_default();
        assert!(memory.capacity() >= 100);
        let reused = Buffer::reused(memory, 90);
        assert_eq!(reused.bytes().len(), 90);
    }
}

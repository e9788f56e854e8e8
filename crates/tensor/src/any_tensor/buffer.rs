//! Shared bytes that are aligned for any element type.
//!
//! At most 16 bytes are stored inline, so scalars need no allocation. More bytes are shared between clones
//! and copied on write. Foreign bytes (a mapped file) are used in place. Every operator moves tensors, so the
//! size of a buffer is only 24 bytes.
//!
//! **Invariant:** if the data end within a word of allocated memory, the rest of this word is zero. Reused
//! memory can have more words after that. Their contents are arbitrary and never read or copied.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use bytes::Bytes;

use super::budget;
use super::returned::Returned;

/// The unit of allocation, aligned at least as strictly as any element, and to 16 bytes on common targets.
type Word = u128;

const WORD: usize = size_of::<Word>();

/// Inline bytes, aligned for every element. With a `Word` instead, a buffer would have the alignment 16 and
/// the size 32.
type Few = [u64; WORD / size_of::<u64>()];

/// Allocated words. The budget counts them until they are dropped.
#[derive(Debug, Default)]
pub(super) struct Words {
    list: Vec<Word>,
    /// Receives the words when they are dropped, if it still exists.
    home: Weak<Returned>,
}

impl Words {
    fn new(list: Vec<Word>) -> Self {
        budget::add(list.capacity() * WORD);
        Self { list, home: Weak::new() }
    }

    // This is not inlined: most words have no home, and `drop` is inlined.
    #[cold]
    #[inline(never)]
    fn go_to(&mut self, home: &Returned) {
        let list = std::mem::take(&mut self.list);
        home.receive(Memory { words: Self { list, home: Weak::new() } });
    }

    /// Extends the words to at least `len`; new words are zero. Longer memory keeps its length. Otherwise,
    /// the next tensor that needs the length would have to fill the words with zeros again.
    fn extended(mut self, len: usize) -> Self {
        let before = self.list.capacity();
        if self.list.len() < len {
            self.list.resize(len, 0);
        }
        budget::add((self.list.capacity() - before) * WORD);
        self
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            self.go_to(&home);
        }
        budget::subtract(self.list.capacity() * WORD);
    }
}

/// Copy-on-write bytes.
#[derive(Clone)]
pub(super) enum Buffer {
    /// At most 16 bytes, stored inline.
    InPlace { len: u8, few: Few },
    /// Allocated memory.
    Shared { len: usize, words: Arc<Words> },
    /// Read-only memory of another owner.
    Foreign(Arc<Bytes>),
}

/// The memory of a tensor, for reuse by another one; see
/// [`AnyTensor::into_memory`](super::AnyTensor::into_memory).
#[derive(Debug, Default)]
pub struct Memory {
    words: Words,
}

impl Memory {
    /// Allocates zeroed memory for this many bytes.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Self { words: Words::new(vec![0; len.div_ceil(WORD)]) }
    }

    /// Capacity in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.words.list.capacity() * WORD
    }
}

impl Buffer {
    pub(super) fn zeroed(len: usize) -> Self {
        match Self::in_place(&[0; WORD], len) {
            Some(few) => few,
            None => Self::Shared { len, words: Arc::new(Words::new(vec![0; len.div_ceil(WORD)])) },
        }
    }

    /// An inline buffer with the first `len` bytes of `word`; `None` if `len` is too large.
    fn in_place(word: &[u8; WORD], len: usize) -> Option<Self> {
        let short = u8::try_from(len).ok().filter(|_| len <= WORD)?;
        Some(Self::InPlace { len: short, few: bytemuck::cast(*word) })
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.len() <= WORD {
            let mut word = [0; WORD];
            word[..bytes.len()].copy_from_slice(bytes);
            if let Some(few) = Self::in_place(&word, bytes.len()) {
                return few;
            }
        }
        let (whole, rest) = bytes.as_chunks::<WORD>();
        let mut words = Vec::with_capacity(bytes.len().div_ceil(WORD));
        words.extend(whole.iter().map(|word| Word::from_ne_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            words.push(Word::from_ne_bytes(last));
        }
        Self::Shared { len: bytes.len(), words: Arc::new(Words::new(words)) }
    }

    /// Uses the bytes in place if they are aligned to `align`, and copies them otherwise.
    pub(super) fn view(bytes: Bytes, align: usize) -> Self {
        if bytes.len() <= WORD || bytes.as_ptr().align_offset(align) != 0 {
            return Self::from_bytes(&bytes);
        }
        Self::Foreign(Arc::new(bytes))
    }

    /// Reuses memory with its contents. If `len` bytes end within a word, this word becomes zero.
    pub(super) fn reused(memory: Memory, len: usize) -> Self {
        if len <= WORD {
            return Self::zeroed(len);
        }
        budget::reuse(len);
        let mut words = memory.words.extended(len.div_ceil(WORD));
        if let Some(last) = words.list.get_mut(len / WORD).filter(|_| !len.is_multiple_of(WORD)) {
            *last = 0;
        }
        Self::Shared { len, words: Arc::new(words) }
    }

    /// The memory, if it is allocated and not shared.
    pub(super) fn into_memory(self) -> Option<Memory> {
        match self {
            Self::InPlace { .. } | Self::Foreign(_) => None,
            Self::Shared { len: _, words } => {
                let mut words = Arc::try_unwrap(words).ok()?;
                words.home = Weak::new();
                Some(Memory { words })
            }
        }
    }

    /// Returns the memory to `home` when its last owner is dropped, if it is allocated and not shared.
    pub(super) fn return_to(&mut self, home: &Arc<Returned>) {
        if let Self::Shared { len: _, words } = self
            && let Some(words) = Arc::get_mut(words)
        {
            words.home = Arc::downgrade(home);
        }
    }

    /// Whether a write copies the bytes first.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Self::InPlace { .. } => false,
            Self::Shared { len: _, words } => Arc::strong_count(words) > 1,
            Self::Foreign(_) => true,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::InPlace { len, few } => &bytemuck::bytes_of(few)[..usize::from(*len)],
            Self::Shared { len, words } => &bytemuck::cast_slice(&words.list)[..*len],
            Self::Foreign(bytes) => bytes,
        }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        if self.is_shared() {
            *self = Self::from_bytes(self.bytes());
        }
        match self {
            Self::InPlace { len, few } => &mut bytemuck::bytes_of_mut(few)[..usize::from(*len)],
            Self::Shared { len, words } => match Arc::get_mut(words) {
                Some(words) => &mut bytemuck::cast_slice_mut(&mut words.list)[..*len],
                // Shared words were copied above.
                None => &mut [],
            },
            // Foreign bytes were copied above.
            Self::Foreign(_) => &mut [],
        }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        if let (Self::Shared { len, words }, Self::Shared { len: other_len, words: other_words }) =
            (self, other)
            && Arc::ptr_eq(words, other_words)
        {
            return len == other_len;
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
    fn foreign_bytes_are_used_in_place_if_aligned_and_copied_otherwise() {
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
    fn a_buffer_has_24_bytes_and_stores_up_to_16_bytes_inline() {
        assert_eq!(size_of::<Buffer>(), 24);
        for len in 0..=WORD {
            let bytes: Vec<u8> = (1..=len).filter_map(|byte| u8::try_from(byte).ok()).collect();
            let buffer = Buffer::from_bytes(&bytes);
            assert!(matches!(buffer, Buffer::InPlace { .. }));
            assert_eq!(buffer.bytes(), bytes);
            assert_eq!(buffer.bytes().as_ptr().align_offset(8), 0);
        }
        assert!(matches!(Buffer::zeroed(WORD + 1), Buffer::Shared { .. }));
    }

    #[test]
    fn only_the_last_owner_can_take_the_memory_for_reuse() {
        let buffer = Buffer::from_bytes(&[1; 100]);
        let other = buffer.clone();
        assert!(buffer.into_memory().is_none());
        let memory = other.into_memory().unwrap_or_default();
        assert!(memory.capacity() >= 100);
        let reused = Buffer::reused(memory, 90);
        assert_eq!(reused.bytes().len(), 90);
    }

    #[test]
    fn reused_memory_keeps_its_length_and_a_copy_has_the_length_of_the_data() {
        let long = Buffer::from_bytes(&[7; 1000]);
        let short = Buffer::reused(long.into_memory().unwrap_or_default(), 100);
        let mut copy = short.clone();
        copy.bytes_mut().fill(1);
        assert_eq!(copy.bytes(), [1; 100]);
        assert_eq!(short.bytes(), [&[7; 96][..], &[0; 4]].concat());
        assert!(copy.into_memory().is_some_and(|memory| memory.capacity() < 1000));
        let memory = short.into_memory().unwrap_or_default();
        // The words after the data of the short tensor kept their contents. Only the last word of the long
        // tensor, which its data do not fill, is zero.
        let again = Buffer::reused(memory, 1000);
        assert_eq!(again.bytes()[112..992], [7; 880]);
    }
}

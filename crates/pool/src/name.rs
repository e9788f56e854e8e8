//! Names: strings with a dense id inside one pool.
//!
//! **Invariant:** only the string of a name ever leaves the pool; its id is neither hashed into a digest nor written.
//!
//! A name is at least one and at most [`MAX_NAME`] bytes of UTF-8 without control characters. Nothing else is asked of
//! it: names come from many languages, and comparing them is comparing bytes.

use hashbrown::HashTable;

use crate::hash::Hasher;
use crate::intern::remove_ids;

/// The longest name in bytes.
pub const MAX_NAME: usize = 4096;

/// A name inside one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub(crate) u32);

/// Why a string is not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NameError {
    /// It has no characters.
    #[error("a name cannot be empty")]
    Empty,
    /// It has more than [`MAX_NAME`] bytes.
    #[error("a name of {len} bytes is longer than {MAX_NAME}")]
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// It contains a control character.
    #[error("a name cannot contain the control character U+{code:04X}")]
    Control {
        /// The character's code point.
        code: u32,
    },
    /// It is not UTF-8.
    #[error("a name must be UTF-8")]
    NotUtf8,
    /// The pool holds as many names as it can.
    #[error("too many names")]
    Full,
}

/// Checks a string against the rules for names.
///
/// # Errors
/// The first rule it breaks.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > MAX_NAME {
        return Err(NameError::TooLong { len: name.len() });
    }
    match name.chars().find(|c| c.is_control()) {
        Some(c) => Err(NameError::Control { code: c.into() }),
        None => Ok(()),
    }
}

/// The strings of a pool, back to back, and the table that finds them.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    text: String,
    /// `ends[i]` is where name `i` ends; name 0 is the empty string, so that ids start at 1.
    ends: Vec<u32>,
    index: HashTable<u32>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Names { text: String::new(), ends: vec![0], index: HashTable::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<u32>() + self.index.allocation_size()
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &str {
        text_of(&self.text, &self.ends, id)
    }

    pub(crate) fn find(&self, hasher: &Hasher, name: &str) -> Option<u32> {
        self.index.find(hasher.text(name), |&id| self.get(id) == name).copied()
    }

    /// The id of a string that is known to be a name.
    pub(crate) fn intern(&mut self, hasher: &Hasher, name: &str) -> Result<u32, NameError> {
        if let Some(id) = self.find(hasher, name) {
            return Ok(id);
        }
        let end = u32::try_from(self.text.len() + name.len()).map_err(|_| NameError::Full)?;
        let id = self.ends.len() as u32;
        self.text.push_str(name);
        self.ends.push(end);
        let Names { text, ends, index } = self;
        index.insert_unique(hasher.text(name), id, |&id| hasher.text(text_of(text, ends, id)));
        Ok(id)
    }

    /// Removes every name from `len` on.
    pub(crate) fn truncate(&mut self, hasher: &Hasher, len: usize) {
        let Names { text, ends, index } = self;
        remove_ids(index, len, ends.len(), |id| hasher.text(text_of(text, ends, id)));
        ends.truncate(len);
        text.truncate(ends[len - 1] as usize);
    }
}

#[inline]
fn text_of<'t>(text: &'t str, ends: &[u32], id: u32) -> &'t str {
    let id = id as usize;
    match id.checked_sub(1).and_then(|before| Some((*ends.get(before)?, *ends.get(id)?))) {
        Some((start, end)) => &text[start as usize..end as usize],
        None => "",
    }
}

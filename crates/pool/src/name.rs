//! Names: strings with a dense id inside one pool.
//!
//! A name has at least one and at most [`MAX_NAME`] bytes of UTF-8 without control characters. There are no
//! other rules, because names come from many languages. Names are compared bytewise.
//!
//! **Invariant:** only the string of a name leaves the pool; its id is neither hashed into a digest nor
//! written.

use hashbrown::HashTable;

use crate::hash::Hasher;
use crate::intern::remove_ids;

/// Maximum length of a name in bytes.
pub const MAX_NAME: usize = 4096;

/// Id of a name inside one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(crate) u32);

/// Error of a string that is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NameError {
    /// An empty string.
    #[error("a name cannot be empty")]
    Empty,
    /// A string of more than [`MAX_NAME`] bytes.
    #[error("a name of {len} bytes is longer than {MAX_NAME}")]
    TooLong {
        /// Length in bytes.
        len: usize,
    },
    /// A string with a control character.
    #[error("a name cannot contain the control character U+{code:04X}")]
    Control {
        /// Code point of the character.
        code: u32,
    },
    /// Bytes that are not UTF-8.
    #[error("a name must be UTF-8")]
    NotUtf8,
    /// The pool has the maximum number of names.
    #[error("too many names")]
    Full,
}

/// Checks a string against the rules for names.
///
/// # Errors
/// The first violated rule.
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

/// Strings of a pool, concatenated, with an index.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    text: String,
    /// `ends[i]` is the end of the name with id `i`. Id 0 is the empty string, so ids of names start at 1.
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

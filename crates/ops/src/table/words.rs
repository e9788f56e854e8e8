//! Splits a line into words.

use super::TableErrorKind;

/// The lines of a text without line ends, with their offsets.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (start, line.strip_suffix('\r').unwrap_or(line))
    })
}

/// Error for an unexpected word.
pub(crate) fn unexpected(expected: &'static str, found: &str) -> TableErrorKind {
    TableErrorKind::Unexpected { expected, found: found.into() }
}

/// The unread part of a line.
pub(crate) struct WordReader<'a>(pub(crate) &'a str);

impl<'a> WordReader<'a> {
    pub(crate) fn next_word(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_ascii_start();
        let (word, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The remaining words.
    pub(crate) fn rest(&mut self) -> impl Iterator<Item = &'a str> {
        std::iter::from_fn(|| self.next_word())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.trim_ascii_start().is_empty()
    }

    pub(crate) fn word(&mut self, expected: &'static str) -> Result<&'a str, TableErrorKind> {
        self.next_word().ok_or(TableErrorKind::Missing { expected })
    }

    pub(crate) fn number(&mut self, expected: &'static str) -> Result<u32, TableErrorKind> {
        let word = self.word(expected)?;
        word.parse().map_err(|_| unexpected(expected, word))
    }

    /// Reads the word `literal`, named `expected` in errors.
    pub(crate) fn literal(&mut self, literal: &str, expected: &'static str) -> Result<(), TableErrorKind> {
        let word = self.word(expected)?;
        if word == literal { Ok(()) } else { Err(unexpected(expected, word)) }
    }

    /// Reads a string in double quotes; a backslash escapes a quote or a backslash.
    pub(crate) fn quoted(&mut self) -> Result<Box<str>, TableErrorKind> {
        let rest = self.0.trim_ascii_start();
        let error = || unexpected("a string in double quotes", rest);
        let inner = rest.strip_prefix('"').ok_or_else(error)?;
        let mut value = String::new();
        let mut chars = inner.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.0 = &inner[at + 1..];
                    return Ok(value.into());
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                    _ => return Err(error()),
                },
                other => value.push(other),
            }
        }
        Err(error())
    }

    pub(crate) fn end(&mut self) -> Result<(), TableErrorKind> {
        self.next_word().map_or(Ok(()), |found| Err(unexpected("the end of the line", found)))
    }
}

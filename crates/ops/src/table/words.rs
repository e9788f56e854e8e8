//! A line as a list of words, read from the left.

use super::TableErrorKind as Fault;

/// The lines of a text, without their ends, with the offsets at which they start.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (start, line.strip_suffix('\r').unwrap_or(line))
    })
}

/// `expected` belongs here, but there is something else.
pub(crate) fn unexpected(expected: &'static str, found: &str) -> Fault {
    Fault::Unexpected { expected, found: found.into() }
}

/// What is left of a line.
pub(crate) struct Words<'a>(pub(crate) &'a str);

impl<'a> Words<'a> {
    pub(crate) fn next_word(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_ascii_start();
        let (word, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// All words that are left.
    pub(crate) fn rest(&mut self) -> impl Iterator<Item = &'a str> {
        std::iter::from_fn(|| self.next_word())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.trim_ascii_start().is_empty()
    }

    pub(crate) fn word(&mut self, expected: &'static str) -> Result<&'a str, Fault> {
        self.next_word().ok_or(Fault::Missing { expected })
    }

    pub(crate) fn number(&mut self, expected: &'static str) -> Result<u32, Fault> {
        let word = self.word(expected)?;
        word.parse().map_err(|_| unexpected(expected, word))
    }

    /// The word `literal`, which a fault calls `expected`.
    pub(crate) fn literal(&mut self, literal: &str, expected: &'static str) -> Result<(), Fault> {
        let word = self.word(expected)?;
        if word == literal { Ok(()) } else { Err(unexpected(expected, word)) }
    }

    /// A string in double quotes, in which a backslash makes a quote or a backslash ordinary.
    pub(crate) fn quoted(&mut self) -> Result<Box<str>, Fault> {
        let rest = self.0.trim_ascii_start();
        let fault = || unexpected("a string in double quotes", rest);
        let inner = rest.strip_prefix('"').ok_or_else(fault)?;
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
                    _ => return Err(fault()),
                },
                other => value.push(other),
            }
        }
        Err(fault())
    }

    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        self.next_word().map_or(Ok(()), |found| Err(unexpected("the end of the line", found)))
    }
}

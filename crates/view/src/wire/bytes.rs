//! Numbers and texts in columns.

use super::{Error, MAX_PREFIX};

/// The bytes of a column during encoding.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub(super) fn signed(&mut self, number: i64) {
        self.number(zigzag(number));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Small numbers for small distances in both directions.
pub(super) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

pub(super) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The rest of a column during decoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) column: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(column: &'static str, rest: &'a [u8]) -> Self {
        Self { column, rest }
    }

    pub(super) fn invalid(&self, reason: &'static str) -> Error {
        Error::Invalid { column: self.column, reason }
    }

    fn truncated(&self) -> Error {
        Error::Truncated { column: self.column }
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(Error::Surplus { column: self.column }) }
    }

    /// The number of bytes of the rest.
    pub(super) fn length(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // One encoding for each number.
                return if byte == 0 && shift > 0 {
                    Err(self.invalid("a number is padded"))
                } else {
                    Ok(number)
                };
            }
        }
        Err(self.invalid("a number is too large"))
    }

    pub(super) fn signed(&mut self) -> Result<i64, Error> {
        Ok(unzigzag(self.number()?))
    }

    /// The number of items in the rest of the column, each of at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, Error> {
        let count = self.number()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            Ok(_) | Err(_) => Err(self.truncated()),
        }
    }

    /// Checks that the rest of the column has one byte for each of `count` items of other columns.
    pub(super) fn has(&self, count: usize) -> Result<(), Error> {
        if count <= self.rest.len() { Ok(()) } else { Err(self.truncated()) }
    }

    /// A position in a table.
    pub(super) fn position(&mut self, length: usize) -> Result<usize, Error> {
        let number = self.number()?;
        let position = usize::try_from(number).ok().filter(|at| *at < length);
        position.ok_or_else(|| self.invalid("a position is outside of its table"))
    }

    /// A position in a table, by its distance from another one.
    pub(super) fn position_from(&mut self, origin: i64, length: usize) -> Result<usize, Error> {
        let distance = self.signed()?;
        self.at(origin, distance, length)
    }

    /// The position at a distance from another one.
    pub(super) fn at(&self, origin: i64, distance: i64, length: usize) -> Result<usize, Error> {
        let position = origin.checked_add(distance).and_then(|at| usize::try_from(at).ok());
        position.filter(|at| *at < length).ok_or_else(|| self.invalid("a position is outside of its table"))
    }

    pub(super) fn small(&mut self) -> Result<u32, Error> {
        u32::try_from(self.number()?).map_err(|_| self.invalid("a number is too large"))
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Error> {
        let length = self.count()?;
        let bytes = self.bytes(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.invalid("a text is not UTF-8"))
    }
}

/// The signed distance of a position.
pub(super) fn signed(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// Columns of names during encoding: shared bytes, lengths of the rests, and the rests.
#[derive(Debug, Default)]
pub(super) struct NameWriter<'w> {
    pub(super) shared: Writer,
    pub(super) lengths: Writer,
    pub(super) texts: Writer,
    previous: &'w str,
}

impl<'w> NameWriter<'w> {
    /// Writes a name after the previous one.
    pub(super) fn next(&mut self, name: &'w str) {
        let base = self.previous;
        self.push(base, name);
    }

    /// Writes a name after another one.
    pub(super) fn push(&mut self, base: &str, name: &'w str) {
        let shared = shared(base, name);
        self.shared.byte(shared as u8);
        self.lengths.count(name.len() - shared);
        self.texts.0.extend_from_slice(&name.as_bytes()[shared..]);
        self.previous = name;
    }

    pub(super) fn previous(&self) -> &'w str {
        self.previous
    }
}

/// The number of shared first bytes, of whole characters.
pub(super) fn shared(a: &str, b: &str) -> usize {
    let pairs = a.bytes().zip(b.bytes()).take(MAX_PREFIX);
    let count = pairs.take_while(|(a, b)| a == b).count();
    (0..=count).rev().find(|at| a.is_char_boundary(*at) && b.is_char_boundary(*at)).unwrap_or(0)
}

/// Reads one name after another one.
pub(super) fn name(
    shared: &mut Reader<'_>,
    lengths: &mut Reader<'_>,
    texts: &mut Reader<'_>,
    base: &str,
) -> Result<String, Error> {
    let count = usize::from(shared.byte()?);
    let head = base.get(..count).ok_or_else(|| shared.invalid("the previous name is shorter"))?;
    let length = usize::try_from(lengths.number()?).map_err(|_| lengths.invalid("a length is too large"))?;
    let rest = std::str::from_utf8(texts.bytes(length)?).map_err(|_| texts.invalid("a text is not UTF-8"))?;
    Ok([head, rest].concat())
}

//! Reads a file by byte ranges with adaptive read-ahead.
//!
//! Records that follow each other are read in blocks that double up to `MAX_BLOCK`. After a jump over a
//! payload, blocks start again at `MIN_BLOCK`, because the next payload is often a few hundred bytes away.
//! Short payloads are read and discarded while that is cheap, since a request takes longer than a few
//! kilobytes do.
//!
//! **Invariant:** no request and no allocation exceeds what is left of [`Limits`].

use bytes::{Bytes, BytesMut};

use crate::fleet::error::FetchError;

/// Size in bytes of the first read.
pub const FIRST_BLOCK: u64 = 128 << 10;
/// Size in bytes of a read after a jump.
const MIN_BLOCK: u64 = 1 << 10;
/// Maximum size in bytes of a read-ahead.
const MAX_BLOCK: u64 = 256 << 10;
/// Until this number of bytes is read, payloads up to [`SHORT_GAP`] are read and discarded.
const CHEAP_BYTES: u64 = 256 << 10;
/// Maximum number of bytes that are read and discarded rather than skipped.
const SHORT_GAP: u64 = 16 << 10;
/// From this number of requests on, gaps up to [`LONG_GAP`] are read: the time of requests dominates.
const MANY_REQUESTS: u64 = 1000;
/// See [`MANY_REQUESTS`].
const LONG_GAP: u64 = 64 << 10;

/// Limits of the reads of one model.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of bytes, which also bounds the size of the skeleton.
    pub bytes: u64,
    /// Maximum number of requests.
    pub requests: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 128 << 20, requests: 20_000 }
    }
}

/// Counts of the reads of one model. Retries of a request are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of bytes of bodies.
    pub bytes: u64,
    /// Number of requests.
    pub requests: u64,
}

/// Byte ranges of one file.
pub trait Source {
    /// The bytes from `start` to `end`, exactly.
    ///
    /// # Errors
    /// The range cannot be read.
    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, FetchError>;
}

/// A file with read-ahead.
pub(crate) struct Reader<'a> {
    source: &'a mut dyn Source,
    limits: Limits,
    counts: Counts,
    /// The size of the file.
    size: u64,
    /// The last read block and its offset.
    block: Bytes,
    start: u64,
    window: u64,
}

impl<'a> Reader<'a> {
    /// A reader of a file of `size` bytes whose first bytes are `block`.
    pub(crate) fn new(
        source: &'a mut dyn Source,
        limits: Limits,
        size: u64,
        block: Bytes,
        counts: Counts,
    ) -> Self {
        let window = (block.len() as u64).max(MIN_BLOCK);
        Self { source, limits, counts, size, block, start: 0, window }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The bytes from `at` to `end`, which must be inside the file.
    pub(crate) fn bytes(&mut self, at: u64, end: u64) -> Result<Bytes, FetchError> {
        if at < self.start {
            return self.request(at, end);
        }
        if end > self.block_end() {
            self.advance(at, end)?;
        }
        // The block is in memory, so offsets in it fit in `usize`.
        Ok(self.block.slice((at - self.start) as usize..(end - self.start) as usize))
    }

    fn block_end(&self) -> u64 {
        self.start + self.block.len() as u64
    }

    /// Makes the bytes from `at` to `end` part of the block.
    fn advance(&mut self, at: u64, end: u64) -> Result<(), FetchError> {
        let read = self.block_end();
        let gap = at.saturating_sub(read);
        let from = if gap > self.max_gap() {
            self.window = MIN_BLOCK;
            at
        } else {
            self.window = (self.window * 2).clamp(MIN_BLOCK, MAX_BLOCK);
            read
        };
        // Read-ahead is not worth the rest of the limit.
        let left = self.limits.bytes.saturating_sub(self.counts.bytes);
        let ahead = (from + self.window.min(left)).min(self.size);
        let new = self.request(from, end.max(ahead))?;
        self.block = if at < from {
            let mut joined = BytesMut::with_capacity((from - at) as usize + new.len());
            joined.extend_from_slice(&self.block[(at - self.start) as usize..]);
            joined.extend_from_slice(&new);
            joined.freeze()
        } else {
            new
        };
        self.start = at.min(from);
        Ok(())
    }

    fn max_gap(&self) -> u64 {
        if self.counts.requests >= MANY_REQUESTS {
            LONG_GAP
        } else if self.counts.bytes < CHEAP_BYTES {
            SHORT_GAP
        } else {
            0
        }
    }

    fn request(&mut self, start: u64, end: u64) -> Result<Bytes, FetchError> {
        self.counts.requests += 1;
        self.counts.bytes = self.counts.bytes.saturating_add(end - start);
        if self.counts.bytes > self.limits.bytes {
            let limit = self.limits.bytes;
            return Err(FetchError::Limit(format!("the model without its weights exceeds {limit} bytes")));
        }
        if self.counts.requests > self.limits.requests {
            let limit = self.limits.requests;
            return Err(FetchError::Limit(format!("reading the model needs more than {limit} requests")));
        }
        let bytes = self.source.read(start, end)?;
        if bytes.len() as u64 == end - start {
            return Ok(bytes);
        }
        Err(FetchError::Limit(format!("the store returned {} bytes instead of {}", bytes.len(), end - start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of zeros with a log of reads.
    #[derive(Default)]
    struct Log(Vec<(u64, u64)>);

    impl Source for Log {
        fn read(&mut self, start: u64, end: u64) -> Result<Bytes, FetchError> {
            self.0.push((start, end));
            Ok(Bytes::from(vec![0; (end - start) as usize]))
        }
    }

    fn reader(log: &mut Log, limits: Limits) -> Reader<'_> {
        let first = Bytes::from(vec![0; 1000]);
        Reader::new(log, limits, 10 << 20, first, Counts { bytes: CHEAP_BYTES, requests: 1 })
    }

    #[test]
    fn blocks_double_and_shrink_after_a_jump() -> Result<(), FetchError> {
        let mut log = Log::default();
        let mut reader = reader(&mut log, Limits::default());
        reader.bytes(990, 1010)?;
        reader.bytes(3000, 4000)?;
        reader.bytes(5 << 20, (5 << 20) + 20)?;
        assert_eq!(reader.bytes(10, 20)?.len(), 10);
        assert_eq!(reader.counts().requests, 5);
        let jump = 5 << 20;
        assert_eq!(log.0, [(1000, 3048), (3048, 7144), (jump, jump + MIN_BLOCK), (10, 20)]);
        Ok(())
    }

    #[test]
    fn limits_end_the_reads() {
        let mut log = Log::default();
        let limits = Limits { bytes: CHEAP_BYTES + 4096, requests: 3 };
        let mut reader = reader(&mut log, limits);
        assert!(matches!(reader.bytes(1 << 20, 2 << 20), Err(FetchError::Limit(_))));
        let mut log = Log::default();
        let mut reader = self::reader(&mut log, Limits { requests: 3, ..Limits::default() });
        assert!((1..4).map(|at| reader.bytes(at << 20, (at << 20) + 1)).any(|read| read.is_err()));
        assert_eq!(log.0.len(), 2);
    }
}

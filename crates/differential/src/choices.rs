//! The stream of choices that determines a program: from a seed, or from the bytes of a fuzzer.

/// A stream of choices. Equal streams produce equal programs.
#[derive(Clone, Debug)]
pub struct Choices {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// The state of SplitMix64.
    Seed(u64),
    /// Bytes in order, then zeros.
    Bytes(std::collections::VecDeque<u8>),
}

impl Choices {
    /// A stream of random choices from a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { source: Source::Seed(seed) }
    }

    /// A stream that reads one byte per choice. After the last byte, every choice is the first option.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self { source: Source::Bytes(bytes.iter().copied().collect()) }
    }

    /// A number below `count`, or 0 if `count` is 0.
    pub fn below(&mut self, count: usize) -> usize {
        let bits = match &mut self.source {
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mut bits = *state;
                bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                usize::try_from((bits ^ (bits >> 31)) >> 33).unwrap_or(0)
            }
            Source::Bytes(bytes) => usize::from(bytes.pop_front().unwrap_or(0)),
        };
        if count == 0 { 0 } else { bits % count }
    }

    /// Whether an event of this probability (in percent) occurs.
    pub fn percent(&mut self, probability: usize) -> bool {
        // An exhausted stream chooses the first option: the event does not occur.
        self.below(100) >= 100 - probability.min(100)
    }

    /// A number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let count = usize::try_from(high - low + 1).unwrap_or(0);
        low + i64::try_from(self.below(count)).unwrap_or(0)
    }

    /// One of the options.
    ///
    /// # Panics
    /// If `options` is empty.
    pub fn pick<'o, T>(&mut self, options: &'o [T]) -> &'o T {
        &options[self.below(options.len())]
    }
}

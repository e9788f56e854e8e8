//! Reproducible pseudorandom numbers.
//!
//! Selected peers and the order of samples must be reproducible across processes, and the generators of
//! libraries change between versions. This module implements SplitMix64 (Steele, Lea, Flood: *Fast Splittable
//! Pseudorandom Number Generators*, 2014), whose constants fix the sequence. It is not cryptographically
//! secure.

/// SplitMix64 generator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeded {
    state: u64,
}

impl Seeded {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniformly distributed number below a bound, or 0 for a bound of 0.
    ///
    /// Rejects values from the last, incomplete multiple of the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let complete = u64::MAX - u64::MAX % bound;
        loop {
            let bits = self.bits();
            if bits < complete {
                return bits % bound;
            }
        }
    }

    /// Returns a uniformly distributed number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        // An `f64` represents integers of 53 bits exactly.
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Moves `count` randomly chosen items to the front in random order (Fisher-Yates).
    pub fn draw<T>(&mut self, items: &mut [T], count: usize) {
        let len = items.len();
        for at in 0..count.min(len.saturating_sub(1)) {
            let left = u64::try_from(len - at).unwrap_or(u64::MAX);
            let offset = usize::try_from(self.below(left)).unwrap_or(0);
            items.swap(at, at + offset);
        }
    }

    /// Shuffles items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.draw(items, items.len());
    }
}

#[cfg(test)]
mod tests {
    use super::Seeded;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let mut seeded = Seeded::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| seeded.bits()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_item_reaches_every_position_about_equally_often() {
        let (mut seeded, mut counts) = (Seeded::new(5), [[0_u32; 4]; 4]);
        for _ in 0..4_000 {
            let mut items = [0, 1, 2, 3];
            seeded.shuffle(&mut items);
            items.iter().enumerate().for_each(|(at, item)| counts[at][*item] += 1);
        }
        assert!(counts.iter().flatten().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn an_empty_range_and_an_empty_list_are_harmless() {
        let mut seeded = Seeded::new(0);
        assert_eq!(seeded.below(0), 0);
        assert_eq!(seeded.below(1), 0);
        seeded.shuffle::<u8>(&mut []);
        assert!((0.0..1.0).contains(&seeded.unit()));
    }
}

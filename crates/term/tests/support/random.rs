//! A small generator of random numbers with a fixed sequence per seed (SplitMix64).

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Seeds selected by `TYPELOOM_RUSTC_SEEDS`: a number of seeds from 0, or a range such as `1000..1060`; one
/// seed by default.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("TYPELOOM_RUSTC_SEEDS") else { return 0..1 };
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    let number = |text: &str| text.parse().expect("TYPELOOM_RUSTC_SEEDS is a number or a range");
    number(from)..number(to)
}

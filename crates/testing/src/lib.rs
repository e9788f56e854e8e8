//! Shared by the tests of the workspace: the number of cases that a test takes, random numbers, recorded
//! models, and the runner of the documents in `spec/` (feature `spec`).
//!
//! A test takes all its cases with `TYPELOOM_TESTS=all`, which `.ci/long` sets, and a part of them otherwise.
//! A plain run is a quick check during development: a test that takes seconds with all cases takes a tenth to
//! a fifth of them. What it asserts about the number of cases of a kind holds for both runs.

pub mod recorded;
#[cfg(feature = "spec")]
pub mod spec;

/// Whether tests take all their cases.
pub fn is_all() -> bool {
    std::env::var("TYPELOOM_TESTS").as_deref() == Ok("all")
}

/// `all` if tests take all their cases, and `few` otherwise: a count, a size, or a step through a list of
/// cases (`number(10, 1)`).
pub fn number<T>(few: T, all: T) -> T {
    if is_all() { all } else { few }
}

/// Random numbers of a seed: SplitMix64 (Steele, Lea and Flood, 2014). A seed gives the same numbers on every
/// machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`; 0 if it is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.bits() % bound.max(1) as u64).expect("the number is below a usize")
    }

    /// `true` once in `count` calls on average; never if it is 0.
    pub fn one_in(&mut self, count: u64) -> bool {
        count > 0 && self.bits().is_multiple_of(count)
    }

    /// An item of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

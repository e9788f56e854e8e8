//! Catalogue of the measured models: families with cases of growing size.
//!
//! A case is an existing file or a generated model.

mod stored;

use std::io::{self, Write};
use std::path::PathBuf;

use typeloom_bench_families::models::{self, Generator};

/// Selection of cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Small sizes: minutes.
    Quick,
    Full,
}

impl Scale {
    /// All of `sizes`, or the first `quick` of them.
    fn of(self, sizes: &[u64], quick: usize) -> Vec<u64> {
        match self {
            Self::Quick => sizes[..quick].to_vec(),
            Self::Full => sizes.to_vec(),
        }
    }
}

/// Models that differ in size only, or that have a common origin.
pub struct Family {
    /// The name for `--only`.
    pub name: &'static str,
    /// Description of the models for the heading of the table.
    pub about: &'static str,
    /// Unit of the size, if cases differ in size only.
    pub size: Option<&'static str>,
    /// The cases, smallest first.
    pub cases: fn(Scale) -> io::Result<Vec<Case>>,
}

pub struct Case {
    pub name: String,
    /// The varied size of the family.
    pub size: Option<u64>,
    /// Origin of the model.
    pub model: Model,
}

/// Origin of a model.
pub enum Model {
    Stored(PathBuf),
    /// Generated for the measurement; the function returns the number of nodes.
    Made(fn(u64, &mut dyn Write) -> io::Result<u64>),
}

/// Every family, in the order of the report.
pub static FAMILIES: &[Family] = &[
    Family {
        name: "light",
        about: "the nine networks of the ONNX test suite without their weights",
        size: None,
        cases: stored::light,
    },
    Family { name: "models", about: "the models of this repository", size: None, cases: stored::models },
    generated(models::CHAIN, |scale| made(scale.of(FLAT, 2), models::CHAIN)),
    generated(models::WIDE, |scale| made(scale.of(FLAT, 2), models::WIDE)),
    generated(models::FAN, |scale| made(scale.of(FLAT, 2), models::FAN)),
    generated(models::IF, |scale| made(scale.of(&[1_000, 4_000, 16_000, 64_000], 2), models::IF)),
    generated(models::FUNCTIONS, |scale| made(scale.of(&[4, 8, 12, 16], 3), models::FUNCTIONS)),
    generated(models::TRANSFORMER, |scale| made(scale.of(&[96, 960, 1536], 1), models::TRANSFORMER)),
    generated(models::HEAVY, |scale| match scale {
        Scale::Quick => made(vec![200_000_000], models::HEAVY),
        Scale::Full => made(vec![2_000_000_000], models::HEAVY),
    }),
];

const FLAT: &[u64] = &[1_000, 10_000, 100_000, 1_000_000];

const fn generated(generator: Generator, cases: fn(Scale) -> io::Result<Vec<Case>>) -> Family {
    Family { name: generator.name, about: generator.about, size: Some(generator.unit), cases }
}

fn made(sizes: Vec<u64>, generator: Generator) -> io::Result<Vec<Case>> {
    let case = |size| Case { name: grouped(size), size: Some(size), model: Model::Made(generator.write) };
    Ok(sizes.into_iter().map(case).collect())
}

/// Formats a number with separators between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).expect("digits are ASCII"))
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 1_000, 64_000, 2_000_000_000].map(grouped), ["7", "1,000", "64,000", "2,000,000,000"]);
    }

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
    }
}

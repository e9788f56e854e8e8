//! The families: inputs of a size, and the work on them that is counted.
//!
//! `size` of a family is small, because programs under callgrind are about 50 times slower, and large enough
//! that work that grows with its square exceeds the limit.

mod check;
mod files;
mod graphs;
mod interfaces;
mod kernels;
mod modules;
mod registry;
mod types;

use anyhow::{Context, Result};

/// The maximum growth of the instructions at ten times the size.
pub(crate) const LINEAR: f64 = 11.0;

/// Work on an input, prepared.
pub(crate) type Work = Box<dyn FnMut()>;

/// Inputs that differ in size only.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// The smaller size.
    pub(crate) size: usize,
    pub(crate) growth: Growth,
    pub(crate) start: Start,
    /// Prepares the input of a size.
    pub(crate) prepare: fn(usize) -> Work,
}

/// The allowed growth.
#[derive(Clone, Copy)]
pub(crate) enum Growth {
    /// At most [`LINEAR`].
    Linear,
    /// At most `times`, because of `reason`.
    Other {
        times: f64,
        #[cfg_attr(not(test), expect(dead_code, reason = "a test reads it, and reviewers"))]
        reason: &'static str,
    },
}

impl Growth {
    pub(crate) fn limit(self) -> f64 {
        match self {
            Self::Linear => LINEAR,
            Self::Other { times, .. } => times,
        }
    }
}

/// The state of the process before the count.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// An input of a tenth of the family's size was processed, so that tables exist and every operator was
    /// applied.
    Warm,
    /// Nothing was processed.
    Cold,
}

impl Start {
    /// The size of the input to process before the counted one, for a family of this size. It is the same for
    /// both counts, so that they start from the same state.
    pub(crate) fn warm_size(self, size: usize) -> Option<usize> {
        match self {
            Self::Warm => Some((size / 10).max(1)),
            Self::Cold => None,
        }
    }
}

/// Every family, in groups.
pub(crate) static FAMILIES: &[&[Family]] = &[
    check::FAMILIES,
    files::FAMILIES,
    interfaces::FAMILIES,
    registry::FAMILIES,
    graphs::FAMILIES,
    types::FAMILIES,
    modules::FAMILIES,
    kernels::FAMILIES,
];

/// The family with a name.
pub(crate) fn find(name: &str) -> Result<&'static Family> {
    let mut families = FAMILIES.iter().flat_map(|group| group.iter());
    families.find(|family| family.name == name).with_context(|| format!("there is no family `{name}`"))
}

/// A family of linear growth whose process is warm.
const fn linear(name: &'static str, unit: &'static str, size: usize, prepare: fn(usize) -> Work) -> Family {
    Family { name, unit, size, growth: Growth::Linear, start: Start::Warm, prepare }
}

/// A generated model.
fn model(generator: typeloom_bench_families::models::Generator, size: usize) -> Vec<u8> {
    generator.model(size as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_distinct() {
        let families = || FAMILIES.iter().flat_map(|group| group.iter());
        let names: HashSet<_> = families().map(|family| family.name).collect();
        assert_eq!(names.len(), families().count());
    }

    #[test]
    fn another_limit_has_a_reason() {
        for family in FAMILIES.iter().flat_map(|group| group.iter()) {
            match family.growth {
                Growth::Linear => {}
                Growth::Other { times, reason } => {
                    assert!(times > LINEAR && reason.len() > 20, "{}: {times}, {reason}", family.name);
                }
            }
        }
    }

    #[test]
    fn every_input_is_valid() {
        for family in FAMILIES.iter().flat_map(|group| group.iter()) {
            (family.prepare)((family.size / 10).max(1))();
        }
    }
}

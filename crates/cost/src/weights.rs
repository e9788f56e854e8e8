//! The constants of a model: initializers and the results of `Constant`, by element type.
//!
//! A function that is called several times has its constants once. Initializers with the same data in
//! another file are one.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_solver::model::ExternalTensor;
use typeloom_solver::program::{Body, Initializer};
use typeloom_types::dtype::Dtype;

use crate::values::Size;

/// Constants of one element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stored {
    /// The number of constants.
    pub tensors: u64,
    /// Their elements.
    pub elements: u128,
    /// Their bytes, packed. Those of texts are not counted.
    pub bytes: u128,
}

/// The constants of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Weights {
    /// By element type.
    pub by_type: BTreeMap<Dtype, Stored>,
    /// Those with data in other files.
    pub external: Stored,
    /// The number of constants that share the data of another one.
    pub shared: u64,
    /// The number of constants without a known size.
    pub unknown: u64,
}

impl Weights {
    /// All elements and bytes.
    #[must_use]
    pub fn total(&self) -> Stored {
        self.by_type.values().fold(Stored::default(), |sum, it| sum.plus(*it))
    }
}

impl Stored {
    fn plus(self, other: Self) -> Self {
        Self {
            tensors: self.tensors + other.tensors,
            elements: self.elements.saturating_add(other.elements),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Collects the constants of bodies.
#[derive(Default)]
pub(crate) struct Collector<'a> {
    pub(crate) weights: Weights,
    /// The positions of nodes `Constant`, and of initializers, that were counted.
    counted: BTreeSet<usize>,
    external: BTreeSet<(&'a str, u64, Option<u64>)>,
}

impl<'a> Collector<'a> {
    pub(crate) fn add(&mut self, body: &Body<'a>, sizes: &[Size]) {
        for value in body
            .values()
            .filter(|value| body.is_stored(*value) || body.value(*value).origin.initializer().is_some())
        {
            let origin = body.value(value).origin;
            let mut is_external = false;
            let position = match origin.initializer().map(|at| body.initializer(at)) {
                Some(Initializer::Dense(tensor)) => {
                    if let Some(data) = ExternalTensor::of(tensor) {
                        is_external = true;
                        if !self.external.insert((data.location, data.offset, data.bytes)) {
                            self.weights.shared += 1;
                            continue;
                        }
                    }
                    tensor.offset()
                }
                Some(Initializer::Sparse(tensor)) => tensor.offset(),
                None => match origin.step() {
                    Some(step) => body.step(step).node.offset(),
                    None => continue,
                },
            };
            if !self.counted.insert(position) {
                continue;
            }
            let size = &sizes[value.index()];
            self.one(size.dtype, size.number, is_external);
        }
    }

    fn one(&mut self, dtype: Option<Dtype>, elements: Option<u128>, is_external: bool) {
        let Some((dtype, elements)) = dtype.zip(elements) else {
            self.weights.unknown += 1;
            return;
        };
        let bits = u128::from(dtype.size_bits().unwrap_or(0));
        let one = Stored { tensors: 1, elements, bytes: elements.saturating_mul(bits).div_ceil(8) };
        let own = self.weights.by_type.entry(dtype).or_default();
        *own = own.plus(one);
        if is_external {
            self.weights.external = self.weights.external.plus(one);
        }
    }
}

//! The parts of a node that a formula reads: its operator, the extents at its ports, and its attributes.

use typeloom_dim::{DimId, Dims};
use typeloom_onnx::view::Attribute;
use typeloom_solver::program::{Body, StepId, ValueId};

use crate::amount::Amount;
use crate::attributes::attribute;
use crate::values::Size;

/// A node with its ports.
pub(crate) struct Node<'n, 'a> {
    pub(crate) domain: &'a str,
    pub(crate) name: &'a str,
    pub(crate) dims: &'n mut Dims,
    pub(crate) body: &'n Body<'a>,
    pub(crate) step: StepId,
    pub(crate) sizes: &'n [Size],
}

impl<'n, 'a> Node<'n, 'a> {
    fn input_value(&self, at: usize) -> Option<ValueId> {
        self.body.inputs(self.step).get(at).copied().flatten()
    }

    fn output_value(&self, at: usize) -> Option<ValueId> {
        self.body.outputs(self.body.last_step(self.step)).get(at).copied().flatten()
    }

    pub(crate) fn has_input(&self, at: usize) -> bool {
        self.input_value(at).is_some()
    }

    /// The number of inputs that are not omitted.
    pub(crate) fn input_total(&self) -> i128 {
        self.body.inputs(self.step).iter().flatten().count() as i128
    }

    /// The extents of an input.
    pub(crate) fn input(&self, at: usize) -> Option<&'n [DimId]> {
        self.sizes[self.input_value(at)?.index()].shape.as_deref()
    }

    /// The extents of an output.
    pub(crate) fn output(&self, at: usize) -> Option<&'n [DimId]> {
        self.sizes[self.output_value(at)?.index()].shape.as_deref()
    }

    fn count(&mut self, value: ValueId) -> Option<Amount> {
        self.sizes[value.index()].elements.map(|elements| Amount::of_dim(self.dims, elements))
    }

    /// The elements of an input.
    pub(crate) fn input_count(&mut self, at: usize) -> Option<Amount> {
        let value = self.input_value(at)?;
        self.count(value)
    }

    /// The elements of an output.
    pub(crate) fn output_count(&mut self, at: usize) -> Option<Amount> {
        let value = self.output_value(at)?;
        self.count(value)
    }

    /// The elements of the first output.
    pub(crate) fn result_count(&mut self) -> Option<Amount> {
        self.output_count(0)
    }

    /// An attribute; `None` inside if it is absent, and `None` if the caller of the function gives it.
    fn attribute(&self, name: &str) -> Option<Option<Attribute<'a>>> {
        attribute(self.body, self.step, name)
    }

    /// An integer attribute.
    pub(crate) fn int(&self, name: &str, default: Option<i64>) -> Option<i64> {
        match self.attribute(name)? {
            Some(attribute) => attribute.i,
            None => default,
        }
    }

    /// A float attribute.
    pub(crate) fn float(&self, name: &str, default: f32) -> Option<f32> {
        Some(self.attribute(name)?.and_then(|attribute| attribute.f).unwrap_or(default))
    }

    /// A list of integers.
    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        Some(self.attribute(name)??.ints().flatten().collect())
    }

    /// A text attribute; `None` inside if it is absent.
    pub(crate) fn text(&self, name: &str) -> Option<Option<&'a [u8]>> {
        Some(self.attribute(name)?.and_then(|attribute| attribute.s))
    }
}

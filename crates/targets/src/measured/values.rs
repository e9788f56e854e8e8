//! Lists of integers that a node is given, as an attribute or as an input.

use typeloom_dim::DimId;
use typeloom_onnx::view::Attribute;
use typeloom_solver::program::ValueId;
use typeloom_solver::signature::AttributeDefault;

use super::property::Subject;

/// The longest list that is looked at.
const MAX_LENGTH: usize = 256;

/// A list of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum List {
    /// The node has neither the attribute nor the input.
    Absent,
    /// It is computed at run time, or too long.
    Unknown,
    Known(Vec<DimId>),
}

impl<'a> Subject<'_, 'a> {
    /// The attribute with a name.
    pub(crate) fn attribute(&self, name: &str) -> Option<Attribute<'a>> {
        let attributes = self.body.body.step(self.step).node.attributes().flatten();
        attributes.filter_map(|attribute| attribute.parse().ok()).find(|attribute| attribute.name == name)
    }

    /// An integer attribute, or its default.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name) {
            Some(attribute) => attribute.i,
            None => match self.schema.attribute(name)?.default {
                Some(AttributeDefault::Int(value)) => Some(value),
                _ => None,
            },
        }
    }

    /// The list at the attribute or input with a name. Without the attribute, its default.
    pub(crate) fn list(&mut self, name: &str) -> List {
        if let Some(declared) = self.schema.attribute(name) {
            let ints: Vec<i64> = match (self.attribute(name), &declared.default) {
                (Some(attribute), _) => attribute.ints().flatten().take(MAX_LENGTH).collect(),
                (None, Some(AttributeDefault::Ints(ints))) => ints.to_vec(),
                (None, _) => return List::Absent,
            };
            return List::Known(ints.into_iter().map(|int| self.checked.dims_mut().constant(int)).collect());
        }
        match self.input(name) {
            None => List::Absent,
            Some(value) => self.elements(value).map_or(List::Unknown, List::Known),
        }
    }

    /// The numbers of a list; `None` if it is absent or not known as numbers.
    pub(crate) fn numbers(&mut self, name: &str) -> Option<Vec<i64>> {
        let List::Known(items) = self.list(name) else { return None };
        items.into_iter().map(|item| self.checked.dims().as_constant(item)).collect()
    }

    /// The elements of a value.
    pub(crate) fn elements(&self, value: ValueId) -> Option<Vec<DimId>> {
        Some(self.checked.elements_within(self.body, value, MAX_LENGTH)?.items.to_vec())
    }

    /// The floats of a stored value.
    pub(crate) fn floats(&self, value: ValueId) -> Option<Vec<f64>> {
        crate::side::tensor(&self.body.body, value)?.float_values(MAX_LENGTH).ok()?
    }
}

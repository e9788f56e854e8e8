//! The attributes of a node.
//!
//! **Invariant:** the rule of a form reads every attribute of its node or skips it explicitly. So an
//! attribute of a newer version of the operator is refused and not ignored.

use typeloom_onnx::messages::AttributeProto;

use super::super::constants;
use super::{Rewriting, clamped};

impl Rewriting<'_> {
    pub(super) fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        let at = self.node.attributes.iter().position(|attribute| attribute.name() == name)?;
        self.read.set(self.read.get() | 1_u64.checked_shl(at as u32).unwrap_or(0));
        self.node.attributes.get(at)
    }

    /// Marks attributes as read because they do not change the result of this node.
    pub(in super::super) fn ignore_attributes(&self, names: &[&str]) {
        for name in names {
            self.attribute(name);
        }
    }

    /// Returns an attribute that the rule did not read: it may have a meaning in a newer version of the
    /// operator. `consumed_inputs` of the first versions permits overwriting of inputs and does not affect
    /// results.
    pub(super) fn unread(&self) -> Option<&str> {
        self.ignore_attributes(&["consumed_inputs"]);
        let unread = |at: usize| self.read.get().checked_shr(at as u32).unwrap_or(0) & 1 == 0;
        let mut attributes = self.node.attributes.iter().enumerate();
        attributes.find(|(at, _)| unread(*at)).map(|(_, attribute)| attribute.name())
    }

    pub(in super::super) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    pub(in super::super) fn int(&self, name: &str, default: i64) -> i64 {
        clamped(self.attribute(name).map_or(default, AttributeProto::i))
    }

    pub(in super::super) fn float(&self, name: &str, default: f32) -> f64 {
        f64::from(self.attribute(name).map_or(default, AttributeProto::f))
    }

    pub(in super::super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).map(|attribute| attribute.ints.iter().copied().map(clamped).collect())
    }

    pub(in super::super) fn text(&self, name: &str, default: &str) -> String {
        let found = self.attribute(name).map(|attribute| String::from_utf8_lossy(attribute.s()).into_owned());
        found.unwrap_or_else(|| default.to_owned())
    }

    /// The numbers of an attribute that is a small tensor.
    pub(in super::super) fn tensor_attribute(&self, name: &str) -> Option<Vec<f64>> {
        constants::numbers_of(self.attribute(name)?.t.as_deref()?)
    }
}

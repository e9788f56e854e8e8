//! The attributes of the node whose rules run, by name.
//!
//! Rules look up attributes by name, some of them several times. The check of a node against its schema
//! decodes all of them and keeps them here, so that a lookup decodes none.

use typeloom_onnx::view::Attribute;

use crate::program::StepId;

/// The attributes of one node, in the order of the file.
#[derive(Default)]
pub(crate) struct NodeAttributes<'a> {
    /// The frame and the step of the node; `None` while the list is incomplete.
    node: Option<(u32, StepId)>,
    decoded: Vec<Attribute<'a>>,
}

impl<'a> NodeAttributes<'a> {
    /// Starts the list of another node.
    pub(crate) fn begin(&mut self) {
        self.node = None;
        self.decoded.clear();
    }

    /// Adds the next attribute.
    pub(crate) fn push(&mut self, attribute: Attribute<'a>) {
        self.decoded.push(attribute);
    }

    /// Completes the list.
    pub(crate) fn finish(&mut self, frame: u32, step: StepId) {
        self.node = Some((frame, step));
    }

    /// Whether the list has an attribute of this name.
    pub(crate) fn contain(&self, name: &str) -> bool {
        self.decoded.iter().any(|known| known.name == name)
    }

    /// The attributes of a step of a frame; `None` if the complete list is that of another node.
    pub(crate) fn of(&self, frame: u32, step: StepId) -> Option<&[Attribute<'a>]> {
        (self.node == Some((frame, step))).then_some(&self.decoded)
    }
}

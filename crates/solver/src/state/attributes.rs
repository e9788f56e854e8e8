//! The attributes of the node whose rules run, by name.
//!
//! Rules look up attributes by name, some of them several times. The check of a node against its schema decodes all of them
//! and keeps them here, so that a lookup decodes none.

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{Attribute, AttributeView, TensorHeader, TensorView};

use crate::program::StepId;
use crate::signature::is_same_name;

/// Number of attributes that the first allocation has space for.
const FIRST_CAPACITY: usize = 8;

/// The attributes of one node, in the order of the file.
#[derive(Default)]
pub(crate) struct NodeAttributes<'a> {
    /// The frame and the step of the node; `None` while the list is incomplete.
    node: Option<(u32, StepId)>,
    decoded: Vec<Attribute<'a>>,
    pub(crate) tensor: LastHeader<'a>,
}

/// The header of the tensor that was read last. The rule of a node and the check of its data read the same tensor.
#[derive(Default)]
pub(crate) struct LastHeader<'a> {
    is_known: bool,
    header: TensorHeader<'a>,
}

impl<'a> LastHeader<'a> {
    /// The header of a tensor.
    pub(crate) fn of(&mut self, tensor: TensorView<'a>) -> Result<&TensorHeader<'a>, DecodeError> {
        if !self.is_known || !std::ptr::eq(self.header.view.bytes(), tensor.bytes()) {
            self.is_known = false;
            self.header = TensorHeader::default();
            tensor.read_header(&mut self.header)?;
            self.is_known = true;
        }
        Ok(&self.header)
    }
}

impl<'a> NodeAttributes<'a> {
    /// Starts the list of another node.
    pub(crate) fn begin(&mut self) {
        self.node = None;
        self.decoded.clear();
    }

    /// Decodes and adds the next attribute. `known` returns the text of a name that a schema declares.
    pub(crate) fn push(
        &mut self,
        attribute: AttributeView<'a>,
        known: impl Fn(&[u8]) -> Option<&'a str>,
    ) -> Result<&Attribute<'a>, DecodeError> {
        if self.decoded.is_empty() {
            self.decoded.reserve(FIRST_CAPACITY);
        }
        let at = self.decoded.len();
        self.decoded.push(Attribute::default());
        let decoded = &mut self.decoded[at];
        attribute.parse_named(decoded, known)?;
        Ok(decoded)
    }

    /// Completes the list.
    pub(crate) fn finish(&mut self, frame: u32, step: StepId) {
        self.node = Some((frame, step));
    }

    /// Whether the list has an attribute of this name.
    pub(crate) fn contain(&self, name: &str) -> bool {
        self.decoded.iter().any(|known| is_same_name(known.name.as_bytes(), name.as_bytes()))
    }

    /// The attributes of a step of a frame; `None` if the complete list is that of another node.
    pub(crate) fn of(&self, frame: u32, step: StepId) -> Option<&[Attribute<'a>]> {
        (self.node == Some((frame, step))).then_some(&self.decoded)
    }

    /// As [`NodeAttributes::of`], with the header of a tensor in them.
    pub(crate) fn with_tensor(
        &mut self,
        frame: u32,
        step: StepId,
    ) -> Option<(&[Attribute<'a>], &mut LastHeader<'a>)> {
        let Self { node, decoded, tensor } = self;
        (*node == Some((frame, step))).then_some((decoded, tensor))
    }
}

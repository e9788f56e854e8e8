//! Nodes of a fused kernel that run separately, where the kernel does not support the values of a run.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use super::{FusedError, Node};
use crate::attributes::Attributes;
use crate::call::Call;
use crate::ops::Operator;

/// A node and its inputs.
#[derive(Clone, Debug)]
pub(super) struct Link {
    operator: &'static Operator,
    version: i64,
    attributes: Attributes,
    inputs: Vec<LinkInput>,
}

#[derive(Clone, Debug)]
pub(super) enum LinkInput {
    Absent,
    Constant(AnyTensor),
    /// The result of the previous node.
    Previous,
    /// An input of the run.
    Input(usize),
}

impl Link {
    pub(super) fn new(node: &Node<'_>, inputs: Vec<LinkInput>) -> Self {
        let Node { operator, version, attributes, .. } = *node;
        Self { operator, version, attributes: attributes.clone(), inputs }
    }

    /// The result of the node; `number` is its index in the kernel.
    pub(super) fn run(
        &self,
        number: usize,
        mut previous: Option<Datum>,
        inputs: &[Option<Datum>],
    ) -> Result<Vec<Datum>, FusedError> {
        let inputs = self.inputs.iter().map(|input| match input {
            LinkInput::Absent => None,
            LinkInput::Constant(tensor) => Some(tensor.clone().into()),
            LinkInput::Previous => previous.take(),
            LinkInput::Input(index) => inputs.get(*index).cloned().flatten(),
        });
        let inputs = inputs.collect();
        let call = Call { version: self.version, attributes: &self.attributes, inputs, outputs: 1 };
        self.operator.run(call).map_err(|error| FusedError { node: number, error })
    }
}

//! A graph that is ready to run.

use std::sync::Arc;

use bytes::Bytes;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::fused::Fused;
use typeloom_cpu::ops::Operator;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::stamp::Stamp;

/// A place for one value of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct SlotId(pub(crate) u32);

impl SlotId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) stamp: Stamp,
}

/// A value that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) slot: SlotId,
    /// Nothing reads it later: the reader may have it, memory included.
    pub(crate) last: bool,
}

/// A graph with its own slots, and where it gets the values of outer graphs from.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) slots: Vec<Slot>,
    pub(crate) inputs: Vec<SlotId>,
    /// The inputs, by position, that a constant stands for where they are left out.
    pub(crate) defaults: Vec<usize>,
    /// Slots of the graph around it, and the slots here that stand for them.
    pub(crate) captures: Vec<(SlotId, SlotId)>,
    pub(crate) constants: Vec<(SlotId, Constant)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<SlotId>,
    /// The same with nodes that were computed beforehand or put together.
    pub(crate) fast: Fast,
}

/// A plan whose values nobody watches: it makes the outputs, and of what lies between what it needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fast {
    pub(crate) constants: Vec<(SlotId, Value)>,
    pub(crate) steps: Vec<Step>,
}

/// A value that is there before a model runs.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Ready(Value),
    /// Elements as they are stored, of a tensor that is seldom needed as one.
    Stored {
        dtype: Dtype,
        shape: Vec<usize>,
        bytes: Bytes,
    },
}

impl Constant {
    /// The value. What is stored is copied where it is not aligned for its elements.
    pub(crate) fn value(&self) -> Result<Value, TensorError> {
        match self {
            Self::Ready(value) => Ok(value.clone()),
            Self::Stored { dtype, shape, bytes } => {
                AnyTensor::from_shared(*dtype, shape, bytes.clone()).map(Value::Tensor)
            }
        }
    }
}

/// One node.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The node in words: its name, or its position, and its operator.
    pub(crate) node: String,
    pub(crate) domain: String,
    pub(crate) op: String,
    pub(crate) version: i64,
    pub(crate) action: Action,
    pub(crate) attributes: Attributes,
    pub(crate) inputs: Vec<Option<Use>>,
    pub(crate) outputs: Vec<Option<SlotId>>,
    /// Slots that nothing reads after this step.
    pub(crate) dead: Vec<SlotId>,
}

/// How a node is run.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Kernel(&'static Operator),
    /// Several nodes as one kernel, and the nodes in words.
    Fused(Arc<(Fused, Vec<String>)>),
    Function(Arc<Plan>),
    If {
        then_branch: Plan,
        else_branch: Plan,
    },
    Loop(Plan),
    Scan(Plan),
    SequenceMap(Plan),
    Flex {
        scores: Option<Plan>,
        probabilities: Option<Plan>,
    },
    /// Nothing here runs the operator; it is an error to get to it.
    Unknown,
}

impl Action {
    /// The plans of the graphs that the node holds.
    pub(crate) fn bodies(&self) -> Vec<&Plan> {
        match self {
            Self::Kernel(_) | Self::Fused(_) | Self::Function(_) | Self::Unknown => Vec::new(),
            Self::If { then_branch, else_branch } => vec![then_branch, else_branch],
            Self::Loop(body) | Self::Scan(body) | Self::SequenceMap(body) => vec![body],
            Self::Flex { scores, probabilities } => scores.iter().chain(probabilities).collect(),
        }
    }
}

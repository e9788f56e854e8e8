//! A graph that is ready to run: names are slots, nodes are resolved, and lifetimes are known.
//!
//! A plan is one of a [`Flow`]: of a model, where tensors flow, or of a compiled module, where data of every type of the tree do
//! and nodes call components.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use smallvec::SmallVec;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::fused::Fused;
use typeloom_cpu::ops::Operator;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::flow::Flow;
use crate::places::Places;

/// One value of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct SlotId(pub(crate) u32);

impl SlotId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a slot.
#[derive(Debug)]
pub(crate) struct Slot<F: Flow> {
    pub(crate) name: String,
    /// What was proved of its values; slots of one type share it.
    pub(crate) proved: Arc<F::Proved>,
}

/// A value that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) slot: SlotId,
    /// Nothing reads it later: the reader may have it, memory included.
    pub(crate) last: bool,
}

/// A graph with its own slots, and where it gets the values of outer graphs from.
pub(crate) struct Plan<F: Flow> {
    pub(crate) slots: Vec<Slot<F>>,
    pub(crate) inputs: Vec<SlotId>,
    /// The inputs, by position, that a constant stands for where they are left out.
    pub(crate) defaults: Vec<usize>,
    /// Slots of the graph around it, and the slots here that stand for them.
    pub(crate) captures: Vec<(SlotId, SlotId)>,
    pub(crate) constants: Vec<(SlotId, Constant)>,
    pub(crate) outputs: Vec<SlotId>,
    /// The nodes as they were written.
    pub(crate) written: Form<F>,
    /// The same with nodes that were computed beforehand or put together.
    pub(crate) fast: Fast<F>,
}

impl<F: Flow> Default for Plan<F> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            inputs: Vec::new(),
            defaults: Vec::new(),
            captures: Vec::new(),
            constants: Vec::new(),
            outputs: Vec::new(),
            written: Form::default(),
            fast: Fast::default(),
        }
    }
}

impl<F: Flow> fmt::Debug for Plan<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slots, steps) = (self.slots.len(), self.written.steps.len());
        f.debug_struct("Plan").field("slots", &slots).field("steps", &steps).finish_non_exhaustive()
    }
}

impl<F: Flow> Plan<F> {
    pub(crate) fn slot(&self, slot: SlotId) -> &Slot<F> {
        &self.slots[slot.index()]
    }

    /// The slots that are filled before a step runs, but for constants.
    pub(crate) fn given(&self) -> impl Iterator<Item = SlotId> {
        self.captures.iter().map(|(_, inner)| *inner).chain(self.inputs.iter().copied())
    }
}

/// Steps in their order, and where their values lie.
pub(crate) struct Form<F: Flow> {
    pub(crate) steps: Vec<Step<F>>,
    /// The outputs of the plan.
    pub(crate) results: Vec<Use>,
    pub(crate) places: Places,
}

impl<F: Flow> Default for Form<F> {
    fn default() -> Self {
        Self { steps: Vec::new(), results: Vec::new(), places: Places::default() }
    }
}

/// A plan whose values nobody watches: it makes the outputs, and of what lies between what it needs.
///
/// Constants keep the first places for themselves, and stay there from run to run.
pub(crate) struct Fast<F: Flow> {
    pub(crate) constants: Vec<(SlotId, F::Value)>,
    pub(crate) form: Form<F>,
    /// The values of runs that are over, which are the constants: as many as there were runs at one time.
    pub(crate) spare: Mutex<Vec<Vec<Option<F::Value>>>>,
}

impl<F: Flow> Default for Fast<F> {
    fn default() -> Self {
        Self { constants: Vec::new(), form: Form::default(), spare: Mutex::default() }
    }
}

impl<F: Flow> Fast<F> {
    /// What a run starts with.
    pub(crate) fn values(&self) -> Vec<Option<F::Value>> {
        // A lock that is poisoned guards nothing but spare memory.
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| {
            let mut values = Vec::with_capacity(self.form.places.count());
            values.resize_with(self.form.places.count(), || None);
            for (slot, value) in &self.constants {
                if let Some(place) = values.get_mut(self.form.places.of(*slot)) {
                    *place = Some(value.clone());
                }
            }
            values
        })
    }

    /// Keeps the values of a run that went well for the next.
    pub(crate) fn keep(&self, mut values: Vec<Option<F::Value>>) {
        // Inputs that nobody reads are left.
        values.iter_mut().skip(self.constants.len()).for_each(|place| *place = None);
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(values);
    }
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

/// What is said of a node, to those who read about it: a run that goes well does not look at it.
#[derive(Debug)]
pub(crate) struct About {
    /// The node in words: its name, or its position, and its operator.
    pub(crate) node: String,
    /// The slot of the module that it runs on.
    pub(crate) on: Option<String>,
    pub(crate) domain: String,
    pub(crate) op: String,
}

/// One node.
pub(crate) struct Step<F: Flow> {
    pub(crate) action: Action<F>,
    pub(crate) inputs: SmallVec<[Option<Use>; 3]>,
    pub(crate) outputs: SmallVec<[Option<SlotId>; 2]>,
    /// Slots that nothing reads after this step.
    pub(crate) dead: SmallVec<[SlotId; 2]>,
    pub(crate) about: Arc<About>,
}

impl<F: Flow> Clone for Step<F> {
    fn clone(&self) -> Self {
        let Self { action, inputs, outputs, dead, about } = self;
        Self {
            action: action.clone(),
            inputs: inputs.clone(),
            outputs: outputs.clone(),
            dead: dead.clone(),
            about: Arc::clone(about),
        }
    }
}

impl<F: Flow> Step<F> {
    /// The values that the step reads, those of graphs in it included.
    pub(crate) fn reads(&self) -> impl Iterator<Item = SlotId> {
        let captured: Vec<SlotId> =
            self.action.bodies().flat_map(|body| &body.captures).map(|(outer, _)| *outer).collect();
        self.inputs.iter().flatten().map(|used| used.slot).chain(captured)
    }
}

/// An operator of ONNX with what the node says of it. Nodes that say the same share it.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) operator: &'static Operator,
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
}

/// How a node is run. What several forms of a plan hold in common is shared.
pub(crate) enum Action<F: Flow> {
    /// An operator of the embedded backend.
    Kernel(Arc<Kernel>),
    /// Several nodes as one kernel, and what is said of each of them.
    Fused(Arc<(Fused, Vec<Arc<About>>)>),
    /// What only plans of this flow have.
    Own(Arc<F::Own>),
    Function(Arc<Plan<F>>),
    If {
        then_branch: Arc<Plan<F>>,
        else_branch: Arc<Plan<F>>,
    },
    Loop(Arc<Plan<F>>),
    Scan {
        body: Arc<Plan<F>>,
        attributes: Arc<Attributes>,
        version: i64,
    },
    SequenceMap(Arc<Plan<F>>),
    Flex {
        scores: Option<Arc<Plan<F>>>,
        probabilities: Option<Arc<Plan<F>>>,
        attributes: Arc<Attributes>,
    },
    /// Nothing here runs the operator; it is an error to get to it.
    Unknown,
}

impl<F: Flow> Clone for Action<F> {
    fn clone(&self) -> Self {
        match self {
            Self::Kernel(kernel) => Self::Kernel(Arc::clone(kernel)),
            Self::Fused(fused) => Self::Fused(Arc::clone(fused)),
            Self::Own(own) => Self::Own(Arc::clone(own)),
            Self::Function(plan) => Self::Function(Arc::clone(plan)),
            Self::If { then_branch, else_branch } => {
                Self::If { then_branch: Arc::clone(then_branch), else_branch: Arc::clone(else_branch) }
            }
            Self::Loop(body) => Self::Loop(Arc::clone(body)),
            Self::Scan { body, attributes, version } => {
                Self::Scan { body: Arc::clone(body), attributes: Arc::clone(attributes), version: *version }
            }
            Self::SequenceMap(body) => Self::SequenceMap(Arc::clone(body)),
            Self::Flex { scores, probabilities, attributes } => Self::Flex {
                scores: scores.clone(),
                probabilities: probabilities.clone(),
                attributes: Arc::clone(attributes),
            },
            Self::Unknown => Self::Unknown,
        }
    }
}

impl<F: Flow> Action<F> {
    /// The plans of the graphs that the node holds.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Plan<F>> {
        let (first, second) = match self {
            Self::Kernel(_) | Self::Fused(_) | Self::Own(_) | Self::Function(_) | Self::Unknown => {
                (None, None)
            }
            Self::If { then_branch, else_branch } => (Some(then_branch), Some(else_branch)),
            Self::Loop(body) | Self::Scan { body, .. } | Self::SequenceMap(body) => (Some(body), None),
            Self::Flex { scores, probabilities, attributes: _ } => (scores.as_ref(), probabilities.as_ref()),
        };
        first.into_iter().chain(second).map(|plan| &**plan)
    }
}

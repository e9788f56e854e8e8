//! Plans: executable forms of graphs.
//!
//! A plan is a graph whose names are resolved to slots, whose nodes are resolved to actions, and whose
//! lifetimes are known. Models and compiled modules have the same plans; only modules contain
//! [`ModuleNode`]s.
//!
//! A plan has two schedules. The *written* one has a step per node and serves runs that observe or verify
//! every value. The *optimized* one computes the outputs only: constants are folded, and operators are fused.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use smallvec::SmallVec;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::fast::fused::Fused;
use typeloom_cpu::ops::Operator;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::TypeNode;
use typeloom_wire::envelope::PortId;
use typeloom_wire::port::PortType;

use crate::components::{LinkedProgram, Method};

mod registers;

pub(crate) use registers::Registers;

/// A value of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct SlotId(u32);

impl SlotId {
    /// # Panics
    /// For more slots than a plan can have: preparation limits the number of nodes of a model.
    pub(crate) fn new(index: usize) -> Self {
        Self(
            u32::try_from(index)
                .ok()
                .filter(|index| *index < u32::MAX)
                .expect("a graph has less than 2^32 values"),
        )
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Name and proven type of a value.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) ty: ValueType,
}

/// A read of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) slot: SlotId,
    /// Whether this is the last read: the reader can then take the value and reuse its memory.
    pub(crate) last: bool,
}

/// A graph with its own slots.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) slots: Vec<Slot>,
    pub(crate) inputs: Vec<SlotId>,
    /// Positions of the inputs that have an initializer as default.
    pub(crate) defaults: Vec<usize>,
    /// Slots of the enclosing graph, each with the slot that represents it in this graph.
    pub(crate) captures: Vec<(SlotId, SlotId)>,
    pub(crate) constants: Vec<(SlotId, Constant)>,
    pub(crate) outputs: Vec<SlotId>,
    pub(crate) written: Schedule,
    pub(crate) optimized: Optimized,
}

impl Plan {
    pub(crate) fn slot(&self, slot: SlotId) -> &Slot {
        &self.slots[slot.index()]
    }

    /// The slots other than constants that are filled before the first step.
    pub(crate) fn initial(&self) -> impl Iterator<Item = SlotId> {
        self.captures.iter().map(|(_, inner)| *inner).chain(self.inputs.iter().copied())
    }
}

/// Steps in execution order and the registers of their values.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) steps: Vec<PlanStep>,
    pub(crate) results: Vec<Use>,
    pub(crate) registers: Registers,
}

/// The optimized schedule. Constants have the first registers, and keep them from run to run.
#[derive(Debug, Default)]
pub(crate) struct Optimized {
    pub(crate) constants: Vec<(SlotId, Datum)>,
    pub(crate) schedule: Schedule,
    /// Register files of earlier runs, which contain the constants: one for each run that was active at a
    /// time.
    pub(crate) spare: Mutex<Vec<Vec<Option<Datum>>>>,
}

impl Optimized {
    /// Returns the register file at the start of a run.
    pub(crate) fn initial_values(&self) -> Vec<Option<Datum>> {
        // A poisoned lock is harmless: it guards spare memory only.
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| {
            let registers = &self.schedule.registers;
            let mut values = vec![None; registers.count()];
            for (slot, value) in &self.constants {
                if let Some(register) = values.get_mut(registers.of(*slot)) {
                    *register = Some(value.clone());
                }
            }
            values
        })
    }

    /// Keeps the register file of a successful run for the next one.
    pub(crate) fn keep(&self, mut values: Vec<Option<Datum>>) {
        // Clears inputs that no step read.
        values.iter_mut().skip(self.constants.len()).for_each(|register| *register = None);
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(values);
    }
}

/// A value that is known before the run.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Ready(Datum),
    /// Elements as stored in the file. Large weights are decoded only if they are needed as tensors.
    Stored {
        dtype: Dtype,
        shape: Vec<usize>,
        bytes: Bytes,
    },
}

impl Constant {
    /// Decodes the value. Stored bytes are copied only if they are not aligned for their elements.
    pub(crate) fn value(&self) -> Result<Datum, TensorError> {
        match self {
            Self::Ready(value) => Ok(value.clone()),
            Self::Stored { dtype, shape, bytes } => {
                AnyTensor::from_shared(*dtype, shape, bytes.clone()).map(Datum::Tensor)
            }
        }
    }
}

/// Description of a node for error messages and for linking. A successful run does not read it.
#[derive(Debug)]
pub(crate) struct NodeInfo {
    /// Name or position of the node, and its operator.
    pub(crate) label: String,
    /// The module slot that the node runs on.
    pub(crate) on_slot: Option<String>,
    pub(crate) domain: String,
    pub(crate) op: String,
}

/// A node with its operands.
#[derive(Clone, Debug)]
pub(crate) struct PlanStep {
    pub(crate) action: Action,
    pub(crate) inputs: SmallVec<[Option<Use>; 3]>,
    pub(crate) outputs: SmallVec<[Option<SlotId>; 2]>,
    /// Slots that no later step reads.
    pub(crate) dead: SmallVec<[SlotId; 2]>,
    pub(crate) info: Arc<NodeInfo>,
}

impl PlanStep {
    /// The slots that the step reads, including captures of nested graphs.
    pub(crate) fn reads(&self) -> impl Iterator<Item = SlotId> {
        let captured: Vec<SlotId> =
            self.action.bodies().flat_map(|body| &body.captures).map(|(outer, _)| *outer).collect();
        self.inputs.iter().flatten().map(|used| used.slot).chain(captured)
    }
}

/// An ONNX operator with decoded attributes, shared by all nodes that are equal up to the names of their
/// values.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) operator: &'static Operator,
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
}

/// Execution of a node. Both schedules of a plan share the contents.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// An operator of the embedded backend.
    Kernel(Arc<Kernel>),
    /// Several nodes as one kernel, and the description of each node.
    Fused(Arc<(Fused, Vec<Arc<NodeInfo>>)>),
    /// A node that occurs in modules only.
    Module(Arc<ModuleNode>),
    /// A call of a model-local function.
    Function(Arc<Plan>),
    If {
        then_branch: Arc<Plan>,
        else_branch: Arc<Plan>,
    },
    Loop(Arc<Plan>),
    Scan {
        body: Arc<Plan>,
        attributes: Arc<Attributes>,
        version: i64,
    },
    SequenceMap(Arc<Plan>),
    FlexAttention {
        scores: Option<Arc<Plan>>,
        probabilities: Option<Arc<Plan>>,
        attributes: Arc<Attributes>,
    },
    /// An operator without an implementation. Running it is an error; a branch that is never taken may
    /// contain it.
    Unknown,
}

impl Action {
    /// The nested graphs of the node; functions are not nested graphs, because they capture nothing.
    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Plan> {
        let (first, second) = match self {
            Self::If { then_branch, else_branch } => (Some(then_branch), Some(else_branch)),
            Self::Loop(body) | Self::SequenceMap(body) | Self::Scan { body, .. } => (Some(body), None),
            Self::FlexAttention { scores, probabilities, .. } => (scores.as_ref(), probabilities.as_ref()),
            Self::Kernel(_) | Self::Fused(_) | Self::Module(_) | Self::Function(_) | Self::Unknown => {
                (None, None)
            }
        };
        first.into_iter().chain(second).map(|plan| &**plan)
    }
}

/// A node that occurs in compiled modules only.
pub(crate) enum ModuleNode {
    /// A method of a component.
    Method(Method),
    /// Returns its input.
    Identity,
    /// Converts the elements to the type of a leaf.
    Cast(&'static TypeNode),
    Bundle {
        keys: Vec<String>,
    },
    Unbundle {
        keys: Vec<String>,
    },
    PeerList(PeerListOperator),
    Send(WireValue),
    Receive(WireValue),
    /// A call of a function that another module exports.
    Call(LinkedProgram),
}

impl std::fmt::Debug for ModuleNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModuleNode").finish_non_exhaustive()
    }
}

/// A structural ONNX operator on lists of peers, computed on their positions.
pub(crate) struct PeerListOperator {
    pub(crate) operator: &'static Operator,
    pub(crate) attributes: Attributes,
    /// Whether every input is a list of peers, and not only the first.
    pub(crate) all_inputs_are_lists: bool,
}

/// A value on the wire, at either end.
#[derive(Clone, Debug)]
pub(crate) struct WireValue {
    /// Destination of the value.
    pub(crate) port: PortId,
    pub(crate) ty: PortType,
    /// The peer class of the sender.
    pub(crate) from: String,
    /// The name of the network output that the value is.
    pub(crate) net_out: Option<String>,
}

//! A program that is ready to run: names are slots, nodes are resolved, and lifetimes are known.

use std::sync::Arc;

use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::ops::Operator;
use typeloom_types::tree::TypeNode;

use super::Executor;
use super::declared::Declared;
use super::part::Wire;
use crate::components::Method;
use crate::datum::Datum;
use crate::plan::{SlotId, Use};

/// What is known of a slot.
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) declared: Declared,
}

/// A graph with its own slots, and where it gets the values of outer graphs from.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) slots: Vec<Slot>,
    pub(crate) inputs: Vec<SlotId>,
    /// Slots of the graph around it, and the slots here that stand for them.
    pub(crate) captures: Vec<(SlotId, SlotId)>,
    pub(crate) constants: Vec<(SlotId, Datum)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<SlotId>,
}

/// One node.
pub(crate) struct Step {
    /// The node in words.
    pub(crate) node: String,
    /// The slot of the module that it runs on.
    pub(crate) on: Option<String>,
    pub(crate) action: Action,
    pub(crate) inputs: Vec<Option<Use>>,
    pub(crate) outputs: Vec<Option<SlotId>>,
    /// Slots that nothing reads after this step.
    pub(crate) dead: Vec<SlotId>,
}

/// A structural operator on lists of peers, computed on their positions.
pub(crate) struct PeerOp {
    pub(crate) kernel: &'static Operator,
    pub(crate) attributes: Attributes,
    /// Whether every input is a list, and not the first alone.
    pub(crate) all: bool,
}

/// How a node is run.
pub(crate) enum Action {
    /// An operator of the embedded backend.
    Kernel {
        operator: &'static Operator,
        version: i64,
        attributes: Attributes,
    },
    /// A component.
    Method(Method),
    /// The same value.
    Pass,
    Cast {
        to: &'static TypeNode,
    },
    Bundle {
        keys: Vec<String>,
    },
    Unbundle {
        keys: Vec<String>,
    },
    Peers(PeerOp),
    /// A value goes to peers.
    Send(Wire),
    /// A value that arrives.
    Receive(Wire),
    /// A program of another module.
    Call(Executor),
    /// A function of this one.
    Function(Arc<Body>),
    If {
        then_branch: Body,
        else_branch: Body,
    },
    Loop(Body),
    SequenceMap(Body),
    Scan {
        body: Body,
        attributes: Attributes,
        version: i64,
    },
}

impl Action {
    /// The graphs that the node holds.
    pub(crate) fn bodies(&self) -> Vec<&Body> {
        match self {
            Self::Kernel { .. }
            | Self::Method(_)
            | Self::Pass
            | Self::Cast { .. }
            | Self::Bundle { .. }
            | Self::Unbundle { .. }
            | Self::Peers(_)
            | Self::Send(_)
            | Self::Receive(_)
            | Self::Call(_)
            | Self::Function(_) => Vec::new(),
            Self::If { then_branch, else_branch } => vec![then_branch, else_branch],
            Self::Loop(body) | Self::SequenceMap(body) | Self::Scan { body, .. } => vec![body],
        }
    }
}

//! Type variables that several nodes of a body share, and default types of inputs.

use std::collections::BTreeMap;

use crate::elem::ElemSet;
use crate::map::Map;
use crate::program::{StepId, ValueId};
use crate::ty::Ty;
use typeloom_types::lattice::NodeNo;

/// The shared variables of a body, by name: the variable, and the first value of its type.
pub(crate) type SharedTypes = Map<String, (Ty, ValueId)>;

/// The rule that proposes a type, and its step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proposer {
    pub(crate) step: StepId,
    pub(crate) rule: &'static str,
}

/// Default types of inputs of the model, which apply if nothing else determines the types.
#[derive(Debug, Default)]
pub(crate) struct Fallbacks {
    /// The proposed nodes of the type tree.
    pub(crate) nodes: BTreeMap<ValueId, (NodeNo, Proposer)>,
    /// Values that have one element type unless the model states otherwise, by the name of the group.
    pub(crate) groups: BTreeMap<String, Group>,
}

/// Values of one group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The known element types.
    pub(crate) known: ElemSet,
    /// The values of unknown element type.
    pub(crate) open: BTreeMap<ValueId, Proposer>,
}

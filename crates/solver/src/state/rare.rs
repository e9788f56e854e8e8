//! The data about a body that most bodies do not need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::map::{Map, Set};
use crate::program::{GraphId, StepId, ValueId};
use crate::solve_error::Limit;
use crate::solve_error::SolveError;
use crate::state::claim::Claim;
use crate::state::fallback::{Fallbacks, SharedTypes};
use crate::state::known::KnownConditions;
use crate::state::loops::{Loops, Unrolled};
use crate::state::parts::Parts;

/// The data about a body that most bodies do not need.
#[derive(Debug, Default)]
pub(crate) struct Rare<'a> {
    /// Ranges of steps, from start to end, of the nested graphs that never run because of a constant
    /// condition. They do not overlap.
    pub(super) dead: BTreeMap<usize, usize>,
    /// The nested graphs that never run because of a constant condition.
    pub(crate) dead_graphs: Vec<GraphId>,
    /// The nested graphs that run any number of times.
    pub(crate) repeated: Vec<GraphId>,
    /// Those of `repeated` that run at least once in each run of the surrounding graph.
    pub(crate) entered: BTreeSet<GraphId>,
    /// The first steps of nodes whose outputs depend on an open condition.
    pub(crate) splitting: BTreeSet<StepId>,
    /// At most one error for each node, by its first step.
    pub(crate) errors: BTreeMap<StepId, SolveError<'a>>,
    /// Errors in the shapes of nodes that have an error in their element types.
    pub(crate) second_errors: BTreeMap<StepId, SolveError<'a>>,
    /// The operand that contradicts the rest of the model, for nodes with an error in their element types.
    pub(crate) culprits: BTreeMap<StepId, ValueId>,
    /// At most one error for each value, about its declared types.
    pub(crate) value_errors: BTreeMap<ValueId, SolveError<'a>>,
    /// Steps that reached a limit.
    pub(crate) limited: Set<(StepId, Limit)>,
    /// The errors of reached limits, set when the body is solved.
    pub(crate) limit_errors: Vec<SolveError<'a>>,
    /// The function summaries whose equations were added, once for each graph.
    pub(crate) applied: Set<(u32, GraphId)>,
    /// Declared extents that differ from the derived ones as expressions, set when the body is solved.
    pub(crate) claims: Vec<Claim>,
    /// Values with a declared shape that is neither confirmed nor refuted, set when the body is solved.
    pub(crate) open_claims: Vec<ValueId>,
    /// The frames of called functions, by the step of the call; empty unless instances are kept.
    pub(crate) callees: Map<StepId, u32>,
    /// The shapes of the children of composites.
    pub(crate) parts: Map<ValueId, Parts>,
    /// The names of the children that values are unbundled as, for messages.
    pub(crate) children: Map<ValueId, Arc<str>>,
    /// Values with a type from the caller.
    pub(crate) seeded: Vec<ValueId>,
    /// Values whose declared empty shape is false, each with a node that shows it.
    pub(crate) shapeless: Vec<(ValueId, StepId)>,
    /// Steps with a relation on elements and a port of unknown kind.
    pub(crate) undecided: Vec<StepId>,
    /// Values whose kind no proof decides.
    pub(crate) assumed: Vec<ValueId>,
    /// Type variables that nodes share.
    pub(crate) shared: SharedTypes,
    /// Proposed types of inputs.
    pub(crate) fallbacks: Fallbacks,
    /// Results about loops over all iterations.
    pub(crate) loops: Loops,
    /// Loops that are solved iteration by iteration.
    pub(crate) unrolled: Unrolled,
    /// The conditions of nodes so far, which rules use.
    pub(crate) known: KnownConditions,
}

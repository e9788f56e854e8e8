//! The parts of a solve that most models leave empty.
//!
//! A model of one node is solved in a few microseconds, of which creating, moving and dropping two dozen empty collections is
//! a noticeable part. These collections are in one box, which the first write creates.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::map::{LookedUp, Map, Set};
use crate::program::{GraphId, StepId, ValueId};
use crate::rule::runs::KnownConditions;
use crate::solve_error::SolveError;
use crate::state::claim::Claim;
use crate::state::fallback::{Fallbacks, SharedTypes};
use crate::state::limit::Limit;
use crate::state::loops::{Loops, Unrolled};
use crate::state::parts::Parts;

/// A value that is created by the first mutable access. Until then, reads see an empty one.
#[derive(Clone, Debug)]
pub(crate) struct OnWrite<T>(Option<Box<T>>);

/// A type with an empty value.
pub(crate) trait Empty: Default {
    /// The empty value.
    fn empty<'e>() -> &'e Self
    where
        Self: 'e;
}

impl<T> OnWrite<T> {
    /// A value that exists already.
    pub(crate) fn new(value: T) -> Self {
        Self(Some(Box::new(value)))
    }

    /// Whether the value was created.
    pub(crate) fn is_written(&self) -> bool {
        self.0.is_some()
    }

    /// The value; `None` if nothing was written.
    pub(crate) fn into_inner(self) -> Option<T> {
        self.0.map(|value| *value)
    }
}

impl<T> Default for OnWrite<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Empty> Deref for OnWrite<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::empty(),
        }
    }
}

impl<T: Empty> DerefMut for OnWrite<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

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

impl Empty for Rare<'_> {
    fn empty<'e>() -> &'e Self
    where
        Self: 'e,
    {
        const {
            &Self {
                dead: BTreeMap::new(),
                dead_graphs: Vec::new(),
                repeated: Vec::new(),
                entered: BTreeSet::new(),
                splitting: BTreeSet::new(),
                errors: BTreeMap::new(),
                second_errors: BTreeMap::new(),
                culprits: BTreeMap::new(),
                value_errors: BTreeMap::new(),
                limited: Set::with_hasher(LookedUp),
                limit_errors: Vec::new(),
                applied: Set::with_hasher(LookedUp),
                claims: Vec::new(),
                open_claims: Vec::new(),
                parts: Map::with_hasher(LookedUp),
                children: Map::with_hasher(LookedUp),
                seeded: Vec::new(),
                shapeless: Vec::new(),
                undecided: Vec::new(),
                assumed: Vec::new(),
                shared: Map::with_hasher(LookedUp),
                fallbacks: Fallbacks::EMPTY,
                loops: Loops::EMPTY,
                unrolled: Unrolled::EMPTY,
                known: KnownConditions::EMPTY,
            }
        }
    }
}

//! The state of the loops of a frame. See [`crate::rule`] for the operations.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_dim::shape::{DimVec, ShapeId};
use typeloom_dim::{DimId, Relation};

use super::constants::DataId;
use crate::map::Set;
use crate::program::id::{GraphId, ValueId};
use crate::solution::Equation;

/// Results about loops over all iterations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops {
    /// Number of widenings of each body input.
    pub(crate) widened: BTreeMap<ValueId, u32>,
    /// The body inputs with the state of an iteration.
    pub(crate) states: BTreeSet<ValueId>,
    /// The extents that widening created. Each covers all extents.
    pub(crate) unknown: Set<DimId>,
    /// The axes of body inputs that grow by the same amount in each iteration.
    pub(crate) growth: BTreeMap<(ValueId, usize), Growth>,
    /// The index of the iteration, and the number of iterations if nothing better is known.
    pub(crate) numbers: BTreeMap<GraphId, (DimId, DimId)>,
    /// Conditions that nodes of a body need in some iteration, whose state has other shapes than the state of
    /// all iterations. They hold if the body has an iteration.
    pub(crate) of_iterations: BTreeMap<IterationKey, Equation>,
}

/// The body of a loop with the sides and the relation of a condition of one iteration.
pub(crate) type IterationKey = (GraphId, DimId, DimId, Relation);

/// An extent that is `base + i*step` in iteration `i`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) base: DimId,
    pub(crate) step: DimId,
}

/// The loops of a frame that are solved iteration by iteration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unrolled {
    pub(crate) loops: BTreeMap<GraphId, Progress>,
    pub(crate) total: u32,
}

/// The progress of one loop.
#[derive(Clone, Debug)]
pub(crate) enum Progress {
    Running {
        iteration: i64,
        count: i64,
        number: Option<(ValueId, Option<DataId>)>,
        saved: Vec<(ValueId, Option<ShapeId>)>,
    },
    /// The shapes of the state after the last iteration.
    Done(Vec<Option<DimVec>>),
}

impl Unrolled {
    /// Removes the loops whose graphs `is_inside` accepts.
    pub(crate) fn forget(&mut self, is_inside: impl Fn(GraphId) -> bool) {
        self.loops.retain(|graph, _| !is_inside(*graph));
    }
}

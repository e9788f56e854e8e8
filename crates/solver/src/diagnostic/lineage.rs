//! The lineage of an extent: the nodes that pass it on, back to the input or constant that introduces it.
//!
//! A solve records no lineage. Equal dims have one id, so the lineage is found by a walk backward: from a
//! value to the input of its node with the same dim, as an extent or as an element of a computed shape.
//! Numbers can be equal by chance, so for a number the walk continues only if exactly one input has it.
//!
//! ```text
//! g (float[N, 4] x) => (y) { s = Shape (x)  y = ConstantOfShape (s) }
//!
//! axis 0 of y    N, an element of s, an extent of x: from x through Shape and ConstantOfShape
//! ```
//!
//! [`trace_back`] is the walk, for any graph of which the extents have ids: a solved body here, and the scene
//! of a page, which outlives the solve.
//!
//! **Cost:** a walk has at most 64 steps. Each costs the inputs of one node, up to the second one with the
//! extent.

use typeloom_dim::DimId;

use super::Scope;
use super::text::way;
use crate::program::{Origin, StepId, ValueId};
use crate::state::constants::Data;

/// The maximum length of a lineage.
const MAX_STEPS: usize = 64;

/// The path of an extent to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage<V, N> {
    /// The value that introduces the extent, or the last value that was reached.
    pub source: V,
    /// The nodes after `source`, in order.
    pub through: Vec<N>,
}

/// One extent in a graph.
pub trait Extent {
    /// A value of the graph.
    type Value: Copy + PartialEq;
    /// A node of the graph.
    type Node: Copy;

    /// Whether equal extents can be equal by chance, as numbers are.
    fn can_be_by_chance(&self) -> bool;

    /// The node that makes a value, if the extent can come from an input of the node.
    fn maker(&mut self, value: Self::Value) -> Option<Self::Node>;

    /// The inputs of a node that have the extent.
    fn having(&mut self, node: Self::Node) -> Having<Self::Value>;
}

/// The inputs of a node that have an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Having<V> {
    /// No input.
    None,
    /// One value, maybe as several inputs.
    One(V),
    /// Several values, of which this is the first.
    Several(V),
}

impl<V: Copy + PartialEq> Having<V> {
    /// The inputs of a list that have the extent.
    pub fn of(inputs: impl IntoIterator<Item = V>, mut has: impl FnMut(V) -> bool) -> Self {
        let mut inputs = inputs.into_iter();
        let Some(first) = inputs.find(|input| has(*input)) else { return Self::None };
        match inputs.any(|input| input != first && has(input)) {
            true => Self::Several(first),
            false => Self::One(first),
        }
    }
}

/// The lineage of an extent of a value.
pub fn trace_back<E: Extent>(extent: &mut E, value: E::Value) -> Lineage<E::Value, E::Node> {
    let mut lineage = Lineage { source: value, through: Vec::new() };
    while lineage.through.len() < MAX_STEPS
        && let Some(maker) = extent.maker(lineage.source)
    {
        lineage.source = match extent.having(maker) {
            Having::One(next) => next,
            Having::Several(next) if !extent.can_be_by_chance() => next,
            Having::None | Having::Several(_) => break,
        };
        lineage.through.push(maker);
    }
    lineage.through.reverse();
    lineage
}

/// A dim in a solved body.
struct SolvedDim<'c, 'd, 'a> {
    scope: &'c mut Scope<'d, 'a>,
    dim: DimId,
}

impl Extent for SolvedDim<'_, '_, '_> {
    type Value = ValueId;
    type Node = StepId;

    fn can_be_by_chance(&self) -> bool {
        let dims = &self.scope.core.dims;
        dims.as_constant(self.dim).is_some() || dims.is_anonymous(self.dim)
    }

    fn maker(&mut self, value: ValueId) -> Option<StepId> {
        let Self { scope, dim } = self;
        if scope.assumes(value, *dim) {
            return None;
        }
        let body = scope.body();
        let Origin::Step(maker) = body.value(value).origin else { return None };
        if body.last_step(maker) != body.first_step(maker) {
            return None;
        }
        *scope.budget = scope.budget.checked_sub(1)?;
        Some(maker)
    }

    fn having(&mut self, node: StepId) -> Having<ValueId> {
        let inputs = self.scope.body().inputs(node);
        Having::of(inputs.iter().flatten().copied(), |input| self.scope.has_dim(input, self.dim))
    }
}

impl Scope<'_, '_> {
    /// The lineage of an extent of a value.
    pub(super) fn lineage(&mut self, value: ValueId, dim: DimId) -> Lineage<ValueId, StepId> {
        if !self.explains() {
            return Lineage { source: value, through: Vec::new() };
        }
        let dim = self.core.dims.resolve(dim);
        trace_back(&mut SolvedDim { scope: self, dim }, value)
    }

    /// Whether the solve assumes a dim as an extent of a value, because that is declared.
    pub(super) fn assumes(&mut self, value: ValueId, dim: DimId) -> bool {
        let Some(assumed) = self.frame.assumed_shapes.get(&value) else { return false };
        let derived = self.frame.slots[value.index()].shape.map(|shape| self.core.resolved(shape));
        let is_derived = derived.is_some_and(|dims| dims.contains(&dim));
        !is_derived && self.core.resolved(*assumed).contains(&dim)
    }

    /// Whether a value has a dim as an extent, or as an element from which shapes are computed.
    pub(super) fn has_dim(&mut self, value: ValueId, dim: DimId) -> bool {
        let core = &mut *self.core;
        let of_shape = self.frame.shape_read(value).is_some_and(|shape| {
            let dims: typeloom_dim::shape::DimVec = core.shapes.get(shape).into();
            dims.iter().any(|other| core.dims.resolve(*other) == dim)
        });
        if of_shape {
            return true;
        }
        let Some(items) = core.data_of(self.frame, value).and_then(Data::as_ints) else {
            return false;
        };
        items.items.iter().any(|item| core.dims.resolve(*item) == dim)
    }

    /// The origin of an extent of a value, as text that follows the value's type.
    pub(super) fn lineage_text(&mut self, value: ValueId, dim: DimId) -> String {
        let Lineage { source, through } = self.lineage(value, dim);
        let dim = self.core.dims.resolve(dim);
        let origin = match self.assumes(source, dim) {
            true => "as it is declared".to_owned(),
            false => self.origin_text(source),
        };
        if through.is_empty() {
            return origin;
        }
        let by = match self.declared_source(source) {
            Some(source) => source,
            None => format!("{}, {origin},", self.name(source)),
        };
        format!("its {} from {by} through {}", self.dim_text(dim), self.path_text(&through))
    }

    /// The nodes of a lineage; the middle of a long one is left out.
    pub(super) fn path_text(&self, through: &[StepId]) -> String {
        way(through.iter().map(|step| self.node_text(*step)).collect())
    }
}

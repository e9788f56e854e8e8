//! The lineage of an extent: the nodes that pass it on, back to the input or constant that introduces it.
//!
//! A solve records no lineage. Equal dims have one id, so the lineage is found by a walk backward: from a
//! value to the input of its node with the same dim, as an extent or as an element of a computed shape.
//! Numbers can be equal by chance, so for a number the walk continues only if exactly one input has it.

use typeloom_dim::DimId;

use super::Scope;
use super::text::way;
use crate::program::{Origin, StepId, ValueId};
use crate::state::constants::Data;

/// The maximum length of a lineage.
const MAX_STEPS: usize = 64;

/// The path of an extent to a value.
pub(super) struct Lineage {
    /// The value that introduces the extent, or the last value that was reached.
    pub(super) source: ValueId,
    /// The nodes after `source`, in order.
    pub(super) through: Vec<StepId>,
}

impl Scope<'_, '_> {
    /// The lineage of an extent of a value.
    pub(super) fn lineage(&mut self, value: ValueId, dim: DimId) -> Lineage {
        let body = self.body();
        let mut lineage = Lineage { source: value, through: Vec::new() };
        if !self.explains() {
            return lineage;
        }
        let dim = self.core.dims.resolve(dim);
        let by_chance = self.core.dims.as_constant(dim).is_some() || self.core.dims.is_anonymous(dim);
        for _ in 0..MAX_STEPS {
            if self.assumes(lineage.source, dim) {
                break;
            }
            let Origin::Step(maker) = body.value(lineage.source).origin else { break };
            if body.last_step(maker) != body.first_step(maker) {
                break;
            }
            let Some(budget) = self.budget.checked_sub(1) else { break };
            *self.budget = budget;
            let mut having: Vec<ValueId> = Vec::new();
            for input in body.inputs(maker).iter().flatten() {
                if !having.contains(input) && self.has_dim(*input, dim) {
                    having.push(*input);
                }
            }
            match having[..] {
                [next] => lineage.source = next,
                [next, ..] if !by_chance => lineage.source = next,
                [] | [_, ..] => break,
            }
            lineage.through.push(maker);
        }
        lineage.through.reverse();
        lineage
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

//! Verbs for nested graphs that run many times: their inputs stand for every turn at once.
//!
//! An input of such a graph first gets the shape of the first turn. When a later turn can have another
//! shape, the assumption is *widened* (abstract interpretation's join with widening): extents that
//! differ become unknown, then the rank does. An assumption is only ever widened, also when an outer
//! loop runs again, so a body is solved a number of times that is linear in the depth of nesting.

use super::{DimVec, Port, RuleCx};
use crate::dim::Decision;
use crate::limits::Limit;
use crate::program::{GraphId, ValueId};

/// How often one input may be widened axis by axis before its rank is given up.
const MAX_WIDENINGS: u32 = 4;

impl RuleCx<'_, '_> {
    /// Assumes that in some turn the input at `port` has the shape at `from`; true when what was
    /// assumed before does not cover it, in which case the graphs of the node are solved again.
    pub fn assume_shape_of(&mut self, port: Port, from: Port) -> bool {
        let shape = self.shape(from);
        self.assume_shape(port, shape)
    }

    /// As [`RuleCx::assume_shape_of`], with the shape itself; `None` is "any rank".
    pub fn assume_shape(&mut self, port: Port, shape: Option<DimVec>) -> bool {
        let Some(value) = self.value(port) else { return false };
        let Some(count) = self.frame.widened.get(&value).copied() else {
            self.frame.widened.insert(value, 0);
            if let Some(shape) = shape {
                let id = self.core.shapes.intern(&shape);
                self.frame.set_shape(value, id, self.step);
            }
            return false;
        };
        let Some(assumed) = self.shape(port) else { return false };
        let same_rank = shape.as_ref().is_some_and(|shape| shape.len() == assumed.len());
        let joined = match shape {
            Some(shape) if shape.len() == assumed.len() && count < MAX_WIDENINGS => {
                let mut joined = assumed.clone();
                for (a, b) in joined.iter_mut().zip(&shape) {
                    if self.core.dims.compare(*a, *b) != Decision::Equal && !self.is_widened(*a) {
                        *a = self.core.dims.fresh();
                        self.frame.widened_dims.insert(*a);
                    }
                }
                Some(joined)
            }
            Some(_) | None => None,
        };
        if joined.as_ref() == Some(&assumed) {
            return false;
        }
        if count >= MAX_WIDENINGS && same_rank {
            let limit = Limit::Widenings { most: MAX_WIDENINGS as usize };
            let step = self.frame.body.first_step(self.step);
            self.frame.limited.insert((step, limit));
        }
        self.frame.widened.insert(value, count + 1);
        self.widen(value, joined);
        true
    }

    fn is_widened(&self, dim: crate::dim::DimId) -> bool {
        self.frame.widened_dims.contains(&dim)
    }

    fn widen(&mut self, value: ValueId, shape: Option<DimVec>) {
        let id = shape.map(|shape| self.core.shapes.intern(&shape));
        self.frame.slots[value.index()].shape = id;
        let body = self.body_rc();
        let (first, last) = (body.first_step(self.step), body.last_step(self.step));
        self.frame.forget_between(first, last);
    }

    /// Says that a nested graph never runs: what its rules find wrong is wrong in no run.
    pub fn never_runs(&mut self, graph: GraphId) {
        let steps = self.frame.body.graph(graph).steps;
        self.frame.never_runs(steps);
    }

    /// Whether the model declares a shape for the value at `port`.
    pub fn declares_shape(&mut self, port: Port) -> bool {
        let Some(value) = self.value(port) else { return false };
        let body = self.body_rc();
        body.declarations(value)
            .any(|declaration| self.core.read_type(declaration.ty).is_ok_and(|read| read.shape.is_some()))
    }

    /// The shape that the model declares for the value at `port`.
    pub fn declared_shape(&mut self, port: Port) -> Option<DimVec> {
        let value = self.value(port)?;
        let body = self.body_rc();
        body.declarations(value).find_map(|declaration| {
            let shape = self.core.read_type(declaration.ty).ok()?.shape?;
            Some(self.core.shapes.get(shape).into())
        })
    }

    /// The number of axes that the model declares for the value at `port`.
    pub fn declared_rank(&mut self, port: Port) -> Option<usize> {
        let value = self.value(port)?;
        let body = self.body_rc();
        body.declarations(value).find_map(|declaration| {
            let shape = self.core.read_type(declaration.ty).ok()?.shape?;
            Some(self.core.shapes.get(shape).len())
        })
    }

    /// The graphs of the node, in the order of its attributes.
    #[must_use]
    pub fn bodies(&self) -> Vec<GraphId> {
        let first = self.frame.body.first_step(self.step);
        self.frame.body.graphs_of(first).map(|(id, _)| id).collect()
    }
}

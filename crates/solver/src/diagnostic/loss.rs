//! The loss of an extent or a rank: the first value without it, and the reason.
//!
//! An unknown extent is a variable of the solve, and every value that gets it from another one has the same
//! variable. So the first value without the extent is found by a walk backward through the inputs with the
//! variable. For a rank, these are the inputs of unknown rank.

use typeloom_dim::DimId;

use super::Scope;
use crate::elem::Elem;
use crate::operators::OpKind;
use crate::program::{Origin, StepId, ValueId};
use crate::state::constants::Data;

/// The maximum number of nodes that are searched.
const MAX_STEPS: usize = 256;

/// The unknown part of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lost {
    Rank,
    Extent(DimId),
}

impl Scope<'_, '_> {
    /// The first value without a part of its type and the reason, as a clause.
    pub(super) fn loss(&mut self, value: ValueId, lost: Lost) -> String {
        let variables = match lost {
            Lost::Rank => Vec::new(),
            Lost::Extent(dim) => {
                let dim = self.core.dims.resolve(dim);
                self.core.dims.variables_of(dim).to_vec()
            }
        };
        let body = self.body();
        let at = self.first(value, |scope, input| match lost {
            Lost::Rank => scope.frame.shape_read(input).is_none(),
            Lost::Extent(_) => scope.mentions(input, &variables),
        });
        let noun = match lost {
            Lost::Rank => "rank",
            Lost::Extent(_) => "extent",
        };
        let name = self.name(at);
        match (body.value(at).origin, self.maker(at)) {
            (Origin::Step(_), Some(step)) => {
                let node = self.node_text(step);
                format!(
                    "{name}, made by {node}, is the first value without this {noun}, because {}",
                    self.reason(step)
                )
            }
            (Origin::Input | Origin::InputWithDefault(_), _)
                if body.graph(body.value(at).graph).owner.is_some() =>
            {
                format!("{} can have another {noun} in each iteration", self.value_text(at))
            }
            (_, _) => format!("{} declares no {noun}", self.value_text(at)),
        }
    }

    /// The first of the values with a property that lead to a value with it, each an input of the node that
    /// makes the next one.
    fn first(&mut self, value: ValueId, has: impl Fn(&mut Self, ValueId) -> bool) -> ValueId {
        let body = self.body();
        let mut at = value;
        for _ in 0..MAX_STEPS {
            let Some(step) = self.maker(at).filter(|step| body.last_step(*step) == body.first_step(*step))
            else {
                break;
            };
            let mut inputs = body.inputs(step).iter().flatten().copied();
            let Some(next) = inputs.find(|input| has(self, *input)) else { break };
            at = next;
        }
        at
    }

    /// Whether the shape or the elements of a value contain one of some variables.
    fn mentions(&mut self, value: ValueId, variables: &[DimId]) -> bool {
        let core = &mut *self.core;
        let mut dims = match self.frame.shape_read(value) {
            Some(shape) => core.resolved(shape).to_vec(),
            None => Vec::new(),
        };
        if let Some(items) = core.data_of(self.frame, value).and_then(Data::as_ints) {
            let items = items.items.clone();
            dims.extend(items.iter().map(|item| core.dims.resolve(*item)));
        }
        dims.iter().any(|dim| core.dims.variables_of(*dim).iter().any(|it| variables.contains(it)))
    }

    /// The reason why the result of a node lacks a part of its type that all inputs have, as a clause.
    fn reason(&mut self, step: StepId) -> String {
        let body = self.body();
        if let OpKind::Missing(_) = self.op(step).kind {
            return format!("no rule for {} is known", self.op_text(step));
        }
        if self.frame.rare.errors.contains_key(&body.first_step(step)) {
            return "the node is in error".to_owned();
        }
        if body.last_step(step) != body.first_step(step) {
            return format!("it depends on the graphs of {}", self.op_text(step));
        }
        let unknown =
            body.inputs(step).iter().flatten().copied().find(|input| self.has_unknown_elements(*input));
        match unknown {
            Some(input) => self.elements_reason(input),
            None => format!("it depends on the elements of the inputs of {}", self.op_text(step)),
        }
    }

    /// Whether a value is an integer or a list of integers, as shapes are computed from, of which the
    /// elements are not known.
    fn has_unknown_elements(&mut self, value: ValueId) -> bool {
        let is_short =
            self.frame.shape_read(value).is_some_and(|shape| self.core.shapes.get(shape).len() <= 1);
        let ty = self.frame.slots[value.index()].ty;
        let elem = ty.and_then(|ty| self.core.types.elems(ty)).and_then(crate::elem::ElemSet::single);
        let is_integer = elem.is_some_and(|elem| [Elem::INT64, Elem::INT32].contains(&elem));
        is_short && is_integer && self.core.data_of(self.frame, value).and_then(Data::as_ints).is_none()
    }

    /// The reason why the elements of a value are not known, as a clause.
    fn elements_reason(&mut self, value: ValueId) -> String {
        let name = self.name(value);
        let at = self.first(value, Self::has_unknown_elements);
        let origin = self.origin_text(at);
        match at == value {
            true => format!("the elements of {name}, {origin}, are not known"),
            false => {
                format!("the elements of {name} are not known, which come from {}, {origin}", self.name(at))
            }
        }
    }
}

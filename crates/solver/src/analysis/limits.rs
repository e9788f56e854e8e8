//! Reports of limits that hide part of a type.
//!
//! Rules, loops and conditions record the limits that they reach, and the arena of dims records extents that
//! exceed its limits. When a body is solved, this module finds the values whose shapes are unknown for that
//! reason: those with an unknown rank, or with an unknown extent that no input of the node has. Each is one
//! warning.
//!
//! **Invariant:** if no limit was reached, only two empty lists are checked.

use typeloom_dim::DimId;

use crate::map::Set;
use crate::program::{StepId, ValueId};
use crate::solve_error::Limit;
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;

/// The values of a solved body whose shapes are unknown because of a limit, in step order.
pub(crate) fn errors<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<SolveError<'a>> {
    let mut found = Vec::new();
    let mut noted: Vec<(StepId, Limit)> = frame.rare.limited.iter().copied().collect();
    noted.sort_unstable();
    for (step, limit) in noted {
        let body = &frame.body;
        let inputs: Set<DimId> =
            body.inputs(step).iter().flatten().flat_map(|value| variables(core, frame, *value)).collect();
        for value in body.outputs(body.last_step(step)).iter().flatten().copied() {
            let is_hidden = match frame.shape_read(value) {
                None => frame.slots[value.index()].ty.is_some_and(|ty| core.types.elems(ty).is_some()),
                Some(_) => variables(core, frame, value).iter().any(|variable| !inputs.contains(variable)),
            };
            if is_hidden {
                found.push(error(frame, value, limit));
            }
        }
    }
    if core.dims.has_given_up() {
        let mut seen: Set<DimId> = Set::default();
        for value in frame.body.values() {
            for variable in variables(core, frame, value) {
                if core.dims.is_given_up(variable) && seen.insert(variable) {
                    found.push(error(frame, value, Limit::Expression));
                }
            }
        }
    }
    found
}

/// The limit that hides part of the shape of a value.
pub(crate) fn of_value<'a>(core: &mut Core<'a>, frame: &Frame<'a>, value: ValueId) -> Option<Limit> {
    if variables(core, frame, value).iter().any(|variable| core.dims.is_given_up(*variable)) {
        return Some(Limit::Expression);
    }
    errors(core, frame).into_iter().find_map(|error| match error.kind {
        SolveErrorKind::LimitReached { value: of, limit } if of == value => Some(limit),
        _ => None,
    })
}

fn error<'a>(frame: &Frame<'a>, value: ValueId, limit: Limit) -> SolveError<'a> {
    let site: ErrorSite = frame.site_of(value);
    SolveError { site, kind: SolveErrorKind::LimitReached { value, limit } }
}

/// The unknown extents in the shape of a value.
fn variables(core: &mut Core<'_>, frame: &Frame<'_>, value: ValueId) -> Vec<DimId> {
    let Some(shape) = frame.shape_read(value) else { return Vec::new() };
    core.resolved(shape).into_iter().flat_map(|dim| core.dims.variables_of(dim)).collect()
}

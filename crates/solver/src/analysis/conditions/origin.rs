//! The origin of constants in an equation: the graph itself, or a declared input.

use std::collections::BTreeSet;

use typeloom_dim::symbols_of;

use super::declared_symbols;
use crate::program::{Origin, ValueId};
use crate::rule::Port;
use crate::solution::{Equation, EquationSource};
use crate::state::Core;
use crate::state::frame::Frame;

/// Maximum number of values that are visited for one equation.
const MAX_ANCESTORS: usize = 64;

/// Whether the constants in an equation come from the graph itself, or from declared inputs with a symbol of
/// the equation. False if one comes from another declared input.
///
/// Visits at most [`MAX_ANCESTORS`] values backward from the ports of the equation; beyond that the answer is
/// yes.
pub(super) fn has_fixed_constants<'a>(core: &mut Core<'a>, frame: &Frame<'a>, equation: &Equation) -> bool {
    let EquationSource::Ports { left, right, .. } = equation.source else { return true };
    let mut sides = vec![left, right];
    sides.retain(|side| core.dims.symbols_of(side.dim).is_empty());
    if sides.is_empty() {
        sides = vec![left, right];
    }
    let body = &frame.body;
    let value_at = |port: Port| port.is_input().then(|| body.at_port(equation.step, port)).flatten();
    let mut open = Vec::new();
    for side in sides {
        // A constant of an attribute belongs to the graph. A computed constant may come from any input.
        let is_computed = side.axis.is_none() && core.dims.as_constant(side.dim).is_some();
        match value_at(side.port) {
            Some(value) if is_computed && core.data_of(frame, value).is_none() => {
                open.extend(body.inputs(equation.step).iter().flatten());
            }
            Some(value) => open.push(value),
            None => return true,
        }
    }
    let mut seen: BTreeSet<ValueId> = open.iter().copied().collect();
    let symbols = symbols_of(&core.dims, equation.condition());
    let mut is_foreign = false;
    while let Some(value) = open.pop() {
        match body.value(value).origin {
            // An input of a body gets its extents from the node with the body.
            Origin::Input if let Some(owner) = body.graph(body.value(value).graph).owner => {
                open.extend(body.inputs(owner.step).iter().flatten().filter(|input| seen.insert(**input)));
            }
            Origin::Input => {
                is_foreign |=
                    !declared_symbols(core, &frame.body, value).iter().any(|own| symbols.contains(own));
            }
            Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => return true,
            Origin::Step(step) => {
                let inputs = body.inputs(body.first_step(step));
                if inputs.is_empty() || seen.len() > MAX_ANCESTORS {
                    return true;
                }
                open.extend(inputs.iter().flatten().filter(|input| seen.insert(**input)));
            }
        }
    }
    !is_foreign
}

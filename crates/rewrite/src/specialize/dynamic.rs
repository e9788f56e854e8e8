//! The open extents of a model, with their causes.

use std::collections::HashSet;

use typeloom_dim::DimId;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{GraphId, StepId, StepKind, ValueId};
use typeloom_solver::solution::Type;

/// An extent that is no number, at the value where it occurs first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// The value.
    pub value: String,
    /// The axis; `None` if the number of axes is open.
    pub axis: Option<usize>,
    /// The name of the extent; `None` if it has none.
    pub symbol: Option<String>,
    /// The cause.
    pub cause: Cause,
}

/// The cause of an open extent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The caller of the model: it is an extent of an input.
    Input,
    /// A node, by the values that it reads.
    Node {
        /// The name of the node; may be empty.
        name: String,
        /// The operator.
        operator: String,
    },
}

/// The open extents of a model, each once, in the order in which they occur.
///
/// Consequences of an extent without a name are not listed.
pub(super) fn open(checked: &mut Checked<'_>) -> Vec<Open> {
    let body = checked.shared_body();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut unnamed: HashSet<ValueId> = HashSet::new();
    for value in body.graph(GraphId::new(0)).inputs.iter().copied() {
        add(checked, value, &Cause::Input, &mut seen, &mut found);
        if has_unnamed(checked, value) {
            unnamed.insert(value);
        }
    }
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        if matches!(body.step(step).kind, StepKind::Enter(_)) {
            continue;
        }
        let first = body.first_step(step);
        let follows = body.inputs(first).iter().flatten().any(|value| unnamed.contains(value));
        for value in body.outputs(step).iter().flatten().copied() {
            if has_unnamed(checked, value) {
                unnamed.insert(value);
                if follows {
                    continue;
                }
            }
            let name = body.step(step).node.name().unwrap_or_default().to_owned();
            let cause = Cause::Node { name, operator: body.op_name(step).to_owned() };
            add(checked, value, &cause, &mut seen, &mut found);
        }
    }
    found
}

/// Adds the symbols of a type that did not occur before.
fn add(
    checked: &mut Checked<'_>,
    value: ValueId,
    cause: &Cause,
    seen: &mut HashSet<DimId>,
    found: &mut Vec<Open>,
) {
    let ty = checked.type_of(value);
    let Some(tensor) = ty.tensor() else { return };
    let name = checked.body().value_name(value).to_owned();
    let Some(shape) = &tensor.shape else {
        found.push(Open { value: name, axis: None, symbol: None, cause: cause.clone() });
        return;
    };
    for (axis, extent) in shape.iter().enumerate() {
        let dims = checked.dims();
        for symbol in dims.symbols_of(*extent).into_iter().chain(dims.variables_of(*extent)) {
            if seen.insert(symbol) {
                let symbol = checked.dims().as_symbol(symbol).map(str::to_owned);
                let (value, cause) = (name.clone(), cause.clone());
                found.push(Open { value, axis: Some(axis), symbol, cause });
            }
        }
    }
}

fn has_unnamed(checked: &mut Checked<'_>, value: ValueId) -> bool {
    let ty: Type = checked.type_of(value);
    let Some(tensor) = ty.tensor() else { return false };
    let Some(shape) = &tensor.shape else { return true };
    let dims = checked.dims();
    shape.iter().any(|extent| dims.is_anonymous(*extent))
}

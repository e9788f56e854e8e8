//! Overflows of 64 bits in computed values, which the reference refuses with data propagation.
//!
//! Operators wrap around at run time, so such a node is not in error, and its readers see the wrapped value.

use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{StepId, ValueId};
use typeloom_solver::solution::{TensorType, Type};

/// The texts of the errors, in the order of nodes.
pub(super) fn errors(checked: &mut Checked<'_>) -> Vec<String> {
    let (from, to) = checked.body().graph(checked.body().root()).steps;
    (from..to).map(StepId::new).filter_map(|step| error(checked, step)).collect()
}

fn error(checked: &mut Checked<'_>, step: StepId) -> Option<String> {
    let operator = checked.body().op_name(step);
    let checked_operator: fn(i64, i64) -> Option<i64> = match operator {
        "Add" => i64::checked_add,
        "Sub" => i64::checked_sub,
        "Mul" => i64::checked_mul,
        _ => return None,
    };
    if checked.body().step(step).node.domain() != Ok("") {
        return None;
    }
    let [Some(left), Some(right)] = checked.body().inputs(step)[..] else { return None };
    let (a, b) = (integers(checked, left)?, integers(checked, right)?);
    // The reference follows vectors; one of a single element is used for every element of the other.
    let count = a.len().max(b.len());
    if ![a.len(), b.len()].iter().all(|len| *len == count || *len == 1) {
        return None;
    }
    let mut pairs = a.iter().cycle().zip(b.iter().cycle()).take(count);
    let overflows = pairs.any(|(a, b)| checked_operator(*a, *b).is_none());
    overflows.then(|| format!("`{operator}` computes a shape that overflows 64 bits"))
}

/// The elements of a vector or scalar of 64-bit integers that are all known.
fn integers(checked: &mut Checked<'_>, value: ValueId) -> Option<Vec<i64>> {
    let elements = checked.integers(value)?;
    let Type::Tensor(TensorType { elem, shape: Some(shape) }) = checked.type_of(value) else { return None };
    (elem.single() == Some(Elem::INT64) && shape.len() <= 1).then_some(elements)
}

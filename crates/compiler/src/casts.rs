//! Which nodes of the type tree can be cast to each other, and which casts keep every value.

use typeloom_solver::elem::Elem;
use typeloom_solver::universe::Universe;

use typeloom_rewrite::coerce::keeps_values;

/// The element type of a node, where it is one of numbers that a cast can read and write.
fn number(universe: &Universe, node: &str) -> Option<Elem> {
    let (_, name) = node.rsplit_once('.')?;
    let elem = universe.elem_named(name)?;
    let numbers =
        elem.onnx_name().is_some() && ![Elem::STRING, Elem::COMPLEX64, Elem::COMPLEX128].contains(&elem);
    numbers.then_some(elem)
}

/// Whether there is a cast from one node to another: both are tensors, or both scalars, of numbers.
pub(crate) fn is_convertible(universe: &Universe, from: &str, to: &str) -> bool {
    let kind = |node: &str| node.split('.').next().map(str::to_owned);
    kind(from) == kind(to) && number(universe, from).is_some() && number(universe, to).is_some()
}

/// Whether a cast keeps every value.
pub(crate) fn is_lossless(universe: &Universe, from: &str, to: &str) -> bool {
    match (number(universe, from), number(universe, to)) {
        (Some(from), Some(to)) => keeps_values(from, to),
        (Some(_) | None, Some(_) | None) => false,
    }
}

//! Interfaces from signatures in the notation of `Interface`.

use typeloom_dim::{Condition, Relation};
use typeloom_interface::{Interface, Parameter};
use typeloom_serving::signature::{Extent, Port, Signature};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_types::dtype::Dtype;

/// A port of floats with these extents; a text is a symbol, `?` any number.
pub(crate) fn port(name: &str, extents: &[&str]) -> Port {
    let extent = |text: &&str| match text.parse() {
        Ok(number) => Extent::Fixed(number),
        Err(_) if *text == "?" => Extent::Free,
        Err(_) => Extent::Symbol((*text).to_owned()),
    };
    let shape = Some(extents.iter().map(extent).collect());
    Port { name: name.to_owned(), element: Dtype::F32, shape, optional: false }
}

/// The interface of ports; symbols of one name are equal.
pub(crate) fn interface(inputs: &[Port], outputs: &[Port]) -> Interface {
    Signature { inputs: inputs.to_vec(), outputs: outputs.to_vec(), conditions: Vec::new() }.to_interface()
}

/// An interface in which an output has an expression as extent, and a condition.
pub(crate) fn rich() -> Interface {
    let mut scale = port("scale", &["3"]);
    scale.optional = true;
    let text = Port { element: Dtype::String, ..port("text */ \"\n", &["K", "N"]) };
    let flag = Port { element: Dtype::Bool, ..port("flag", &[]) };
    let mut rich = interface(&[port("x", &["N", "3"]), scale, text, flag], &[port("y", &["N", "?"])]);
    let (n, two) = (rich.dims.symbol("N"), rich.dims.constant(2));
    let double = rich.dims.mul(n, two);
    let limit = rich.dims.constant(64);
    let ty = Type::Tensor(TensorType { elem: ElemSet::of(Elem::INT64), shape: Some([double].into()) });
    rich.outputs.push(Parameter { name: "z".to_owned(), ty, optional: false, assumed: false });
    rich.conditions.push(Condition { relation: Relation::AtMost, left: n, right: limit });
    rich
}

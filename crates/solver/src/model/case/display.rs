//! Text of types whose shape depends on the case.

use typeloom_dim::Dims;

use crate::solution::Type;
use crate::universe::Universe;

/// A type with its alternatives: with alternatives of extents if all have one rank, else as a list of types.
pub(crate) fn display_union(universe: &Universe, dims: &Dims, ty: &Type, types: &[Type]) -> String {
    let axes = |ty: &Type| -> Option<Vec<String>> {
        let Type::Tensor(tensor) = ty else { return None };
        let shape = tensor.shape.as_deref()?;
        Some(shape.iter().map(|dim| dims.display(*dim).to_string()).collect())
    };
    let shapes: Option<Vec<Vec<String>>> = types.iter().map(axes).collect();
    if let (Some(shapes), Some(known)) = (shapes, axes(ty))
        && shapes.iter().all(|shape| shape.len() == known.len())
        && let Type::Tensor(tensor) = ty
    {
        let bare =
            Type::Tensor(crate::solution::TensorType { elem: tensor.elem, shape: Some(Box::default()) });
        let extents: Vec<String> = (0..known.len())
            .map(|axis| {
                // An extent on which all cases agree is written as in the plain pass.
                if known[axis] != "?" {
                    return known[axis].clone();
                }
                let mut texts: Vec<&str> = Vec::new();
                for shape in &shapes {
                    if !texts.contains(&shape[axis].as_str()) {
                        texts.push(&shape[axis]);
                    }
                }
                texts.join("|")
            })
            .collect();
        return format!("{}[{}]", bare.display(universe, dims), extents.join(", "));
    }
    let texts: Vec<String> = types.iter().map(|ty| ty.display(universe, dims).to_string()).collect();
    texts.join(" | ")
}

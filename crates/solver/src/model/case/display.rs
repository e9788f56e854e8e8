//! Text of types whose shape depends on the case.

use typeloom_dim::{DimId, Dims};

use crate::solution::{TensorType, Type, TypeWriter, write_elems};
use crate::universe::Universe;

/// Writes a type with its alternatives: with alternatives of extents if all have one rank, else as a list of
/// types.
pub(crate) fn write_union(
    universe: &Universe,
    dims: &Dims,
    ty: &Type,
    types: &[Type],
    out: &mut impl TypeWriter,
) -> std::fmt::Result {
    let shapes: Option<Vec<&[DimId]>> = types.iter().map(shape).collect();
    if let (Some(shapes), Type::Tensor(TensorType { elem, shape: Some(known) })) = (shapes, ty)
        && shapes.iter().all(|shape| shape.len() == known.len())
    {
        let axes = known.iter().enumerate();
        let axes: Vec<_> = axes.map(|(axis, known)| cases(dims, *known, &shapes, axis)).collect();
        write_elems(out, universe, *elem)?;
        return out.cases(&axes);
    }
    for (at, ty) in types.iter().enumerate() {
        out.write_str(if at == 0 { "" } else { " | " })?;
        ty.write(universe, out)?;
    }
    Ok(())
}

/// The shape of a dense tensor, if its rank is known.
fn shape(ty: &Type) -> Option<&[DimId]> {
    let Type::Tensor(tensor) = ty else { return None };
    tensor.shape.as_deref()
}

/// The extents of an axis in all cases, each text once. An extent on which all cases agree is written as in
/// the plain pass.
fn cases(dims: &Dims, known: DimId, shapes: &[&[DimId]], axis: usize) -> Vec<DimId> {
    let text = |dim: DimId| dims.display(dim).to_string();
    if text(known) != "?" {
        return vec![known];
    }
    let (mut found, mut texts) = (Vec::new(), Vec::new());
    for dim in shapes.iter().map(|shape| shape[axis]) {
        let text = text(dim);
        if !texts.contains(&text) {
            texts.push(text);
            found.push(dim);
        }
    }
    found
}

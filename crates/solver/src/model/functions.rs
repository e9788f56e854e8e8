//! Types inside functions: for every value, its type in all calls.
//!
//! A function is solved once for each distinct tuple of argument types. The join of these solves holds for
//! every call in the model: equal element types, equal ranks and equal constant extents. Symbols belong to
//! the caller and have no meaning inside.

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_dim::{DimId, Dims};

use crate::model::Checked;
use crate::operators::FunctionId;
use crate::program::Body;
use crate::solution::{TensorType, Type};

/// A function with the types of its values.
pub struct FunctionTypes<'a> {
    /// The body of the function.
    pub body: Arc<Body<'a>>,
    /// The type of each value of the body by position; [`Type::Unknown`] if calls differ.
    pub types: Vec<Type>,
}

impl<'a> Checked<'a> {
    /// The types inside each called function, in the order of the functions. They are available only with
    /// [`Options::functions`](crate::model::Options::functions).
    pub fn function_types(&mut self) -> Vec<FunctionTypes<'a>> {
        let Self { core, rare, .. } = self;
        let mut found: BTreeMap<FunctionId, FunctionTypes<'a>> = BTreeMap::new();
        for instance in rare.kept.iter().chain(rare.instances.iter()) {
            let body = Arc::clone(&instance.frame.body);
            let values = body.values();
            let types: Vec<Type> = values.map(|value| core.snapshot(&instance.frame, value)).collect();
            let dims = &mut core.dims;
            match found.get_mut(&instance.function) {
                None => {
                    let types = types.iter().map(|ty| join(dims, ty, ty)).collect();
                    found.insert(instance.function, FunctionTypes { body, types });
                }
                Some(known) => {
                    for (known, ty) in known.types.iter_mut().zip(&types) {
                        *known = join(dims, known, ty);
                    }
                }
            }
        }
        found.into_values().collect()
    }
}

/// The join of two types, without symbols.
fn join(dims: &mut Dims, a: &Type, b: &Type) -> Type {
    let ((constructors, a), (others, b)) = (a.split(), b.split());
    let inner = match (a, b) {
        (Type::Tensor(x), Type::Tensor(y)) if x.elem == y.elem => Type::Tensor(tensor(dims, x, y)),
        (Type::Sparse(x), Type::Sparse(y)) if x.elem == y.elem => Type::Sparse(tensor(dims, x, y)),
        _ => return Type::Unknown(None),
    };
    if constructors != others {
        return Type::Unknown(None);
    }
    Type::within(constructors, inner)
}

fn tensor(dims: &mut Dims, a: &TensorType, b: &TensorType) -> TensorType {
    let shape = match (&a.shape, &b.shape) {
        (Some(x), Some(y)) if x.len() == y.len() => {
            let extents = x.iter().zip(y);
            let shape: Vec<DimId> = extents
                .map(|(x, y)| match (dims.as_constant(*x), dims.as_constant(*y)) {
                    (Some(a), Some(b)) if a == b => *x,
                    _ => dims.fresh(),
                })
                .collect();
            Some(shape.into_boxed_slice())
        }
        _ => None,
    };
    TensorType { elem: a.elem, shape }
}

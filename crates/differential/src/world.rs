//! Worlds: bindings of a program's symbols, with inputs of the bound extents.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use crate::choices::Choices;
use crate::expression::{Binding, evaluate};
use crate::program::{Declaration, Declared};

/// One binding of the symbols, and the inputs of one run.
#[derive(Clone, Debug)]
pub struct World {
    /// The symbols that inputs declare.
    pub symbols: Binding,
    /// The inputs, in the order of the graph.
    pub inputs: Vec<Datum>,
}

/// Maximum extent of a symbol.
const MAX_EXTENT: i64 = 17;

/// Generates bindings of the symbols. Constants are chosen for the first binding. The others differ from it
/// in every symbol and have small, large and mixed extents.
pub fn bindings(symbols: &[&str], choices: &mut Choices) -> Vec<Binding> {
    let mut free = vec![2, 3, 4, 5, 6, 7];
    let base: Vec<i64> = symbols.iter().map(|_| free.remove(choices.below(free.len()))).collect();
    let mut bindings = vec![base.clone()];
    bindings.push(base.iter().map(|extent| extent + choices.between(1, 3)).collect());
    bindings.push((MAX_EXTENT - 4..).zip(&base).map(|(extent, _)| extent).collect());
    bindings.push(base.iter().map(|extent| if *extent > 2 { extent - 1 } else { 8 }).collect());
    bindings.push(base.iter().map(|extent| other(*extent, choices)).collect());
    bindings.push(base.iter().map(|_| 1).collect());
    let named = |extents: Vec<i64>| symbols.iter().map(|name| (*name).to_owned()).zip(extents).collect();
    bindings.into_iter().map(named).collect()
}

/// Generates another binding, which differs from `base` in every symbol.
pub fn other_binding(base: &Binding, choices: &mut Choices) -> Binding {
    base.iter().map(|(name, extent)| (name.clone(), other(*extent, choices))).collect()
}

fn other(extent: i64, choices: &mut Choices) -> i64 {
    let drawn = choices.between(1, 12);
    if drawn == extent { MAX_EXTENT } else { drawn }
}

/// Generates inputs for a binding. Anonymous extents are random.
pub fn inputs(ports: &[Declaration], binding: &Binding, choices: &mut Choices) -> Vec<Datum> {
    let value = |port: &Declaration| {
        let ty = port.ty.clone().unwrap_or(Declared { dtype: Dtype::F32, shape: Some(Vec::new()) });
        let mut shape = Vec::new();
        for extent in ty.shape.unwrap_or_default() {
            let value = if extent == "?" { Some(choices.between(1, 9)) } else { evaluate(&extent, binding) };
            shape.push(value.and_then(|value| usize::try_from(value).ok()).unwrap_or(1));
        }
        Datum::Tensor(tensor(ty.dtype, &shape, choices))
    };
    ports.iter().map(value).collect()
}

/// Generates a tensor with small elements.
///
/// # Panics
/// If the shape is too large for memory.
pub fn tensor(dtype: Dtype, shape: &[usize], choices: &mut Choices) -> AnyTensor {
    match dtype {
        Dtype::Bool => filled(shape, || choices.percent(50)),
        Dtype::I64 => filled(shape, || choices.between(0, 2)),
        Dtype::I32 => filled(shape, || i32::try_from(choices.between(0, 2)).unwrap_or(0)),
        Dtype::F64 => filled(shape, || f64::from(small(choices))),
        // The generator creates no inputs or constants of other types.
        _ => filled(shape, || small(choices)),
    }
}

fn filled<T: Element>(shape: &[usize], mut element: impl FnMut() -> T) -> AnyTensor {
    let elements = (0..shape.iter().product()).map(|_| element()).collect();
    AnyTensor::from_vec(shape, elements).expect("the shape is small")
}

fn small(choices: &mut Choices) -> f32 {
    [-1.5, -0.5, 0.0, 0.5, 1.0, 2.0][choices.below(6)]
}

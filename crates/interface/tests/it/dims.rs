//! Dims in bundles: writing and reading them changes nothing.

use proptest::prelude::*;
use typeloom_dim::{DimId, Dims};
use typeloom_interface::{Interface, Parameter};
use typeloom_pool::Pool;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};

use crate::support::universe;

/// The extents of the input. The reader knows symbols by their positions in it.
const SYMBOLS: [&str; 3] = ["A", "B", "C"];

/// Texts of dims over the symbols.
fn texts() -> impl Strategy<Value = String> {
    let symbol = prop::sample::select(&SYMBOLS).prop_map(str::to_owned);
    let leaf = prop_oneof![symbol, (-4i64..9).prop_map(|value| value.to_string())];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let operators = prop::sample::select(&["+", "-", "*", "//", "%", "min", "max"]);
        (operators, inner.clone(), inner).prop_map(|(operator, a, b)| match operator {
            "min" | "max" => format!("{operator}({a}, {b})"),
            _ => format!("({a}){operator}({b})"),
        })
    })
}

fn tensor(name: &str, shape: &[DimId]) -> Parameter {
    let ty = Type::Tensor(TensorType { elem: ElemSet::of(Elem::FLOAT), shape: Some(shape.into()) });
    Parameter { name: name.to_owned(), ty, optional: false, assumed: false }
}

fn shape(parameter: &Parameter) -> &[DimId] {
    match &parameter.ty {
        Type::Tensor(TensorType { shape: Some(shape), .. }) => shape,
        other => panic!("{other:?} has no shape"),
    }
}

/// Writes and reads a dim; returns it with the one that was read, in one arena.
fn written_and_read(text: &str) -> Option<(Dims, DimId, DimId)> {
    let mut dims = Dims::new();
    let symbols = SYMBOLS.map(|name| dims.symbol(name));
    let dim = dims.parse(text).ok()?;
    // A division by zero is an unknown.
    if dims.is_anonymous(dim) {
        return None;
    }
    let (inputs, outputs) = (vec![tensor("x", &symbols)], vec![tensor("y", &[dim])]);
    let interface = Interface {
        inputs,
        outputs,
        conditions: Vec::new(),
        dims: dims.clone(),
        universe: universe().clone(),
    };
    let mut pool = Pool::new();
    let ty = interface.to_pool(&mut pool).expect("the dim is within the limits of pools");
    let read = Interface::from_pool(&pool, ty, universe()).expect("a written interface can be read");
    let (inputs, outputs) = (shape(&read.inputs[0]), shape(&read.outputs[0]));
    let same = dims.copy_from(&read.dims, outputs[0], &mut |_, leaf| {
        let at = inputs.iter().position(|input| *input == leaf);
        symbols[at.expect("the leaves are symbols of the inputs")]
    });
    Some((dims, dim, same))
}

/// A dim that a random test found.
#[test]
fn a_quotient_times_a_remainder_is_written_and_read() {
    let (dims, dim, same) = written_and_read("(5//(3*A))*((A + 1)%(-2))").expect("it is a dim");
    assert_eq!(dims.display(same).to_string(), dims.display(dim).to_string());
    assert_eq!(same, dim);
}

proptest! {
    #[test]
    fn a_dim_that_is_written_and_read_is_the_same(text in texts()) {
        if let Some((_, dim, same)) = written_and_read(&text) {
            prop_assert_eq!(same, dim, "{}", text);
        }
    }
}

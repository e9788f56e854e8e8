//! The narrowest element types on the way from the inputs of a model to its outputs.
//!
//! A result of `float` is no more exact than a value of `float16` that it was computed from. Two runs get
//! equal inputs; each value that a node makes, and each stored tensor, is rounded to its element type.

use std::collections::{BTreeSet, HashMap};

use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Origin, StepId, ValueId};
use typeloom_types::dtype::{Dtype, DtypeClass};

use super::difference::step;

/// The narrowest float type of a value that each output of the model is computed from, itself included, by
/// its name. The values of functions are known if the check kept them.
pub fn narrowest(checked: &mut Checked<'_>) -> HashMap<String, Dtype> {
    let body = checked.shared_body();
    let outputs = body.graph(body.root()).outputs.clone();
    outputs
        .into_iter()
        .filter_map(|output| Some((body.value_name(output).to_owned(), narrowest_before(checked, output)?)))
        .collect()
}

fn narrowest_before(checked: &mut Checked<'_>, output: ValueId) -> Option<Dtype> {
    let body = checked.shared_body();
    let mut found: Option<Dtype> = None;
    let mut seen = BTreeSet::from([output]);
    let mut open = vec![output];
    let mut calls = false;
    while let Some(value) = open.pop() {
        let Some(maker) = body.maker(value) else {
            match body.value(value).origin {
                Origin::Initializer(_) => found = narrower(found, floats(&checked.type_of(value))),
                Origin::Input | Origin::InputWithDefault(_) | Origin::Step(_) | Origin::Undefined => {}
            }
            continue;
        };
        // The nodes of nested graphs are between the two ends of their node.
        let (first, last) = (body.first_step(maker).index(), body.last_step(maker).index());
        for step in (first..=last).map(StepId::new) {
            calls |= checked.is_call(&body, step);
            for made in body.outputs(step).iter().flatten() {
                found = narrower(found, floats(&checked.type_of(*made)));
            }
            open.extend(body.inputs(step).iter().flatten().filter(|input| seen.insert(**input)));
        }
    }
    if calls {
        let functions = checked.bodies().into_iter().filter(|solved| !solved.is_main()).collect::<Vec<_>>();
        for solved in functions {
            for value in solved.body.values().filter(|value| solved.body.maker(*value).is_some()) {
                found = narrower(found, floats(&checked.type_within(&solved, value)));
            }
        }
    }
    found
}

/// The narrowest float type of the tensors in a type.
fn floats(ty: &typeloom_solver::solution::Type) -> Option<Dtype> {
    let dtypes = ty.tensors().filter(|tensor| tensor.elem.len() == 1).flat_map(|tensor| tensor.elem.iter());
    let floats = dtypes.filter_map(Elem::dtype).filter(|dtype| dtype.class() == DtypeClass::Float);
    floats.fold(None, |found, dtype| narrower(found, Some(dtype)))
}

/// The type of the larger steps.
pub fn narrower(a: Option<Dtype>, b: Option<Dtype>) -> Option<Dtype> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if step(b) > step(a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

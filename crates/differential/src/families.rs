//! Operator families: each adds one operator, with the constants and shape arithmetic that it needs.
//!
//! A family returns `None` if no value is suitable or the operator fails; the caller then undoes its
//! additions. Constants are often taken from the extents of the leading world, so that the operator fails in
//! the others.

mod contract;
mod control;
mod elements;
mod indices;
mod layout;
mod sequences;
mod shapes;
mod windows;

use typeloom_cpu::attributes::Attribute;
use typeloom_types::dtype::Dtype;

use crate::build::{Builder, Var};

/// Adds one operator.
pub(crate) type Family = fn(&mut Builder<'_>) -> Option<()>;

/// The families and their weights.
pub(crate) const FAMILIES: &[(usize, Family)] = &[
    (8, elements::unary),
    (14, elements::binary),
    (4, elements::selected),
    (3, elements::cast),
    (4, elements::softened),
    (7, elements::reduced),
    (2, elements::accumulated),
    (10, shapes::shape),
    (8, shapes::extent),
    (10, shapes::arithmetic),
    (6, shapes::vector),
    (3, shapes::range),
    (4, shapes::filled),
    (14, layout::reshaped),
    (6, layout::transposed),
    (4, layout::flattened),
    (4, layout::squeezed),
    (5, layout::unsqueezed),
    (8, layout::expanded),
    (3, layout::tiled),
    (10, layout::joined),
    (7, layout::split),
    (10, layout::sliced),
    (4, layout::padded),
    (5, indices::gathered),
    (3, indices::gathered_elements),
    (3, indices::scattered),
    (3, indices::best),
    (2, indices::one_hot),
    (4, indices::found),
    (8, contract::product),
    (3, contract::affine),
    (3, contract::einsum),
    (6, windows::convolved),
    (3, windows::resized),
    (2, windows::blocks),
    (3, sequences::sequence),
    (2, sequences::optional),
    (9, control::branch),
    (5, control::repeat),
    (3, control::scan),
    (3, control::call),
];

/// Selects a family by weight.
pub(crate) fn choose(builder: &mut Builder<'_>) -> Family {
    let total = FAMILIES.iter().map(|(weight, _)| weight).sum();
    let mut at = builder.choices.below(total);
    for (weight, family) in FAMILIES {
        if at < *weight {
            return *family;
        }
        at -= weight;
    }
    FAMILIES[0].1
}

fn int(name: &'static str, value: i64) -> (&'static str, Attribute) {
    (name, Attribute::Int(value))
}

fn ints(name: &'static str, values: &[i64]) -> (&'static str, Attribute) {
    (name, Attribute::Ints(values.to_vec()))
}

fn text(name: &'static str, value: &str) -> (&'static str, Attribute) {
    (name, Attribute::Bytes(value.into()))
}

pub(crate) fn signed(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn is_float(var: &Var) -> bool {
    var.dtype() == Some(Dtype::F32)
}

fn is_int(var: &Var) -> bool {
    var.dtype() == Some(Dtype::I64)
}

/// A float tensor of a known rank within these bounds.
fn floats(b: &mut Builder<'_>, low: usize, high: usize) -> Option<Var> {
    b.any(|var| is_float(var) && var.rank().is_some_and(|rank| (low..=high).contains(&rank)))
}

/// A tensor of any type except strings, with a rank within these bounds.
fn tensor(b: &mut Builder<'_>, low: usize, high: usize) -> Option<Var> {
    b.any(|var| var.rank().is_some_and(|rank| (low..=high).contains(&rank)))
}

/// The extents in the leading world.
fn extents(b: &Builder<'_>, var: &Var) -> Vec<i64> {
    var.shape(b.lead()).unwrap_or_default().iter().map(|extent| signed(*extent)).collect()
}

/// An axis, counted from either end.
fn axis(b: &mut Builder<'_>, rank: usize) -> i64 {
    let axis = signed(b.choices.below(rank));
    if b.choices.percent(30) { axis - signed(rank) } else { axis }
}

/// No attributes with this probability in percent, otherwise an axis.
fn optional_axis(b: &mut Builder<'_>, x: &Var, omitted: usize) -> Option<Vec<(&'static str, Attribute)>> {
    if b.choices.percent(omitted) {
        return Some(Vec::new());
    }
    Some(vec![int("axis", axis(b, x.rank()?))])
}

/// Index of an axis that may be counted from the end.
fn position(axis: i64, rank: usize) -> usize {
    usize::try_from(if axis < 0 { axis + signed(rank) } else { axis }).unwrap_or(0)
}

/// The elements of a small vector of integers in the leading world.
fn elements_of(b: &Builder<'_>, var: &Var) -> Vec<i64> {
    let tensor = var.values[b.lead()].as_ref().and_then(typeloom_tensor::datum::Datum::as_tensor);
    tensor.and_then(|tensor| tensor.to_vec::<i64>().ok()).unwrap_or_default()
}

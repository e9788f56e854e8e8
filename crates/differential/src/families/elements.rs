//! Operators on elements: arithmetic with broadcasting, comparisons, casts, reductions.

use typeloom_types::dtype::Dtype;

use super::{axis, extents, floats, int, is_float, is_int, position, tensor};
use crate::build::{Builder, Var};

pub(super) fn unary(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 5)?;
    let op = match x.dtype()? {
        Dtype::F32 => *b.choices.pick(&["Relu", "Neg", "Sigmoid", "Tanh", "Abs", "Identity", "Exp"]),
        Dtype::I64 | Dtype::I32 => *b.choices.pick(&["Neg", "Abs", "Identity", "Sign"]),
        Dtype::Bool => *b.choices.pick(&["Not", "Identity"]),
        _ => "Identity",
    };
    b.simple(op, &[&x.name]).map(|_| ())
}

/// A second operand: another value, or a constant whose shape comes from the extents of the leading world.
fn operand(b: &mut Builder<'_>, x: &Var) -> Option<String> {
    if b.choices.percent(50) {
        let (dtype, own) = (x.dtype(), x.name.clone());
        let other = b.any(|var| var.dtype() == dtype && var.rank().is_some() && var.name != own);
        if let Some(other) = other {
            return Some(other.name);
        }
    }
    let mut shape: Vec<usize> = x.shape(b.lead())?.to_vec();
    let kept = b.choices.below(shape.len() + 1);
    shape.drain(..kept);
    for extent in &mut shape {
        if b.choices.percent(40) {
            *extent = 1;
        }
    }
    if *shape.iter().max().unwrap_or(&0) > 64 {
        return None;
    }
    Some(b.weight(x.dtype()?, &shape))
}

pub(super) fn binary(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 5)?;
    let y = operand(b, &x)?;
    let op = match x.dtype()? {
        Dtype::F32 | Dtype::F64 => {
            *b.choices.pick(&["Add", "Sub", "Mul", "Max", "Min", "Less", "GreaterOrEqual", "Sum", "Mean"])
        }
        Dtype::I64 | Dtype::I32 => *b.choices.pick(&["Add", "Sub", "Mul", "Max", "Min", "Less", "Equal"]),
        Dtype::Bool => *b.choices.pick(&["And", "Or", "Xor", "Equal"]),
        _ => return None,
    };
    let (mut left, mut right) = (x.name, y);
    if b.choices.percent(50) {
        std::mem::swap(&mut left, &mut right);
    }
    b.simple(op, &[&left, &right]).map(|_| ())
}

pub(super) fn selected(b: &mut Builder<'_>) -> Option<()> {
    let condition = b.any(|var| var.dtype() == Some(Dtype::Bool) && var.rank().is_some())?;
    let x = b.any(|var| is_float(var) || is_int(var))?;
    let y = operand(b, &x)?;
    b.simple("Where", &[&condition.name, &x.name, &y]).map(|_| ())
}

pub(super) fn cast(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 5)?;
    let to = *b.choices.pick(&[Dtype::F32, Dtype::I64, Dtype::Bool, Dtype::I32, Dtype::F64]);
    let attributes = vec![int("to", i64::from(to.onnx_number()))];
    b.node("Cast", &[&x.name], attributes, 1).map(|_| ())
}

/// Adds an operator that normalises along an axis.
pub(super) fn softened(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 4)?;
    let axis = axis(b, x.rank()?);
    match b.choices.below(4) {
        0 => b.node("Softmax", &[&x.name], vec![int("axis", axis)], 1),
        1 => b.node("LogSoftmax", &[&x.name], vec![int("axis", axis)], 1),
        2 => {
            let shape = x.shape(b.lead())?[position(axis, x.rank()?)..].to_vec();
            let scale = b.weight(Dtype::F32, &shape);
            b.node("LayerNormalization", &[&x.name, &scale], vec![int("axis", axis)], 1)
        }
        _ => b.node("Hardmax", &[&x.name], vec![int("axis", axis)], 1),
    }
    .map(|_| ())
}

pub(super) fn reduced(b: &mut Builder<'_>) -> Option<()> {
    let x = b.any(|var| (is_float(var) || is_int(var)) && var.rank().is_some())?;
    let rank = x.rank()?;
    let keep = int("keepdims", i64::from(b.choices.percent(50)));
    if rank > 0 && b.choices.percent(25) {
        let op = *b.choices.pick(&["ArgMax", "ArgMin"]);
        let axis = axis(b, rank);
        return b.node(op, &[&x.name], vec![int("axis", axis), keep], 1).map(|_| ());
    }
    let op = *b.choices.pick(&["ReduceSum", "ReduceMax", "ReduceProd", "ReduceMin", "ReduceMean"]);
    if b.choices.percent(20) {
        let noop = int("noop_with_empty_axes", i64::from(b.choices.percent(30)));
        return b.node(op, &[&x.name], vec![keep, noop], 1).map(|_| ());
    }
    let mut axes: Vec<i64> = (0..super::signed(rank)).filter(|_| b.choices.percent(45)).collect();
    if axes.is_empty() && rank > 0 {
        axes.push(axis(b, rank));
    }
    let axes = b.ints(&axes);
    b.node(op, &[&x.name, &axes], vec![keep], 1).map(|_| ())
}

pub(super) fn accumulated(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 4)?;
    if extents(b, &x).len() == 2 && b.choices.percent(40) {
        return b.node("Trilu", &[&x.name], vec![int("upper", 0)], 1).map(|_| ());
    }
    let axis = axis(b, x.rank()?);
    let axis = b.int(axis);
    b.node("CumSum", &[&x.name, &axis], vec![], 1).map(|_| ())
}

//! Shape arithmetic: shapes as vectors, their elements, integer arithmetic on them, and values built from
//! them.

use typeloom_cpu::attributes::Attribute;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{axis, elements_of, int, is_int, signed, tensor};
use crate::build::{Builder, Var};

pub(super) fn shape(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 5)?;
    let rank = signed(x.rank()?);
    match b.choices.below(6) {
        0 => b.simple("Size", &[&x.name]).map(|_| ()),
        bound @ (1 | 2) => {
            let bound = int(if bound == 1 { "start" } else { "end" }, b.choices.between(-rank, rank));
            b.node("Shape", &[&x.name], vec![bound], 1).map(|_| ())
        }
        _ => b.simple("Shape", &[&x.name]).map(|_| ()),
    }
}

/// The extent of an axis, in the shape of `form`, which has one element.
pub(super) fn one_extent(b: &mut Builder<'_>, x: &Var, axis: i64, form: &[usize]) -> Option<String> {
    let shape = b.simple("Shape", &[&x.name])?;
    let index = b.constant(AnyTensor::from_slice(form, &[axis]).ok()?);
    Some(b.simple("Gather", &[&shape.name, &index])?.name)
}

pub(super) fn extent(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 5)?;
    let axis = axis(b, x.rank()?);
    let form: &[usize] = if b.choices.percent(50) { &[1] } else { &[] };
    one_extent(b, &x, axis, form).map(|_| ())
}

fn small_ints(b: &mut Builder<'_>, rank: Option<usize>) -> Option<Var> {
    b.any(|var| {
        let of_rank = var.rank().is_some_and(|own| rank.map_or(own <= 1, |rank| own == rank));
        is_int(var)
            && of_rank
            && var
                .values
                .iter()
                .flatten()
                .all(|value| value.as_tensor().is_some_and(|tensor| tensor.len() <= 8))
    })
}

pub(super) fn arithmetic(b: &mut Builder<'_>) -> Option<()> {
    let x = small_ints(b, None)?;
    let op = *b.choices.pick(&["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Div", "Min"]);
    let y = if b.choices.percent(40) {
        small_ints(b, None)?.name
    } else {
        let value = b.choices.between(1, 9);
        if b.choices.percent(50) { b.int(value) } else { b.ints(&[value]) }
    };
    let swapped = b.choices.percent(20);
    let inputs = if swapped { [y.as_str(), &x.name] } else { [&x.name, y.as_str()] };
    // Integer division differs between implementations for negative operands; extents are positive.
    let divides = matches!(op, "Div" | "Mod");
    let divisor = b.var(inputs[1])?;
    if divides && !elements_of_all(&divisor).all(|value| value > 0) {
        return None;
    }
    b.simple(op, &inputs).map(|_| ())
}

fn elements_of_all(var: &Var) -> impl Iterator<Item = i64> {
    let tensors = var.values.iter().flatten().filter_map(typeloom_tensor::datum::Datum::as_tensor);
    tensors.flat_map(|tensor| tensor.to_vec::<i64>().unwrap_or_default())
}

/// A vector concatenated from others, or split.
pub(super) fn vector(b: &mut Builder<'_>) -> Option<()> {
    match b.choices.below(6) {
        0 => {
            let x = small_ints(b, Some(0))?;
            let axes = b.ints(&[0]);
            b.simple("Unsqueeze", &[&x.name, &axes]).map(|_| ())
        }
        1 => {
            let x = small_ints(b, Some(1))?;
            let op = *b.choices.pick(&["ReduceProd", "ReduceSum", "ReduceMax"]);
            let keep = i64::from(b.choices.percent(50));
            b.node(op, &[&x.name], vec![int("keepdims", keep)], 1).map(|_| ())
        }
        2 => {
            let x = small_ints(b, Some(1))?;
            let op = *b.choices.pick(&["Equal", "Less", "Greater"]);
            let y = b.one_between(1, 6);
            b.simple(op, &[&x.name, &y]).map(|_| ())
        }
        3 => {
            let x = small_ints(b, Some(1))?;
            let to = int("to", i64::from(Dtype::I32.onnx_number()));
            let narrow = b.node("Cast", &[&x.name], vec![to], 1)?.pop()?;
            let back = int("to", i64::from(Dtype::I64.onnx_number()));
            b.node("Cast", &[&narrow.name], vec![back], 1).map(|_| ())
        }
        _ => {
            let mut parts = Vec::new();
            for _ in 0..b.choices.between(2, 3) {
                parts.push(if b.choices.percent(60) {
                    small_ints(b, Some(1))?.name
                } else {
                    b.one_between(1, 4)
                });
            }
            b.node("Concat", &parts, vec![int("axis", 0)], 1).map(|_| ())
        }
    }
}

pub(super) fn range(b: &mut Builder<'_>) -> Option<()> {
    let limit = small_ints(b, Some(0))?;
    let start = b.int_between(0, 3);
    let numbers = if b.choices.percent(25) {
        let step = b.int(-1);
        b.simple("Range", &[&limit.name, &start, &step])?
    } else {
        let step = b.int_between(1, 3);
        b.simple("Range", &[&start, &limit.name, &step])?
    };
    if b.choices.percent(40) {
        let index = b.int_between(-2, 1);
        b.simple("Gather", &[&numbers.name, &index])?;
    }
    Some(())
}

pub(super) fn filled(b: &mut Builder<'_>) -> Option<()> {
    let shape = small_ints(b, Some(1))?;
    if elements_of(b, &shape).len() > 5 {
        return None;
    }
    let value = AnyTensor::from_slice(&[1], &[0.5_f32]).ok()?;
    b.node("ConstantOfShape", &[&shape.name], vec![("value", Attribute::Tensor(value))], 1).map(|_| ())
}

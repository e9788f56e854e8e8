//! Operators with indices, and operators whose extents depend on data.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{axis, extents, floats, int, is_float, is_int, optional_axis, position, signed, tensor};
use crate::build::{Builder, Var};

/// Indices below `extent`, as a constant.
fn indices(b: &mut Builder<'_>, shape: &[usize], extent: i64) -> String {
    let count: usize = shape.iter().product();
    let values: Vec<i64> = (0..count).map(|_| b.choices.between(0, extent - 1)).collect();
    b.constant(AnyTensor::from_vec(shape, values).expect("a small tensor"))
}

pub(super) fn gathered(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 4)?;
    let axis = axis(b, x.rank()?);
    let extent = extents(b, &x)[position(axis, x.rank()?)].max(1);
    // Half of the indices are valid for every extent.
    let extent = if b.choices.percent(50) { 1 } else { extent };
    let shape: &[usize] = b.choices.pick::<&[usize]>(&[&[][..], &[1], &[2], &[3], &[2, 2]]);
    let index = if b.choices.percent(25) {
        b.any(|var| is_int(var) && var.rank().is_some_and(|rank| rank <= 2))?.name
    } else {
        indices(b, shape, extent)
    };
    b.node("Gather", &[&x.name, &index], vec![int("axis", axis)], 1).map(|_| ())
}

pub(super) fn gathered_elements(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 3)?;
    let axis = axis(b, x.rank()?);
    if b.choices.percent(50) {
        let keep = vec![int("axis", axis), int("keepdims", 1)];
        let index = b.node("ArgMax", &[&x.name], keep, 1)?.pop()?;
        return b.node("GatherElements", &[&x.name, &index.name], vec![int("axis", axis)], 1).map(|_| ());
    }
    let depth = b.choices.below(x.rank()?) + 1;
    let index = indices(b, &[2, depth], 1);
    b.simple("GatherND", &[&x.name, &index]).map(|_| ())
}

pub(super) fn scattered(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 3)?;
    let axis = axis(b, x.rank()?);
    if b.choices.percent(50) {
        let keep = vec![int("axis", axis), int("keepdims", 1)];
        let index = b.node("ArgMax", &[&x.name], keep.clone(), 1)?.pop()?;
        let axes = b.ints(&[axis]);
        let update = b.node("ReduceMax", &[&x.name, &axes], vec![int("keepdims", 1)], 1)?.pop()?;
        let inputs = [x.name.as_str(), &index.name, &update.name];
        return b.node("ScatterElements", &inputs, vec![int("axis", axis)], 1).map(|_| ());
    }
    let index = indices(b, &[1, 1], 1);
    let mut shape = x.shape(b.lead())?.to_vec();
    shape[0] = 1;
    if shape.iter().product::<usize>() > 400 {
        return None;
    }
    let update = b.weight(Dtype::F32, &shape);
    b.simple("ScatterND", &[&x.name, &index, &update]).map(|_| ())
}

pub(super) fn best(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 3)?;
    let axis = axis(b, x.rank()?);
    let extent = extents(b, &x)[position(axis, x.rank()?)].max(1);
    let count = if b.choices.percent(60) {
        b.one_between(1, extent.min(4))
    } else {
        b.any(|var| is_int(var) && var.rank() == Some(1) && var.shape_is_one())?.name
    };
    b.node("TopK", &[&x.name, &count], vec![int("axis", axis)], 2).map(|_| ())
}

pub(super) fn one_hot(b: &mut Builder<'_>) -> Option<()> {
    let index = b.any(|var| is_int(var) && var.rank().is_some_and(|rank| (1..=2).contains(&rank)))?;
    let depth = match b.any(|var| is_int(var) && var.rank() == Some(0)) {
        Some(depth) if b.choices.percent(50) => depth.name,
        _ => b.int_between(1, 5),
    };
    let values = b.constant(AnyTensor::from_slice(&[2], &[0.0_f32, 1.0]).ok()?);
    let axis = axis(b, index.rank()? + 1);
    b.node("OneHot", &[&index.name, &depth, &values], vec![int("axis", axis)], 1).map(|_| ())
}

fn is_condition(var: &Var) -> bool {
    var.dtype() == Some(Dtype::Bool) && var.rank() == Some(1)
}

/// Adds an operator whose extents depend on data.
pub(super) fn found(b: &mut Builder<'_>) -> Option<()> {
    match b.choices.below(3) {
        0 => {
            let x = b.any(|var| var.rank().is_some_and(|rank| (1..=3).contains(&rank)))?;
            b.simple("NonZero", &[&x.name]).map(|_| ())
        }
        1 => {
            let x = b.any(|var| (is_float(var) || is_int(var)) && var.rank().is_some_and(|rank| rank > 0))?;
            let attributes = optional_axis(b, &x, 50)?;
            let outputs = b.choices.below(4) + 1;
            b.node("Unique", &[&x.name], attributes, outputs).map(|_| ())
        }
        _ => {
            let condition = b.any(is_condition)?;
            let x = floats(b, 1, 3)?;
            let attributes = optional_axis(b, &x, 30)?;
            // The condition may be shorter than the axis but not longer.
            let count = b.var(&condition.name)?.shape(b.lead())?.first().copied().map(signed)?;
            (count <= 64).then_some(())?;
            b.node("Compress", &[&x.name, &condition.name], attributes, 1).map(|_| ())
        }
    }
}

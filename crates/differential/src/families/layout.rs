//! Operators that move elements: reshapes, transposes, slices, concatenations.

use super::shapes::one_extent;
use super::{axis, extents, floats, int, ints, is_int, position, signed, tensor};
use crate::build::{Builder, Var};

/// A vector of integers with these elements in the leading world; each is a constant, or computed from an
/// extent of the same size.
pub(super) fn target(b: &mut Builder<'_>, elements: &[i64], computed: usize) -> Option<String> {
    if !b.choices.percent(computed) {
        return Some(b.ints(elements));
    }
    let mut parts: Vec<String> = Vec::new();
    for element in elements {
        let lead = b.lead();
        let has = |var: &Var| var.shape(lead).is_some_and(|it| it.iter().any(|it| signed(*it) == *element));
        let source = b.any(|var| var.rank().is_some() && has(var));
        parts.push(match source {
            Some(source) if *element > 0 && b.choices.percent(80) => {
                let axis = extents(b, &source).iter().position(|it| it == element)?;
                one_extent(b, &source, signed(axis), &[1])?
            }
            _ => b.ints(&[*element]),
        });
    }
    if parts.is_empty() {
        return Some(b.ints(&[]));
    }
    Some(b.node("Concat", &parts, vec![int("axis", 0)], 1)?.pop()?.name)
}

pub(super) fn reshaped(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 5)?;
    if b.choices.percent(10) {
        let shape = b.any(|var| is_int(var) && var.rank() == Some(1))?;
        return b.simple("Reshape", &[&x.name, &shape.name]).map(|_| ());
    }
    let mut shape = extents(b, &x);
    // Merges, splits and swaps axes.
    for _ in 0..b.choices.between(0, 2) {
        let at = b.choices.below(shape.len());
        match b.choices.below(4) {
            0 if shape.len() > 1 => {
                let removed = shape.remove(at);
                let next = at % shape.len();
                shape[next] *= removed;
            }
            1 => {
                let factor = b.choices.between(2, 4);
                if shape[at] % factor == 0 {
                    shape[at] /= factor;
                    shape.insert(at, factor);
                }
            }
            2 => shape.insert(at, 1),
            _ => {
                let other = b.choices.below(shape.len());
                shape.swap(at, other);
            }
        }
    }
    let own = extents(b, &x);
    if b.choices.percent(60) {
        let at = b.choices.below(shape.len());
        shape[at] = -1;
    }
    for (at, extent) in own.iter().enumerate() {
        if shape.get(at) == Some(extent) && b.choices.percent(30) {
            shape[at] = 0;
        }
    }
    let shape = target(b, &shape, 50)?;
    b.simple("Reshape", &[&x.name, &shape]).map(|_| ())
}

pub(super) fn transposed(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 5)?;
    if b.choices.percent(25) {
        return b.simple("Transpose", &[&x.name]).map(|_| ());
    }
    let mut left: Vec<i64> = (0..signed(x.rank()?)).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.remove(b.choices.below(left.len())));
    }
    b.node("Transpose", &[&x.name], vec![ints("perm", &order)], 1).map(|_| ())
}

pub(super) fn flattened(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 5)?;
    let rank = signed(x.rank()?);
    let axis = b.choices.between(-rank, rank);
    b.node("Flatten", &[&x.name], vec![int("axis", axis)], 1).map(|_| ())
}

pub(super) fn squeezed(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 6)?;
    let shape = extents(b, &x);
    if b.choices.percent(35) {
        return b.simple("Squeeze", &[&x.name]).map(|_| ());
    }
    let axes: Vec<i64> = (0..shape.len()).filter(|at| shape[*at] == 1).map(signed).collect();
    if axes.is_empty() {
        return None;
    }
    let axes = b.ints(&[*b.choices.clone().pick(&axes)]);
    b.simple("Squeeze", &[&x.name, &axes]).map(|_| ())
}

pub(super) fn unsqueezed(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 4)?;
    let rank = signed(x.rank()?);
    let mut axes = vec![b.choices.between(-rank - 1, rank)];
    if b.choices.percent(25) {
        axes = vec![0, rank + 1];
    }
    let axes = b.ints(&axes);
    b.simple("Unsqueeze", &[&x.name, &axes]).map(|_| ())
}

pub(super) fn expanded(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 0, 4)?;
    match b.choices.below(4) {
        0 => {
            let shape = b.any(|var| is_int(var) && var.rank() == Some(1))?;
            b.simple("Expand", &[&x.name, &shape.name]).map(|_| ())
        }
        1 => {
            let other = tensor(b, 0, 4)?;
            let shape = b.simple("Shape", &[&other.name])?;
            b.simple("Expand", &[&x.name, &shape.name]).map(|_| ())
        }
        _ => {
            let mut shape = extents(b, &x);
            for extent in &mut shape {
                if *extent == 1 && b.choices.percent(60) {
                    *extent = b.choices.between(2, 5);
                } else if b.choices.percent(40) {
                    *extent = 1;
                }
            }
            if b.choices.percent(30) {
                shape.insert(0, b.choices.between(1, 4));
            }
            let shape = target(b, &shape, 40)?;
            b.simple("Expand", &[&x.name, &shape]).map(|_| ())
        }
    }
}

pub(super) fn tiled(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 3)?;
    let repeats: Vec<i64> = (0..x.rank()?).map(|_| b.choices.between(1, 3)).collect();
    let repeats = target(b, &repeats, 50)?;
    b.simple("Tile", &[&x.name, &repeats]).map(|_| ())
}

pub(super) fn joined(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 4)?;
    let (dtype, rank) = (x.dtype(), x.rank()?);
    let axis = axis(b, rank);
    let mut parts = vec![x.name.clone()];
    for _ in 0..b.choices.between(1, 2) {
        if b.choices.percent(25) {
            let mut shape = x.shape(b.lead())?.to_vec();
            shape[position(axis, rank)] = b.choices.below(3) + 1;
            parts.push(b.weight(dtype?, &shape));
        } else {
            parts.push(b.any(|var| var.dtype() == dtype && var.rank() == Some(rank))?.name);
        }
    }
    b.node("Concat", &parts, vec![int("axis", axis)], 1).map(|_| ())
}

pub(super) fn split(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 4)?;
    let axis = axis(b, x.rank()?);
    let extent = extents(b, &x)[position(axis, x.rank()?)];
    if b.choices.percent(50) {
        let count = b.choices.between(2, 3);
        let attributes = vec![int("axis", axis), int("num_outputs", count)];
        return b.node("Split", &[&x.name], attributes, usize::try_from(count).unwrap_or(2)).map(|_| ());
    }
    let first = b.choices.between(1, (extent - 1).max(1));
    let sizes = if b.choices.percent(50) {
        b.ints(&[first, extent - first])
    } else {
        let whole = one_extent(b, &x, axis, &[1])?;
        let first = b.ints(&[first]);
        let rest = b.simple("Sub", &[&whole, &first])?;
        b.node("Concat", &[&first, &rest.name], vec![int("axis", 0)], 1)?.pop()?.name
    };
    b.node("Split", &[&x.name, &sizes], vec![int("axis", axis)], 2).map(|_| ())
}

pub(super) fn sliced(b: &mut Builder<'_>) -> Option<()> {
    let x = tensor(b, 1, 4)?;
    let axis = axis(b, x.rank()?);
    let extent = extents(b, &x)[position(axis, x.rank()?)];
    let start = if b.choices.percent(40) { 0 } else { b.choices.between(-4, 4) };
    let end = match b.choices.below(4) {
        0 => i64::MAX,
        1 => b.choices.between(-3, -1),
        2 => extent,
        _ => b.choices.between(1, 8),
    };
    let step = if b.choices.percent(20) { *b.choices.pick(&[2, 3, -1, -2]) } else { 1 };
    let (start, end) = if step < 0 { (-1, i64::MIN + 1) } else { (start, end) };
    let bound = b.any(|var| is_int(var) && var.rank() == Some(1) && var.shape_is_one());
    let start = b.ints(&[start]);
    let end = match bound {
        Some(bound) if b.choices.percent(35) => bound.name,
        _ => b.ints(&[end]),
    };
    let (axes, steps) = (b.ints(&[axis]), b.ints(&[step]));
    let sliced = if step == 1 && b.choices.percent(50) {
        b.simple("Slice", &[&x.name, &start, &end, &axes])
    } else {
        b.simple("Slice", &[&x.name, &start, &end, &axes, &steps])
    }?;
    // Many operators reject empty tensors, so few programs should contain them.
    let empty = sliced
        .values
        .iter()
        .flatten()
        .any(|it| it.as_tensor().is_some_and(typeloom_tensor::any_tensor::AnyTensor::is_empty));
    (!empty || b.choices.percent(10)).then_some(())
}

pub(super) fn padded(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 4)?;
    let pads: Vec<i64> = (0..2 * x.rank()?).map(|_| b.choices.between(0, 2)).collect();
    let pads = target(b, &pads, 20)?;
    b.simple("Pad", &[&x.name, &pads]).map(|_| ())
}

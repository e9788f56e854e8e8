//! Selection of elements by indices.

use typeloom_types::dtype::{Dtype, DtypeClass};

use super::form::{
    Form, Lowered, Operand, OrRefusal, along, bounded, number_of, refuse, refuse_dtype, total,
};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] =
    &[rule("OneHot", one_hot), rule("GatherElements", gather_elements), rule("GatherND", gather_nd)];

/// Negative indices count from the end.
fn from_start(indices: Operand<'_>, extent: i64) -> Operand<'_> {
    indices.less(0.0).select(indices + extent as f64, indices)
}

fn signed(x: Operand<'_>) -> OrRefusal<()> {
    if matches!(x.dtype().class(), DtypeClass::SignedInt | DtypeClass::Float) {
        return Ok(());
    }
    refuse(format!("there is no form for indices of {}", x.dtype().type_node().id))
}

fn one_hot(f: Form<'_>) -> Lowered<'_> {
    let (indices, values) = (f.input(0)?, f.input(2)?);
    signed(indices)?;
    let rank = indices.rank()? + 1;
    let axis = f.axis(f.int("axis", -1), rank)?;
    let solved = || number_of(f.output_shape().ok()?.get(axis)?);
    let Some(depth) = f.constant_int(1).or_else(solved) else {
        return refuse("its depth is found when it runs");
    };
    let indices = from_start(indices, depth).unsqueeze(&[axis]);
    let hot = indices.equal(f.iota(indices.dtype(), &along(rank, axis, depth))?);
    let (off, on) = (values.gather(0, &[], &[0]), values.gather(0, &[], &[1]));
    Ok(hot.select(on, off))
}

/// Compares each position along the axis with the index and keeps the selected entry.
fn gather_elements(f: Form<'_>) -> Lowered<'_> {
    let (mut data, indices) = (f.input(0)?, f.input(1)?);
    if !matches!(
        data.dtype(),
        Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::I32 | Dtype::I64 | Dtype::U32 | Dtype::U64
    ) {
        return refuse_dtype(data.dtype());
    }
    let rank = data.rank()?;
    let axis = f.axis(f.int("axis", 0), rank)?;
    let (own, wanted) = (data.extents()?, indices.extents()?);
    if own.len() != wanted.len() {
        return refuse("its inputs differ in the number of axes");
    }
    bounded(total(wanted.iter().copied().chain([own[axis]]))?)?;
    for other in (0..rank).filter(|other| *other != axis) {
        if own[other] != wanted[other] {
            data = data.slice(other, 0, wanted[other]);
        }
    }
    let perm: Vec<usize> = (0..rank).filter(|at| *at != axis).chain([axis]).collect();
    let data = data.transpose(&perm).unsqueeze(&[axis]);
    let indices = from_start(indices, own[axis]).unsqueeze(&[rank]);
    let named = indices.equal(f.iota(indices.dtype(), &along(rank + 1, rank, own[axis]))?);
    Ok(named.select(data, 0.0).reduce("ReduceSum", &[rank], false))
}

/// Combines the indices of several axes into one of the flattened axes.
fn gather_nd(f: Form<'_>) -> Lowered<'_> {
    let (data, indices) = (f.input(0)?, f.input(1)?);
    let (own, given) = (data.extents()?, indices.extents()?);
    let batches = match usize::try_from(f.int("batch_dims", 0)) {
        Ok(batches) if batches < given.len() => batches,
        Ok(_) | Err(_) => return refuse("`batch_dims` is not a number of its axes"),
    };
    let Some((named, outer)) = given.split_last() else { return refuse("its indices have no axes") };
    let until = batches + bounded(*named)?;
    if until > own.len() || own.contains(&0) {
        return refuse("its indices do not fit");
    }
    let mut flat: Option<Operand<'_>> = None;
    for axis in batches..until {
        let stride = total(own[axis + 1..until].iter().copied())?;
        let at = (axis - batches) as i64;
        let part = from_start(indices.slice(given.len() - 1, at, at + 1), own[axis]) * stride as f64;
        flat = Some(flat.map_or(part, |sum| sum + part));
    }
    let Some(mut flat) = flat else { return refuse("its indices are empty") };
    let inner = total(own[batches..until].iter().copied())?;
    let batch = total(own[..batches].iter().copied())?;
    total([batch, inner])?;
    if batches > 0 {
        let dims = [&own[..batches], &vec![1; given.len() - batches]].concat();
        let offsets: Vec<f64> = (0..bounded(batch)?).map(|at| at as f64 * inner as f64).collect();
        flat = flat + f.tensor(flat.dtype(), &dims, &offsets);
    }
    if outer.contains(&0) {
        return refuse("a tensor without elements");
    }
    let flat = flat.reshape(outer);
    let rows = data.reshape(&[&[batch * inner], &own[until..]].concat());
    Ok(rows.gather_at(0, flat))
}

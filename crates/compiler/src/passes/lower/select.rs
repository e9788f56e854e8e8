//! Selection of elements by indices.

use typeloom_types::dtype::{Dtype, DtypeClass};

use super::form::{Form, Lowered, Operand, bounded, refuse, total};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] =
    &[rule("OneHot", one_hot), rule("GatherElements", gather_elements), rule("GatherND", gather_nd)];

/// Negative indices count from the end.
fn from_start(f: &mut Form<'_>, indices: &Operand, extent: i64) -> Operand {
    let (zero, extent) = (f.number(indices, 0.0), f.number(indices, extent as f64));
    let below = f.less(indices, &zero);
    let raised = f.add(indices, &extent);
    f.select(&below, &raised, indices)
}

/// The numbers `0..extent` along one of `rank` axes.
pub(super) fn counted(
    f: &mut Form<'_>,
    like: &Operand,
    rank: usize,
    axis: usize,
    extent: i64,
) -> Lowered<Operand> {
    let numbers: Vec<f64> = (0..bounded(extent)?).map(|at| at as f64).collect();
    let mut dims = vec![1; rank];
    dims[axis] = extent;
    Ok(f.tensor(like.dtype(), &dims, &numbers))
}

fn signed(x: &Operand) -> Lowered<()> {
    if matches!(x.dtype().class(), DtypeClass::SignedInt | DtypeClass::Float) {
        return Ok(());
    }
    refuse(format!("there is no form for indices of {}", x.dtype().type_node().id))
}

fn one_hot(f: &mut Form<'_>) -> Lowered {
    let (indices, values) = (f.input(0)?, f.input(2)?);
    signed(&indices)?;
    let rank = indices.rank()? + 1;
    let axis = f.axis(f.int("axis", -1), rank)?;
    let shape = f.outputs.first().and_then(Option::as_ref).and_then(Operand::shape);
    let depth = match f.constant_ints(1) {
        Ok(Some(depth)) if depth.len() == 1 => depth[0],
        Ok(_) | Err(_) => match shape.and_then(|shape| *shape.get(axis)?) {
            Some(depth) => depth,
            None => return refuse("its depth is found when it runs"),
        },
    };
    let indices = from_start(f, &indices, depth);
    let indices = f.unsqueeze(&indices, &[axis]);
    let numbers = counted(f, &indices, rank, axis, depth)?;
    let hot = f.equal(&indices, &numbers);
    let (off, on) = (f.gather(&values, 0, &[], &[0]), f.gather(&values, 0, &[], &[1]));
    Ok(f.select(&hot, &on, &off))
}

/// Compares each position along the axis with the index and keeps the selected entry.
fn gather_elements(f: &mut Form<'_>) -> Lowered {
    let (data, indices) = (f.input(0)?, f.input(1)?);
    if !matches!(
        data.dtype(),
        Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::I32 | Dtype::I64 | Dtype::U32 | Dtype::U64
    ) {
        return refuse(format!("there is no form for {}", data.dtype().type_node().id));
    }
    let rank = data.rank()?;
    let axis = f.axis(f.int("axis", 0), rank)?;
    let (own, wanted) = (data.extents()?, indices.extents()?);
    if own.len() != wanted.len() {
        return refuse("its inputs have not as many axes");
    }
    bounded(total(wanted.iter().copied().chain([own[axis]]))?)?;
    let mut data = data;
    for other in (0..rank).filter(|other| *other != axis) {
        if own[other] != wanted[other] {
            data = f.slice(&data, other, 0, wanted[other]);
        }
    }
    let perm: Vec<usize> = (0..rank).filter(|at| *at != axis).chain([axis]).collect();
    let data = f.transpose(&data, &perm);
    let data = f.unsqueeze(&data, &[axis]);
    let indices = from_start(f, &indices, own[axis]);
    let indices = f.unsqueeze(&indices, &[rank]);
    let numbers = counted(f, &indices, rank + 1, rank, own[axis])?;
    let named = f.equal(&indices, &numbers);
    let zero = f.number(&data, 0.0);
    let kept = f.select(&named, &data, &zero);
    Ok(f.reduce("ReduceSum", &kept, &[rank], false))
}

/// Combines the indices of several axes into one of the flattened axes.
fn gather_nd(f: &mut Form<'_>) -> Lowered {
    let (data, indices) = (f.input(0)?, f.input(1)?);
    let (own, given) = (data.extents()?, indices.extents()?);
    let batches = match usize::try_from(f.int("batch_dims", 0)) {
        Ok(batches) if batches < given.len() => batches,
        Ok(_) | Err(_) => return refuse("`batch_dims` is not a number of its axes"),
    };
    let Some((named, outer)) = given.split_last() else { return refuse("its indices have no axes") };
    let named = *named;
    let until = batches + bounded(named)?;
    if until > own.len() || own.contains(&0) {
        return refuse("its indices do not fit");
    }
    let mut flat: Option<Operand> = None;
    for at in 0..bounded(named)? {
        let stride = total(own[batches + at + 1..until].iter().copied())?;
        let part = f.slice(&indices, given.len() - 1, at as i64, at as i64 + 1);
        let part = from_start(f, &part, own[batches + at]);
        let stride = f.number(&part, stride as f64);
        let scaled = f.mul(&part, &stride);
        flat = Some(match flat {
            Some(sum) => f.add(&sum, &scaled),
            None => scaled,
        });
    }
    let Some(mut flat) = flat else { return refuse("its indices are empty") };
    let inner = total(own[batches..until].iter().copied())?;
    let batch = total(own[..batches].iter().copied())?;
    total([batch, inner])?;
    if batches > 0 {
        let mut dims = own[..batches].to_vec();
        dims.extend(vec![1; given.len() - batches]);
        let offsets: Vec<f64> = (0..bounded(batch)?).map(|at| at as f64 * inner as f64).collect();
        let offsets = f.tensor(flat.dtype(), &dims, &offsets);
        flat = f.add(&flat, &offsets);
    }
    if outer.contains(&0) {
        return refuse("a tensor without elements");
    }
    let flat = f.reshape(&flat, outer);
    let mut shape = vec![batch * inner];
    shape.extend(&own[until..]);
    let rows = f.reshape(&data, &shape);
    Ok(f.gather_at(&rows, 0, &flat))
}

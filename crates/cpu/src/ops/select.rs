//! Operators with data-dependent results: top-k, nonzero, unique and similar.

use std::cmp::Ordering;

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::slice::axis_or_flat;
use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, ints, on_numbers, to_f64s, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, picked, slices};
use crate::shape::{around, as_ints, axis, count, each_index, lanes};

pub(super) const OPERATORS: &[Operator] = &[
    native("TopK", top_k),
    native("NonZero", non_zero),
    native("Unique", unique),
    native("OneHot", one_hot),
];

/// Total order in which NaN is the greatest value.
fn total<T: Number>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn top_k(call: &mut Call<'_>) -> Outcome {
    let k = match call.integer(1)? {
        Some(_) if call.tensor(1)?.rank() != 1 => return invalid("`k` must have one axis".to_owned()),
        Some(k) => k,
        None => call.attributes.int("k")?.ok_or(KernelErrorKind::MissingInput(1))?,
    };
    let largest = call.flag("largest", true)?;
    let original = call.tensor(0)?;
    let axis = axis(call.int("axis", -1)?, original.rank())?;
    let x = widen(original.clone())?;
    let (outer, extent, inner) = around(x.shape(), axis);
    let k = match usize::try_from(k) {
        Ok(k) if k <= extent => k,
        Ok(_) | Err(_) => return invalid(format!("`k` = {k} is not between 0 and {extent}")),
    };
    let mut shape = x.shape().to_vec();
    shape[axis] = k;
    let mut chosen = vec![0_usize; count(&shape)];
    let mut positions = vec![0_i64; count(&shape)];
    on_numbers!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        let mut row: Vec<usize> = Vec::with_capacity(extent);
        for (lane, target) in lanes(outer, extent, inner).zip(lanes(outer, k, inner)) {
            row.clear();
            row.extend(0..extent);
            // Ties keep index order.
            let order = |a: &usize, b: &usize| {
                let order = total(data[lane.at(*a)], data[lane.at(*b)]);
                (if largest { order.reverse() } else { order }).then(a.cmp(b))
            };
            if k > 0 && k < extent {
                row.select_nth_unstable_by(k - 1, order);
                row.truncate(k);
            }
            row.sort_unstable_by(order);
            for (at, index) in row.iter().take(k).enumerate() {
                chosen[target.at(at)] = lane.at(*index);
                positions[target.at(at)] = *index as i64;
            }
        }
        Ok(())
    })?;
    let values = picked(original, &chosen, &shape)?;
    Ok(vec![values.into(), AnyTensor::from_slice(&shape, &positions)?.into()])
}

/// Flags the elements that are not zero, false or empty.
fn is_set(x: &AnyTensor) -> Result<Vec<bool>, KernelErrorKind> {
    if x.dtype() == Dtype::String {
        return Ok(x.strings()?.map(|text| !text.is_empty()).collect());
    }
    Ok(to_f64s(x)?.iter().map(|value| *value != 0.0).collect())
}

fn non_zero(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let set = is_set(x)?;
    let found = set.iter().filter(|set| **set).count();
    let rank = x.rank();
    let mut indices = vec![0_i64; rank * found];
    let mut at = 0;
    each_index(x.shape(), |flat, index| {
        if set[flat] {
            for (axis, index) in index.iter().enumerate() {
                indices[axis * found + at] = *index as i64;
            }
            at += 1;
        }
    });
    one(AnyTensor::from_slice(&[rank, found], &indices)?)
}

/// Maps elements to keys with the same order.
fn sort_keys(x: &AnyTensor) -> Result<Vec<usize>, KernelErrorKind> {
    let mut order: Vec<usize> = (0..x.len()).collect();
    let mut ranks = vec![0; x.len()];
    let mut rank_by = |compare: &dyn Fn(usize, usize) -> Ordering| {
        order.sort_by(|a, b| compare(*a, *b));
        let mut rank = 0;
        for (at, index) in order.iter().enumerate() {
            if at > 0 && compare(order[at - 1], *index) != Ordering::Equal {
                rank += 1;
            }
            ranks[*index] = rank;
        }
    };
    if x.dtype() == Dtype::String {
        let texts: Vec<&str> = x.strings()?.collect();
        rank_by(&|a, b| texts[a].cmp(texts[b]));
    } else if x.dtype() == Dtype::Bool {
        let flags = x.as_slice::<bool>()?;
        rank_by(&|a, b| flags[a].cmp(&flags[b]));
    } else {
        let wide = widen(x.clone())?;
        on_numbers!(wide.dtype(), T => {
            let data = wide.as_slice::<T>()?;
            rank_by(&|a, b| total::<T>(data[a], data[b]));
            Ok(())
        })?;
    }
    Ok(ranks)
}

fn unique(call: &mut Call<'_>) -> Outcome {
    let sorted = call.flag("sorted", true)?;
    let x = call.tensor(0)?;
    let (mut shape, axis) = axis_or_flat(x, call.attributes.int("axis")?)?;
    let (outer, extent, inner) = around(&shape, axis);
    // Each slice along the axis becomes a sequence of keys, compared lexicographically.
    let keys = sort_keys(x)?;
    let word = |index: usize| {
        let keys = &keys;
        (0..outer)
            .flat_map(move |block| (0..inner).map(move |lane| keys[(block * extent + index) * inner + lane]))
    };
    let mut order: Vec<usize> = (0..extent).collect();
    order.sort_by(|a, b| word(*a).cmp(word(*b)));
    // The stable sort puts the first slice of each group of equal slices first.
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    for index in order {
        match groups.last_mut() {
            Some((first, members)) if word(*first).eq(word(index)) => members.push(index),
            Some(_) | None => groups.push((index, vec![index])),
        }
    }
    if !sorted {
        groups.sort_by_key(|(first, _)| *first);
    }
    let mut inverse = vec![0_i64; extent];
    for (at, (_, members)) in groups.iter().enumerate() {
        members.iter().for_each(|member| inverse[*member] = at as i64);
    }
    let firsts: Vec<usize> = groups.iter().map(|(first, _)| *first).collect();
    let counts: Vec<i64> = groups.iter().map(|(_, members)| members.len() as i64).collect();
    shape[axis] = groups.len();
    let distinct = slices(x, (outer, extent, inner), &firsts, &shape)?;
    Ok(vec![distinct.into(), ints(&as_ints(&firsts)).into(), ints(&inverse).into(), ints(&counts).into()])
}

fn one_hot(call: &mut Call<'_>) -> Outcome {
    let (indices, depth, values) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let &[depth] = &to_f64s(depth)?[..] else { return invalid("`depth` does not have exactly one element") };
    let depth = depth as i64;
    if depth <= 0 || depth > 1 << 31 {
        return invalid(format!("`depth` = {depth} is not a valid size"));
    }
    if values.len() != 2 {
        return invalid("`values` does not have two elements");
    }
    if indices.rank() == 0 {
        return invalid("the indices have rank 0");
    }
    let rank = indices.rank() + 1;
    let axis = axis(call.int("axis", -1)?, rank)?;
    let mut shape = as_ints(indices.shape());
    shape.insert(axis, depth);
    let shape = crate::shape::extents(&shape)?;
    let positions: Vec<i64> = to_f64s(indices)?.iter().map(|value| *value as i64).collect();
    let (outer, extent, inner) = around(&shape, axis);
    let positions = &positions;
    let runs = (0..outer).flat_map(move |block| {
        (0..extent).flat_map(move |level| {
            (0..inner).map(move |lane| {
                let index = positions[block * inner + lane];
                let index = if index < 0 { index + depth } else { index };
                Run::one(usize::from(index == level as i64))
            })
        })
    });
    one(assemble(&[values], &shape, runs)?)
}

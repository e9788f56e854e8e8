//! Operators with data-dependent results: top-k, nonzero, unique and similar.
//!
//! `TopK` and `Unique` order elements. [`Number::sort_key`] maps a number of any type to an integer of the
//! same order, so that one algorithm serves all types, and NaN has a position: it is the greatest.
//!
//! ```text
//! Unique <axis = 0> ([[1, 0], [1, 0], [0, 1]])
//!   ranks of the elements    1 0    1 0    0 1      each slice is a word of ranks
//!   sorted words             0 1    1 0    1 0
//!   results                  [[0, 1], [1, 0]], first [2, 0], inverse [1, 1, 0], counts [1, 2]
//! ```
//!
//! `TopK` keeps a heap of `k` keys if `k` is small, and partitions all keys otherwise ([`least`] states the
//! cost; [`MIN_PER_HEAPED`] is the limit between both). `Unique` sorts: `n log n` comparisons of elements,
//! and of words if there is an axis. It requests this work and [`SORTED_SIZE`] bytes per element first.
//!
//! **Invariant:** of equal elements the one with the lower index comes first. So the results of `TopK` do not
//! depend on the algorithm.
//!
//! `TopK` and `Unique` copy elements of the input, which keep their bits. `NonZero` and `OneHot` take linear
//! time.
//!
//! **Limit:** the depth of `OneHot` is at most `2^31`.

use std::collections::BinaryHeap;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::slice::axis_or_flat;
use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, check_size, ints, on_numbers, to_f64s, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, picked, slices};
use crate::shape::{around, as_ints, axis, count, each_index, lanes};
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[
    native("TopK", top_k),
    native("NonZero", non_zero),
    native("Unique", unique),
    native("OneHot", one_hot),
];

/// Minimum number of keys per kept key for which a heap is faster than quickselect.
const MIN_PER_HEAPED: usize = 8;

/// The `k` least keys and their indices, in order; equal keys keep the order of indices.
///
/// Few keys are collected in a heap whose root is the greatest of them: most keys are only compared with the
/// root, so random keys need `n + k log k log(n / k)` steps, and none more than `n log k`. Otherwise
/// quickselect partitions all keys.
fn least(keys: &[u64], k: usize, best: &mut Vec<(u64, usize)>) {
    best.clear();
    let mut pairs = keys.iter().copied().zip(0..);
    if k == 0 {
        return;
    }
    if k.saturating_mul(MIN_PER_HEAPED) > keys.len() {
        best.extend(pairs);
        if k < best.len() {
            best.select_nth_unstable(k - 1);
            best.truncate(k);
        }
        best.sort_unstable();
        return;
    }
    best.extend(pairs.by_ref().take(k));
    let mut heap = BinaryHeap::from(std::mem::take(best));
    for pair in pairs {
        if let Some(mut root) = heap.peek_mut()
            && pair.0 < root.0
        {
            *root = pair;
        }
    }
    *best = heap.into_sorted_vec();
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
    check_size(&shape, size_of::<(usize, i64)>())?;
    check_size(&[extent], size_of::<(u64, usize)>())?;
    let mut chosen = vec![0_usize; count(&shape)];
    let mut positions = vec![0_i64; count(&shape)];
    let mut keys = vec![0; extent];
    let mut best = Vec::new();
    for (lane, target) in lanes(outer, extent, inner).zip(lanes(outer, k, inner)) {
        on_numbers!(x.dtype(), T => {
            let data = x.as_slice::<T>()?;
            let keys = keys.iter_mut().enumerate();
            keys.for_each(|(at, key)| *key = data[lane.at(at)].sort_key());
            Ok(())
        })?;
        if largest {
            keys.iter_mut().for_each(|key| *key = !*key);
        }
        least(&keys, k, &mut best);
        for (at, (_, index)) in best.iter().enumerate() {
            chosen[target.at(at)] = lane.at(*index);
            positions[target.at(at)] = *index as i64;
        }
    }
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
    check_size(&[rank, found], size_of::<i64>())?;
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

/// Number of bytes that sorting takes for each element.
const SORTED_SIZE: usize = 48;

/// Requests the work of sorting.
fn spend_sorting(len: usize) -> Result<(), KernelErrorKind> {
    work::spend_each(&[len, 2 * (usize::BITS - len.leading_zeros()) as usize])
}

/// Elements in ascending order.
struct Sorted {
    /// Indices of the elements; equal elements keep their order.
    order: Vec<usize>,
    /// The number of smaller distinct elements, for each element in sorted order.
    ranks: Vec<usize>,
}

impl Sorted {
    /// Sorts keys with their indices.
    fn of<K: Ord>(keys: impl Iterator<Item = K>) -> Self {
        let mut pairs: Vec<(K, usize)> = keys.zip(0..).collect();
        pairs.sort_unstable();
        let mut rank = 0;
        let mut ranks = Vec::with_capacity(pairs.len());
        for (at, (key, _)) in pairs.iter().enumerate() {
            rank += usize::from(at > 0 && pairs[at - 1].0 != *key);
            ranks.push(rank);
        }
        Self { order: pairs.into_iter().map(|(_, index)| index).collect(), ranks }
    }

    fn elements(x: &AnyTensor) -> Result<Self, KernelErrorKind> {
        check_size(&[x.len()], SORTED_SIZE)?;
        spend_sorting(x.len())?;
        Ok(match x.dtype() {
            Dtype::String => Self::of(x.strings()?),
            Dtype::Bool => Self::of(x.bytes().iter().map(|byte| u64::from(*byte))),
            _ => {
                let wide = widen(x.clone())?;
                let mut keys: Vec<u64> = Vec::with_capacity(x.len());
                on_numbers!(wide.dtype(), T => {
                    keys.extend(wide.as_slice::<T>()?.iter().map(|value| value.sort_key()));
                    Ok(())
                })?;
                Self::of(keys.into_iter())
            }
        })
    }

    /// Sorts the slices along the middle of three axes lexicographically.
    fn slices(x: &AnyTensor, (outer, extent, inner): (usize, usize, usize)) -> Result<Self, KernelErrorKind> {
        let elements = Self::elements(x)?;
        if outer * inner == 1 {
            return Ok(elements);
        }
        check_size(&[extent], SORTED_SIZE)?;
        spend_sorting(x.len().max(extent))?;
        let mut by_element = vec![0; x.len()];
        elements.order.iter().zip(&elements.ranks).for_each(|(at, rank)| by_element[*at] = *rank);
        let word = |index: usize| {
            let parts = (0..outer).map(move |block| (block * extent + index) * inner);
            parts.flat_map(|start| by_element[start..start + inner].iter().copied()).collect::<Vec<usize>>()
        };
        Ok(Self::of((0..extent).map(word)))
    }
}

fn unique(call: &mut Call<'_>) -> Outcome {
    let sorted = call.flag("sorted", true)?;
    let x = call.tensor(0)?;
    let (mut shape, axis) = axis_or_flat(x, call.attributes.int("axis")?)?;
    let (outer, extent, inner) = around(&shape, axis);
    let Sorted { order, ranks } = Sorted::slices(x, (outer, extent, inner))?;
    let groups = ranks.last().map_or(0, |last| last + 1);
    let (mut firsts, mut counts) = (Vec::with_capacity(groups), vec![0_i64; groups]);
    for (index, rank) in order.iter().zip(&ranks) {
        if firsts.len() == *rank {
            firsts.push(*index);
        }
        counts[*rank] += 1;
    }
    let mut inverse = vec![0_i64; extent];
    if sorted {
        order.iter().zip(&ranks).for_each(|(index, rank)| inverse[*index] = *rank as i64);
    } else {
        // Groups in the order of their first elements.
        let by_first = Sorted::of(firsts.iter().copied());
        let mut numbers = vec![0; groups];
        by_first.order.iter().enumerate().for_each(|(number, rank)| numbers[*rank] = number as i64);
        order.iter().zip(&ranks).for_each(|(index, rank)| inverse[*index] = numbers[*rank]);
        firsts = by_first.order.iter().map(|rank| firsts[*rank]).collect();
        counts = by_first.order.iter().map(|rank| counts[*rank]).collect();
    }
    shape[axis] = groups;
    let distinct = if outer * inner == 1 {
        picked(x, &firsts, &shape)?
    } else {
        slices(x, (outer, extent, inner), &firsts, &shape)?
    };
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

//! Softmax and its logarithm over the middle of three axes.
//!
//! Rows along the last axis are reduced in a fixed number of partial results. Otherwise a block of adjacent
//! rows is computed at a time, element by element of the axis, so that all loops are over adjacent elements.
//!
//! Plain form: the definition in `tests/fast_paths.rs`.

use crate::element::{Number, Real};
use crate::fast::reductions::{fold, fold_with};

/// Number of adjacent rows that are computed together.
const BLOCK: usize = 64;

/// The function of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Softmax,
    LogSoftmax,
}

/// Applies the function to blocks of `extent` by `inner` elements. There is at least one element.
#[inline(always)]
pub(crate) fn blocks<T: Real>(data: &mut [T], extent: usize, inner: usize, kind: Kind) {
    if inner == 1 {
        // `for_each` would be compiled without the instructions of the caller.
        for row in data.chunks_exact_mut(extent) {
            along_row(row, kind);
        }
        return;
    }
    for data in data.chunks_exact_mut(extent * inner) {
        for first in (0..inner).step_by(BLOCK) {
            across_rows(data, first, BLOCK.min(inner - first), inner, kind);
        }
    }
}

#[inline(always)]
fn along_row<T: Real>(row: &mut [T], kind: Kind) {
    let most = fold(row, T::LOWEST, Number::max_of);
    match kind {
        Kind::Softmax => {
            for value in row.iter_mut() {
                *value = (*value - most).exponential();
            }
            let sum = fold(row, T::ZERO, T::plus);
            for value in row.iter_mut() {
                *value = *value / sum;
            }
        }
        Kind::LogSoftmax => {
            let sum = fold_with(row, T::ZERO, |sum, value| sum + (value - most).exponential(), T::plus);
            let log = sum.ln();
            for value in row.iter_mut() {
                *value = *value - most - log;
            }
        }
    }
}

#[inline(always)]
fn across_rows<T: Real>(data: &mut [T], first: usize, width: usize, inner: usize, kind: Kind) {
    let (mut most, mut sums) = ([T::LOWEST; BLOCK], [T::ZERO; BLOCK]);
    for line in data.chunks_exact(inner) {
        for (most, value) in most.iter_mut().zip(&line[first..first + width]) {
            *most = most.max_of(*value);
        }
    }
    for line in data.chunks_exact_mut(inner) {
        let line = &mut line[first..first + width];
        for (value, (most, sum)) in line.iter_mut().zip(most.iter().zip(&mut sums)) {
            let power = (*value - *most).exponential();
            *sum = sum.plus(power);
            *value = if kind == Kind::Softmax { power } else { *value - *most };
        }
    }
    if kind == Kind::LogSoftmax {
        sums.iter_mut().for_each(|sum| *sum = sum.ln());
    }
    for line in data.chunks_exact_mut(inner) {
        for (value, sum) in line[first..first + width].iter_mut().zip(&sums) {
            *value = if kind == Kind::Softmax { *value / *sum } else { *value - *sum };
        }
    }
}

//! Convolutions as matrix products.
//!
//! A convolution is the product of the weights (one row per output channel) and the `im2col` columns of the
//! input. The columns are never materialised as a whole: the product reads blocks of them through two
//! lists of offsets, one per kernel position and one per window, whose sum is the element offset.
//!
//! Convolutions whose results are concatenated along the channels write to one tensor, and their products are
//! computed together.
//!
//! Plain form: the sum over each window in `tests/windows.rs`.

use typeloom_tensor::any_tensor::AnyTensor;

use crate::element::{build_over, check_size};
use crate::error::KernelErrorKind;
use crate::fast::product::in_place::{InPlace, SLACK, Sliding};
use crate::fast::product::lane::Lane;
use crate::fast::product::{Columns, Finish, Job, Lines, Memory, Offsets, Products, Rows, Steps};
use crate::ops::filter::{Filter, Finishing, Framed, Weights, finish, framed};
use crate::ops::sliding::Windows;
use crate::shape::count;

/// Element types of packed weights.
pub(crate) trait Packed: Lane + Memory {
    /// The weights, if they are packed and of this type.
    fn rows(weights: &Weights) -> Option<&[Rows<Self>]>;
}

macro_rules! packed {
    ($($ty:ty: $name:ident),*) => {$(
        impl Packed for $ty {
            fn rows(weights: &Weights) -> Option<&[Rows<Self>]> {
                if let Weights::$name(rows) = weights { Some(rows) } else { None }
            }
        }
    )*};
}

packed!(f32: F32, f64: F64, i32: I32);

/// A convolution with its input.
#[derive(Clone, Copy)]
pub(crate) struct Convolved<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) windows: &'a Windows,
    pub(crate) x: &'a AnyTensor,
    pub(crate) finishing: Finishing<'a>,
}

/// The access of a product to the windows.
enum Reading {
    /// Windows have one element.
    Pointwise,
    /// From memory; windows have stride 1.
    InPlace,
    /// Packed; the windows of a row have this stride.
    Listed(usize),
}

/// The operands of a convolution.
struct Operands<'a, T> {
    rows: &'a [Rows<T>],
    input: Framed<'a>,
    channels: usize,
    /// Number of elements of an input plane.
    plane: usize,
    group_channels: usize,
    group_outputs: usize,
    /// Number of windows.
    positions: usize,
    reading: Reading,
    /// Offset of each step of the inner axis.
    steps: Vec<usize>,
    /// Offset of each row of windows.
    starts: Vec<usize>,
    /// Number of windows in a row.
    width: usize,
    finish: Finish<'a, T>,
}

impl<'a, T: Packed> Operands<'a, T> {
    fn of(convolved: Convolved<'a>) -> Result<Self, KernelErrorKind> {
        let Convolved { filter, windows, x, finishing } = convolved;
        let rows = T::rows(&filter.weights).ok_or(KernelErrorKind::Dtype(x.dtype()))?;
        let finish = finish::<T>(&finishing)?;
        let (channels, group_channels) = (x.shape()[1], filter.shape[1]);
        let positions = count(&windows.output);
        check_size(&[group_channels, count(&windows.kernel)], 8)?;
        check_size(&[positions], 8)?;
        let reading = if windows.is_pointwise() {
            Reading::Pointwise
        } else if slides(windows) {
            Reading::InPlace
        } else {
            Reading::Listed(windows.strides.last().copied().unwrap_or(1))
        };
        let slack = if matches!(reading, Reading::InPlace) { SLACK } else { 0 };
        let input = framed::<T>(windows, x, slack)?;
        let (mut steps, mut starts) = (Vec::new(), Vec::new());
        if !matches!(reading, Reading::Pointwise) {
            steps = windows.steps(group_channels, &input.extents);
            starts = windows.lines(&input.extents);
        }
        let plane = count(&input.extents);
        let group_outputs = filter.shape[0] / filter.groups;
        Ok(Self {
            rows,
            input,
            channels,
            plane,
            group_channels,
            group_outputs,
            positions,
            reading,
            steps,
            starts,
            width: windows.width(),
            finish,
        })
    }

    /// Number of elements of the result for one batch.
    fn size(&self) -> usize {
        self.rows.len() * self.group_outputs * self.positions
    }

    /// The products; `results` has one part for each batch and group.
    fn products<'s>(&'s self, results: Vec<&'s mut [T]>) -> Result<Products<'s, T>, KernelErrorKind> {
        let data = self.input.elements::<T>()?;
        let groups = self.rows.len();
        let (outputs, positions) = (self.group_outputs, self.positions);
        let finish_of = |at: usize| self.finish.part(at % groups * outputs, at * outputs * positions);
        let data_of = |at: usize, slack: usize| {
            let (batch, group) = (at / groups, at % groups);
            &data[(batch * self.channels + group * self.group_channels) * self.plane..]
                [..self.group_channels * self.plane + slack]
        };
        let results = results.into_iter().enumerate();
        let lines = Lines { starts: &self.starts, len: self.width };
        let (steps, columns) = match self.reading {
            Reading::Pointwise => (Steps::Even(self.plane), Offsets::Even(1)),
            Reading::Listed(stride) => (Steps::Listed(&self.steps), Offsets::Lines(lines, stride)),
            Reading::InPlace => {
                let jobs = results.map(|(at, out)| {
                    let (left, data, finish) = (&self.rows[at % groups], data_of(at, SLACK), finish_of(at));
                    InPlace { left, data, out, finish }
                });
                let sliding = Sliding { steps: &self.steps, lines };
                return Ok(Products::InPlace(jobs.collect(), sliding));
            }
        };
        let jobs = results.map(|(at, out)| {
            let right = Columns { data: data_of(at, 0), steps, columns };
            Job { left: &self.rows[at % groups], right, out, columns: positions, finish: finish_of(at) }
        });
        Ok(Products::Packed(jobs.collect()))
    }
}

/// Computes convolutions of one element type, whose weights are packed, and concatenates their results along
/// the channels to this shape.
///
/// # Errors
/// With the index of the convolution that failed, or with their number if the result is too large.
pub(crate) fn concatenated<T: Packed>(
    parts: &[Convolved<'_>],
    shape: &[usize],
) -> Result<AnyTensor, (usize, KernelErrorKind)> {
    let operands =
        parts.iter().enumerate().map(|(at, part)| Operands::<T>::of(*part).map_err(|kind| (at, kind)));
    let operands: Vec<Operands<'_, T>> = operands.collect::<Result<_, _>>()?;
    let mut computed = Ok(());
    let result = build_over::<T>(shape, |out| computed = compute(&operands, out));
    operands.into_iter().for_each(|operands| operands.input.recycle());
    result.and_then(|result| computed.map(|()| result)).map_err(|kind| (parts.len(), kind))
}

fn compute<T: Packed>(operands: &[Operands<'_, T>], mut out: &mut [T]) -> Result<(), KernelErrorKind> {
    let mut results: Vec<Vec<&mut [T]>> = operands.iter().map(|_| Vec::new()).collect();
    while !out.is_empty() {
        for (operands, results) in operands.iter().zip(&mut results) {
            let (own, rest) = out.split_at_mut(operands.size());
            let size = operands.group_outputs * operands.positions;
            results.extend(own.chunks_exact_mut(size.max(1)));
            out = rest;
        }
    }
    let products = operands.iter().zip(results).map(|(operands, results)| operands.products(results));
    Products::run(products.collect::<Result<_, _>>()?);
    Ok(())
}

/// Whether windows can be read without packing: stride 1 along every axis and few unused columns between
/// rows.
fn slides(windows: &Windows) -> bool {
    let reach = windows.reach();
    let columns: usize = windows.output.iter().take(1).chain(reach.iter().skip(1)).product();
    windows.strides.iter().all(|stride| *stride == 1) && columns <= count(&windows.output) / 2 * 3
}

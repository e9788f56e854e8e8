//! Convolutions of 8-bit integers.
//!
//! As for floats, a convolution is a product of the weights (one row per output channel) and the windows of
//! the input, which are packed block by block. Where windows reach past the input, it is copied with a border
//! of zero points. Depthwise convolutions accumulate plane by plane.
//!
//! Plain form: `wide_convolution` in `ops::quantize::convolution`.

use pulp::bytemuck::cast_slice_mut;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::element::Element;

use super::product::zeros;
use super::requantize::{Lanes, Requantizer};
use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::{build_over, check_size, dispatch, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::integer::{self, Bytes, Job, Left, Right, Sink, Windowed, Zeros};
use crate::fast::product::{Lines, Offsets, Steps};
use crate::fast::threads;
use crate::memory;
use crate::ops::filter::{geometry, groups};
use crate::ops::sliding::Windows;
use crate::shape::{count, each_strided};
use crate::work;

/// Minimum number of multiplications for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 20;

/// Groups with one input channel and at most this many output channels are accumulated plane by plane.
const MAX_PLANES: usize = 3;

/// Number of windows that are accumulated together.
const BLOCK: usize = 64;

/// Packed weights.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    shape: Vec<usize>,
    groups: usize,
    weights: Weights,
}

#[derive(Clone, Debug)]
enum Weights {
    /// One matrix per group.
    Rows(Vec<Left>),
    /// Depthwise: the weights of each output channel.
    Planes(Vec<i32>),
}

impl Filter {
    /// Packs weights. `None` if zero points have another shape.
    pub(crate) fn pack(
        attributes: &Attributes,
        w: &AnyTensor,
        zero: Option<&AnyTensor>,
    ) -> Result<Option<Self>, KernelErrorKind> {
        let shape = w.shape().to_vec();
        if shape.len() < 3 {
            return invalid(format!("the weights {shape:?} are not of a rank above 2"));
        }
        let bytes = Bytes::of(w)?;
        let Some(zeros) = zeros(w, zero, 0) else { return Ok(None) };
        let groups = groups(attributes, shape[0], shape[0])?;
        let (outputs, depth) = (shape[0] / groups, count(&shape[1..]));
        let weights = if shape[1] == 1 && outputs <= MAX_PLANES && groups > 1 {
            let zero = |at: usize| match &zeros {
                Zeros::One(zero) => *zero,
                Zeros::Each(zeros) => zeros[at / depth],
            };
            let values = bytes.data.iter().enumerate().map(|(at, byte)| bytes.signs.value(*byte) - zero(at));
            Weights::Planes(values.collect())
        } else {
            let of = |group: usize| {
                let zeros = match &zeros {
                    Zeros::Each(zeros) => Zeros::Each(zeros[group * outputs..][..outputs].to_vec()),
                    Zeros::One(zero) => Zeros::One(*zero),
                };
                Left::pack(
                    bytes.from(group * outputs * depth),
                    (outputs, depth),
                    (depth, 1),
                    &zeros,
                    Vec::new(),
                )
            };
            Weights::Rows((0..groups).map(of).collect())
        };
        Ok(Some(Self { shape, groups, weights }))
    }

    /// Number of output channels.
    pub(crate) fn channels(&self) -> usize {
        self.shape[0]
    }

    /// Rank of inputs and results.
    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Applies the weights to an input. `None` if its zero point is no scalar of its type.
    pub(crate) fn apply<T: Element + Send + Sync>(
        &self,
        call: &Call<'_>,
        x: &AnyTensor,
        zero: Option<&AnyTensor>,
        sink: &Sink<'_, T>,
    ) -> Result<Option<AnyTensor>, KernelErrorKind> {
        let (windows, result) = geometry(call, x, &self.shape, self.groups)?;
        work::spend_products(x.dtype(), &[&result[..], &self.shape[1..]].concat())?;
        let bytes = Bytes::of(x)?;
        let Some(Zeros::One(zero)) = zeros(x, zero, 1) else { return Ok(None) };
        let input = Input { bytes, zero, batches: x.shape()[0], channels: x.shape()[1] };
        framed(&windows, input, |input, extents| match &self.weights {
            Weights::Rows(rows) => self.multiply(rows, &windows, input, extents, &result, sink),
            Weights::Planes(weights) => self.by_planes(weights, &windows, input, extents, &result, sink),
        })
        .map(Some)
    }

    fn multiply<T: Element + Send + Sync>(
        &self,
        rows: &[Left],
        windows: &Windows,
        input: Input<'_>,
        extents: &[usize],
        shape: &[usize],
        sink: &Sink<'_, T>,
    ) -> Result<AnyTensor, KernelErrorKind> {
        let (group_channels, outputs) = (self.shape[1], self.shape[0] / self.groups);
        let (plane, positions) = (count(extents), count(&windows.output));
        check_size(&[group_channels, count(&windows.kernel)], 8)?;
        check_size(&[positions], 8)?;
        let pointwise = windows.is_pointwise();
        let (mut steps, mut starts) = (Vec::new(), Vec::new());
        if !pointwise {
            steps = windows.steps(group_channels, extents);
            starts = windows.lines(extents);
        }
        let zeros = Zeros::One(input.zero - input.bytes.signs.bias());
        build_over::<T>(shape, |out| {
            if out.is_empty() {
                return;
            }
            let jobs = out.chunks_exact_mut(outputs * positions).enumerate().map(|(at, out)| {
                let (batch, group) = (at / self.groups, at % self.groups);
                let bytes = input.bytes.from((batch * input.channels + group * group_channels) * plane);
                let (steps, columns) = if pointwise {
                    (Steps::Even(plane), Offsets::Even(1))
                } else {
                    let last = windows.strides.last().copied().unwrap_or(1);
                    let lines = Lines { starts: &starts, len: windows.width() };
                    (Steps::Listed(&steps), Offsets::Lines(lines, last))
                };
                let right = Right::Windowed(Windowed { bytes, steps, columns });
                let (left, first_row) = (&rows[group], group * outputs);
                Job { left, right, zeros: &zeros, first_row, out, columns: positions, sink }
            });
            integer::run(jobs.collect());
        })
    }

    fn by_planes<T: Element + Send + Sync>(
        &self,
        weights: &[i32],
        windows: &Windows,
        input: Input<'_>,
        extents: &[usize],
        shape: &[usize],
        sink: &Sink<'_, T>,
    ) -> Result<AnyTensor, KernelErrorKind> {
        let (outputs, group_outputs) = (self.shape[0], self.shape[0] / self.groups);
        let (kernel, plane, positions) = (count(&windows.kernel), count(extents), count(&windows.output));
        check_size(&[plane.saturating_add(BLOCK)], size_of::<i16>())?;
        check_size(&[kernel, 1], size_of::<usize>())?;
        let (within, lines) = (windows.steps(1, extents), windows.lines(extents));
        let stride = windows.strides.last().copied().unwrap_or(1);
        let width = windows.width();
        let (signs, zero) = (input.bytes.signs, input.zero);
        // With stride 1, windows are numbered like the elements of the plane, and the sums between rows are
        // dropped.
        let last = lines.last().map_or(0, |last| last + width);
        let slides = windows.strides.iter().all(|stride| *stride == 1) && last <= 2 * positions;
        let all = if slides { last } else { positions };
        build_over::<T>(shape, |out| {
            if out.is_empty() {
                return;
            }
            let work = |at: usize, out: &mut [T]| {
                let (batch, channel) = (at / outputs, at % outputs);
                let from = (batch * input.channels + channel / group_outputs) * plane;
                let bytes = &input.bytes.data[from..from + plane];
                let weights = &weights[channel * kernel..][..kernel];
                // Blocks may read past the end, and their last sums are dropped.
                let mut centred = vec![0; plane + BLOCK];
                let mut sums = vec![0; all.next_multiple_of(BLOCK).max(positions)];
                widest(
                    #[inline(always)]
                    || {
                        for (to, byte) in centred.iter_mut().zip(bytes) {
                            *to = (signs.value(*byte) - zero) as i16;
                        }
                        if slides {
                            accumulate(&mut sums, &centred, 1, &within, weights);
                            for (row, from) in lines.iter().enumerate() {
                                sums.copy_within(*from..from + width, row * width);
                            }
                        } else {
                            for (sums, start) in sums.chunks_mut(width).zip(&lines) {
                                accumulate(sums, &centred[*start..], stride, &within, weights);
                            }
                        }
                    },
                );
                sink(channel, 0, &sums[..positions], out);
            };
            let is_parallel = threads::should_split(out.len() * kernel, 2 * MIN_PARALLEL);
            threads::each_chunk(out, positions, is_parallel, MIN_PARALLEL / (positions * kernel), &work);
        })
    }
}

/// Sums of evenly spaced windows.
#[inline(always)]
fn accumulate(out: &mut [i32], from: &[i16], stride: usize, within: &[usize], weights: &[i32]) {
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let from = &from[block * BLOCK * stride..];
        if let (Some(out), 1) = (out.as_mut_array::<BLOCK>(), stride) {
            // Arrays stay in registers.
            let mut sums = [0_i32; BLOCK];
            for (offset, weight) in within.iter().zip(weights) {
                let Some(from) = from[*offset..].first_chunk::<BLOCK>() else { return };
                for (sum, from) in sums.iter_mut().zip(from) {
                    *sum = sum.wrapping_add(weight.wrapping_mul(i32::from(*from)));
                }
            }
            *out = sums;
            continue;
        }
        out.fill(0);
        for (offset, weight) in within.iter().zip(weights) {
            each_strided(
                out,
                &from[*offset..],
                stride,
                #[inline(always)]
                |sum, from| *sum = sum.wrapping_add(weight.wrapping_mul(i32::from(from))),
            );
        }
    }
}

/// An input of 8-bit integers.
#[derive(Clone, Copy)]
struct Input<'a> {
    bytes: Bytes<'a>,
    /// Value of padding.
    zero: i32,
    batches: usize,
    channels: usize,
}

/// Calls a function with the input and the extents of its planes. The input is copied with a border of zero
/// points if windows reach past it.
fn framed<R>(
    windows: &Windows,
    input: Input<'_>,
    run: impl FnOnce(Input<'_>, &[usize]) -> Result<R, KernelErrorKind>,
) -> Result<R, KernelErrorKind> {
    let reach = windows.reach();
    let inside = reach.iter().zip(&windows.input).all(|(reach, extent)| reach <= extent);
    if inside && windows.begin.iter().all(|begin| *begin == 0) {
        return run(input, &windows.input);
    }
    let shape = [&[input.batches, input.channels], &reach[..]].concat();
    let (plane, larger) = (count(&windows.input), count(&reach));
    // In range: zero points have the type of the input.
    let zero = input.zero as u8;
    let data = input.bytes.data;
    let tensor = build_over::<u8>(&shape, |out| {
        if plane == 0 || larger == 0 {
            out.fill(zero);
            return;
        }
        windows.frame(&reach).copy(data, zero, out);
    })?;
    let bytes = Bytes { data: tensor.bytes(), ..input.bytes };
    let result = run(Input { bytes, ..input }, &reach);
    memory::recycle_tensor(tensor);
    result
}

/// A convolution with requantised sums.
pub(crate) fn requantized(
    call: &Call<'_>,
    filter: &Filter,
    (x, zero): (&AnyTensor, Option<&AnyTensor>),
    requantizer: &Requantizer,
) -> Result<Option<AnyTensor>, KernelErrorKind> {
    dispatch!(requantizer.dtype(), T in [U8 u8, I8 i8] => {
        filter.apply::<T>(call, x, zero, &|channel, _, sums, out| {
            requantizer.apply(Lanes::One(channel), sums, cast_slice_mut(out));
        })
    })
}

//! Products with weights in blocks of a few bits.
//!
//! A panel of rows of the weights is dequantised, multiplied with all rows of the input, and discarded, so
//! that the weights are never in memory as floats.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::{floats, required};
use crate::call::{Call, Outcome, integers, one};
use crate::element::{build_over, check_size, from_slice, to_f64s, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{Matrix, multiply};
use crate::fast::threads;
use crate::movement::slices;
use crate::ops::{CONTRIB_DOMAIN, Operator, widened};
use crate::shape::{around, axis, count};
use crate::work;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    widened("MatMulNBits", n_bits).of(CONTRIB_DOMAIN),
    widened("MatMulBnb4", bnb4).of(CONTRIB_DOMAIN),
    widened("GatherBlockQuantized", gather).of(CONTRIB_DOMAIN),
];

/// Number of elements of a panel for a few rows of the input, which fits in the cache.
const PANEL: usize = 1 << 14;

/// Number of rows of the weights in a panel for many rows of the input.
const MANY: usize = 96;

/// Minimum number of multiplications for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 20;

/// `x * weights^T`, where `dequantize` writes the weights from a row on.
fn product(
    x: &[f32],
    (rows, depth, columns): (usize, usize, usize),
    dequantize: &(dyn Fn(usize, &mut [f32]) + Sync),
) -> Result<Vec<f32>, KernelErrorKind> {
    work::spend_products(Dtype::F32, &[rows, depth, columns])?;
    work::spend_each(&[depth, columns])?;
    check_size(&[rows, columns], size_of::<f32>())?;
    check_size(&[MANY.min(columns), depth], size_of::<f32>())?;
    let mut out = vec![0.0; rows * columns];
    if rows == 0 || columns == 0 || depth == 0 {
        return Ok(out);
    }
    if rows == 1 {
        let panel = (PANEL / depth).max(1);
        let is_parallel = threads::should_split(depth * columns, MIN_PARALLEL);
        threads::each_chunk(&mut out, panel, is_parallel, 8, &|at, out| {
            let mut weights = vec![0.0; out.len() * depth];
            dequantize(at * panel, &mut weights);
            // The shapes fit by construction.
            let right = Matrix::transposed(&weights, depth, out.len());
            let _ = multiply(Matrix::new(x, 1, depth), right, out, 1.0, None);
        });
        return Ok(out);
    }
    let mut weights = vec![0.0; MANY.min(columns) * depth];
    let mut part = vec![0.0; rows * MANY.min(columns)];
    for first in (0..columns).step_by(MANY) {
        let width = MANY.min(columns - first);
        let (weights, part) = (&mut weights[..width * depth], &mut part[..rows * width]);
        dequantize(first, weights);
        multiply(Matrix::new(x, rows, depth), Matrix::transposed(weights, depth, width), part, 1.0, None)?;
        for (row, part) in part.chunks_exact(width).enumerate() {
            out[row * columns + first..][..width].copy_from_slice(part);
        }
    }
    Ok(out)
}

/// A positive attribute.
fn extent(call: &Call<'_>, name: &'static str) -> Result<usize, KernelErrorKind> {
    let value = call.attributes.int(name)?.ok_or(KernelErrorKind::MissingAttribute(name))?;
    match usize::try_from(value) {
        Ok(value) if value > 0 && value <= 1 << 31 => Ok(value),
        Ok(_) | Err(_) => invalid(format!("`{name}` = {value}")),
    }
}

/// The rows of the input, which have `depth` elements.
fn input_rows(x: &AnyTensor, depth: usize) -> Result<usize, KernelErrorKind> {
    match x.shape() {
        [outer @ .., last] if *last == depth => Ok(count(outer)),
        shape => invalid(format!("the input has the shape {shape:?}, not rows of {depth}")),
    }
}

fn result(x: &AnyTensor, columns: usize, values: &[f32]) -> Outcome {
    let shape = [&x.shape()[..x.rank().saturating_sub(1)], &[columns]].concat();
    one(from_slice(&shape, values)?)
}

/// Integers of `bits` bits in bytes, lowest bits first.
fn unpack(bytes: &[u8], bits: usize, at: usize) -> u8 {
    let per_byte = 8 / bits;
    let mask = (u16::MAX >> (16 - bits)) as u8;
    bytes[at / per_byte] >> (at % per_byte * bits) & mask
}

/// Weights whose rows consist of blocks with a scale and a zero point.
struct Blocks<'a> {
    bits: usize,
    /// Number of elements of a block.
    block: usize,
    /// Number of blocks in a row.
    blocks: usize,
    depth: usize,
    bytes: &'a [u8],
    scales: &'a [f32],
    zeros: &'a [f32],
}

impl Blocks<'_> {
    /// Writes whole rows from `first` on.
    fn dequantize(&self, first: usize, out: &mut [f32]) {
        widest(
            #[inline(always)]
            || {
                for (at, row) in out.chunks_exact_mut(self.depth).enumerate() {
                    self.row(first + at, row);
                }
            },
        );
    }

    #[inline(always)]
    fn row(&self, row: usize, out: &mut [f32]) {
        let width = self.block * self.bits / 8;
        for (at, out) in out.chunks_mut(self.block).enumerate() {
            let block = row * self.blocks + at;
            let bytes = &self.bytes[block * width..(block + 1) * width];
            let (scale, zero) = (self.scales[block], self.zeros[block]);
            match self.bits {
                4 if out.len() == self.block => {
                    for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
                        *pair =
                            [(f32::from(byte & 15) - zero) * scale, (f32::from(byte >> 4) - zero) * scale];
                    }
                }
                8 => {
                    for (out, byte) in out.iter_mut().zip(bytes) {
                        *out = (f32::from(*byte) - zero) * scale;
                    }
                }
                bits => {
                    for (at, out) in out.iter_mut().enumerate() {
                        *out = (f32::from(unpack(bytes, bits, at)) - zero) * scale;
                    }
                }
            }
        }
    }
}

/// Number of pairs of elements that are multiplied at a time.
const PAIRS: usize = 16;

impl Blocks<'_> {
    /// Products of one row with weights of 4 bits, without dequantised weights: the sum of `(q - zero) * x`
    /// is the sum of `q * x` less `zero` times the sum of `x`. Blocks are whole, with a multiple of 32
    /// elements.
    fn row_product(&self, x: &[f32], columns: usize) -> Result<Vec<f32>, KernelErrorKind> {
        // The elements for the low and for the high halves of the bytes, and the sum of each block.
        let pairs = x.as_chunks::<2>().0;
        let low: Vec<f32> = pairs.iter().map(|pair| pair[0]).collect();
        let high: Vec<f32> = pairs.iter().map(|pair| pair[1]).collect();
        let sums: Vec<f32> = x.chunks_exact(self.block).map(|block| block.iter().sum()).collect();
        work::spend_each(&[self.depth, columns])?;
        check_size(&[columns], size_of::<f32>())?;
        let mut out = vec![0.0; columns];
        let is_parallel = threads::should_split(self.depth * columns, MIN_PARALLEL);
        threads::each_chunk(&mut out, 64, is_parallel, 1, &|at, out| {
            widest(
                #[inline(always)]
                || {
                    for (inner, out) in out.iter_mut().enumerate() {
                        *out = self.dot(at * 64 + inner, &low, &high, &sums);
                    }
                },
            );
        });
        Ok(out)
    }

    #[inline(always)]
    fn dot(&self, row: usize, low: &[f32], high: &[f32], sums: &[f32]) -> f32 {
        let width = self.block / 2;
        let first = row * self.blocks;
        let bytes = &self.bytes[first * width..(first + self.blocks) * width];
        let (scales, zeros) = (&self.scales[first..][..self.blocks], &self.zeros[first..][..self.blocks]);
        let mut lanes = [0.0_f32; PAIRS];
        let mut offset = 0.0;
        let blocks = bytes.chunks_exact(width).zip(low.chunks_exact(width).zip(high.chunks_exact(width)));
        for (at, (bytes, (low, high))) in blocks.enumerate() {
            let mut block = [0.0_f32; PAIRS];
            let parts = low.as_chunks::<PAIRS>().0.iter().zip(high.as_chunks::<PAIRS>().0);
            for (bytes, (low, high)) in bytes.as_chunks::<PAIRS>().0.iter().zip(parts) {
                for lane in 0..PAIRS {
                    block[lane] +=
                        f32::from(bytes[lane] & 15) * low[lane] + f32::from(bytes[lane] >> 4) * high[lane];
                }
            }
            for (lane, block) in lanes.iter_mut().zip(&block) {
                *lane += block * scales[at];
            }
            offset += scales[at] * zeros[at] * sums[at];
        }
        lanes.iter().sum::<f32>() - offset
    }
}

fn n_bits(call: &mut Call<'_>) -> Outcome {
    let (depth, columns, block) = (extent(call, "K")?, extent(call, "N")?, extent(call, "block_size")?);
    let bits = call.int("bits", 4)?;
    let bits = match bits {
        2 | 4 | 8 => bits as usize,
        bits => return Err(KernelErrorKind::Unsupported(format!("weights of {bits} bits"))),
    };
    if call.has(4) || call.flag("weight_prepacked", false)? {
        return Err(KernelErrorKind::Unsupported("reordered weights".to_owned()));
    }
    let x = call.tensor(0)?;
    let rows = input_rows(x, depth)?;
    let blocks = depth.div_ceil(block);
    if block * bits % 8 != 0 {
        return invalid(format!("blocks of {block} elements are not whole bytes"));
    }
    let b = call.tensor(1)?;
    let bytes = b.as_slice::<u8>()?;
    let scales = required(call, 2)?;
    let bias = floats(call, 5)?;
    let fits = blocks.checked_mul(columns) == Some(scales.len())
        && scales.len().checked_mul(block * bits / 8) == Some(bytes.len())
        && bias.is_none_or(|bias| bias.len() == columns);
    if !fits {
        let (b, scales) = (b.shape(), scales.len());
        return invalid(format!(
            "weights {b:?} and {scales} scales do not fit {} of {}",
            counted(columns, "row"),
            counted(blocks, "block")
        ));
    }
    let default = f32::from(1_u8 << (bits - 1));
    let zeros = match call.optional(3)? {
        None => vec![default; scales.len()],
        Some(zeros) if zeros.dtype() == Dtype::U8 => {
            // Each row starts with a whole byte.
            let row = (blocks * bits).div_ceil(8);
            let packed = zeros.as_slice::<u8>()?;
            if packed.len() != row * columns {
                return invalid(format!("the zero points have the shape {:?}", zeros.shape()));
            }
            let zero = |at: usize| f32::from(unpack(&packed[at / blocks * row..], bits, at % blocks));
            (0..scales.len()).map(zero).collect()
        }
        Some(zeros) if zeros.len() == scales.len() => required(call, 3)?.to_vec(),
        Some(zeros) => return invalid(format!("the zero points have the shape {:?}", zeros.shape())),
    };
    let weights = Blocks { bits, block, blocks, depth, bytes, scales, zeros: &zeros };
    let data = required(call, 0)?;
    let mut y = if rows == 1 && bits == 4 && depth.is_multiple_of(block) && block.is_multiple_of(32) {
        weights.row_product(data, columns)?
    } else {
        product(data, (rows, depth, columns), &|first, out| weights.dequantize(first, out))?
    };
    if let Some(bias) = bias {
        for row in y.chunks_exact_mut(columns) {
            row.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
        }
    }
    result(x, columns, &y)
}

/// Values of the 4-bit floats of bitsandbytes, by code.
const FP4: [f32; 16] = [
    0.0,
    0.005_208_333_3,
    0.666_666_7,
    1.0,
    0.333_333_34,
    0.5,
    0.166_666_67,
    0.25,
    -0.0,
    -0.005_208_333_3,
    -0.666_666_7,
    -1.0,
    -0.333_333_34,
    -0.5,
    -0.166_666_67,
    -0.25,
];

/// Quantiles of the normal distribution (QLoRA, Dettmers et al. 2023, appendix E).
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// Codes of 4 bits, high half first, with a scale for each block of all elements.
fn bnb4(call: &mut Call<'_>) -> Outcome {
    let (depth, columns, block) = (extent(call, "K")?, extent(call, "N")?, extent(call, "block_size")?);
    let values = match call.attributes.int("quant_type")? {
        Some(0) => &FP4,
        Some(1) => &NF4,
        other => return invalid(format!("`quant_type` = {other:?}")),
    };
    if !call.flag("transB", true)? {
        return Err(KernelErrorKind::Unsupported("weights that are not transposed".to_owned()));
    }
    let x = call.tensor(0)?;
    let rows = input_rows(x, depth)?;
    let bytes = call.tensor(1)?.as_slice::<u8>()?;
    let scales = required(call, 2)?;
    let Some(elements) = depth.checked_mul(columns) else { return invalid("too many weights") };
    if bytes.len() != elements.div_ceil(2) || scales.len() != elements.div_ceil(block) {
        return invalid(format!(
            "{} bytes and {} for {}",
            bytes.len(),
            counted(scales.len(), "scale"),
            counted(elements, "weight")
        ));
    }
    let y = product(required(call, 0)?, (rows, depth, columns), &|first, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let at = first * depth + at;
            let code = if at % 2 == 0 { bytes[at / 2] >> 4 } else { bytes[at / 2] & 15 };
            *out = values[usize::from(code)] * scales[at / block];
        }
    })?;
    result(x, columns, &y)
}

/// `Gather` of rows in blocks along the last axis.
fn gather(call: &mut Call<'_>) -> Outcome {
    let block = usize::try_from(call.int("block_size", 128)?).unwrap_or(0);
    let bits = call.int("bits", 4)?;
    let (data, scales) = (call.tensor(0)?, call.tensor(2)?);
    let is_packed = data.dtype() == Dtype::U8;
    let gathered = axis(call.int("gather_axis", 0)?, data.rank())?;
    if axis(call.int("quantize_axis", 1)?, data.rank())? + 1 != data.rank() || gathered + 1 == data.rank() {
        return Err(KernelErrorKind::Unsupported("these axes".to_owned()));
    }
    let mut chosen = Vec::new();
    for index in integers(call.tensor(1)?)? {
        chosen.push(crate::ops::gather::normalised_index(index, data.shape()[gathered])?);
    }
    let take = |x: &AnyTensor| -> Result<AnyTensor, KernelErrorKind> {
        if x.rank() != data.rank() || x.shape()[gathered] != data.shape()[gathered] {
            return invalid(format!("{:?} does not fit {:?}", x.shape(), data.shape()));
        }
        let shape = [&x.shape()[..gathered], call.tensor(1)?.shape(), &x.shape()[gathered + 1..]].concat();
        slices(x, around(x.shape(), gathered), &chosen, &shape)
    };
    let codes = |x: &AnyTensor, width: usize| -> Result<Vec<f64>, KernelErrorKind> {
        let own = x.shape().last().copied().unwrap_or(0);
        if is_packed && bits != 8 {
            if !matches!(bits, 2 | 4) || own.checked_mul(8 / bits as usize).is_none_or(|all| all < width) {
                return invalid(format!("{own} bytes of {bits} bits for {}", counted(width, "element")));
            }
            let bytes = x.as_slice::<u8>()?;
            let rows = bytes.chunks_exact(own.max(1));
            return Ok(rows
                .flat_map(|row| (0..width).map(|at| f64::from(unpack(row, bits as usize, at))))
                .collect());
        }
        let wide =
            crate::ops::cast::convert(x, Dtype::I8).or_else(|_| crate::ops::cast::convert(x, Dtype::I32))?;
        if own != width {
            return invalid(format!("{}, not {width}", counted(own, "element")));
        }
        if x.dtype() == Dtype::U8 { to_f64s(x) } else { to_f64s(&wide) }
    };
    let per_byte = if is_packed && bits != 8 { 8 / usize::try_from(bits.max(1)).unwrap_or(8) } else { 1 };
    let width = data.shape()[data.rank() - 1].saturating_mul(per_byte);
    let taken = take(data)?;
    let scales = take(scales)?;
    let blocks = scales.shape().last().copied().unwrap_or(0);
    if block == 0 || blocks != width.div_ceil(block) {
        return invalid(format!(
            "{} for {} in blocks of {block}",
            counted(blocks, "scale"),
            counted(width, "element")
        ));
    }
    let mut shape = taken.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = width;
    }
    check_size(&shape, size_of::<f64>())?;
    let values = codes(&taken, width)?;
    let scales = to_f64s(&scales)?;
    let zeros = match call.optional(3)? {
        Some(zeros) => codes(&take(zeros)?, blocks)?,
        None if is_packed => vec![f64::from(1 << (bits - 1)); scales.len()],
        None => vec![0.0; scales.len()],
    };
    one(build_over::<f32>(&shape, |out| {
        for (at, (out, value)) in out.iter_mut().zip(&values).enumerate() {
            let block = at / width.max(1) * blocks + at % width.max(1) / block;
            *out = ((value - zeros[block]) * scales[block]) as f32;
        }
    })?)
}

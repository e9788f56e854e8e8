//! Requantisation of 32-bit sums: `round(sum * factor / scale) + zero`, rounded half to even and saturated.
//!
//! The formula is defined in `f64`. It is evaluated in `f32` first, whose error is at most
//! `3 * 2^-24 * |quotient|`: below `10^-4` for all quotients that do not saturate. Where the `f32` quotient
//! is within [`MARGIN`] of a tie, the rounding could differ, and the `f64` formula decides (a floating-point
//! filter, as in exact geometric predicates). Results therefore always equal the formula.
//!
//! Plain form: `requantised` in `ops::quantize`.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::linear::{ROUNDS, Target};
use crate::element::widest;
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::integer::Bytes;

/// Distance from a tie within which `f32` does not decide.
const MARGIN: f32 = 1e-4;

/// Number of sums that are computed together.
const CHUNK: usize = 64;

/// Index of the factor and of the offset for sums.
#[derive(Clone, Copy)]
pub(crate) enum Lanes {
    /// One lane for all sums.
    One(usize),
    /// Adjacent lanes from this one on.
    From(usize),
}

/// Scales and zero point of a requantisation to 8 bits.
#[derive(Clone, Debug)]
pub(crate) struct Requantizer {
    /// One, or one per lane.
    factors: Vec<f64>,
    scale: f64,
    /// Quotients of `factors` and `scale`.
    ratios: Vec<f32>,
    /// Integers added to the sums, one per lane.
    offsets: Option<Vec<i32>>,
    zero: f32,
    bounds: (f32, f32),
    to: Dtype,
}

impl Requantizer {
    /// Checks the parameters of a result with `lanes` lanes.
    pub(crate) fn new(
        factors: Vec<f64>,
        scale: f64,
        zero: &AnyTensor,
        offsets: Option<&AnyTensor>,
        lanes: usize,
    ) -> Result<Self, KernelErrorKind> {
        let offsets = offsets.map(AnyTensor::to_vec::<i32>).transpose()?;
        let is_list = |len: usize| len == 1 || len == lanes;
        if !is_list(factors.len()) || offsets.as_ref().is_some_and(|offsets| offsets.len() != lanes) {
            return invalid(format!("the scales or the bias do not fit {lanes} channels"));
        }
        let bytes = Bytes::of(zero)?;
        let &[byte] = bytes.data else { return invalid("the zero point of the result is not a scalar") };
        let zero_value = bytes.signs.value(byte) as f32;
        let bounds = match zero.dtype() {
            Dtype::I8 => (-128.0, 127.0),
            _ => (0.0, 255.0),
        };
        let ratios = factors.iter().map(|factor| (factor / scale) as f32).collect();
        Ok(Self { factors, scale, ratios, offsets, zero: zero_value, bounds, to: zero.dtype() })
    }

    /// Type of the results.
    pub(crate) fn dtype(&self) -> Dtype {
        self.to
    }

    /// Requantises sums to bytes.
    pub(crate) fn apply(&self, lanes: Lanes, sums: &[i32], out: &mut [u8]) {
        widest(
            #[inline(always)]
            || match (lanes, &self.ratios[..]) {
                (Lanes::From(first), ratios) if ratios.len() > 1 => self.by_lane(first, sums, out),
                (Lanes::From(first), _) if self.offsets.is_some() => self.by_lane(first, sums, out),
                (Lanes::From(_), _) => self.equal(0, 0, sums, out),
                (Lanes::One(lane), ratios) => {
                    let offset = self.offsets.as_ref().map_or(0, |offsets| offsets[lane]);
                    self.equal(if ratios.len() == 1 { 0 } else { lane }, offset, sums, out);
                }
            },
        );
    }

    /// Sums of one lane.
    #[inline(always)]
    fn equal(&self, lane: usize, offset: i32, sums: &[i32], out: &mut [u8]) {
        let ratio = self.ratios[lane];
        let target = Target::new(self.zero, self.bounds);
        for (sums, out) in sums.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            let mut is_close = !ratio.is_normal();
            for (sum, out) in sums.iter().zip(out.iter_mut()) {
                let (byte, close) = rounded(target, sum.wrapping_add(offset) as f32 * ratio);
                *out = byte;
                is_close |= close;
            }
            if is_close {
                for (sum, out) in sums.iter().zip(out.iter_mut()) {
                    *out = self.exact(sum.wrapping_add(offset), self.factors[lane]);
                }
            }
        }
    }

    /// Sums of adjacent lanes.
    #[inline(always)]
    fn by_lane(&self, first: usize, sums: &[i32], out: &mut [u8]) {
        let one = self.ratios.len() == 1;
        let target = Target::new(self.zero, self.bounds);
        for (at, (sums, out)) in sums.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).enumerate() {
            let lane = first + at * CHUNK;
            let mut ratios = [self.ratios[0]; CHUNK];
            let mut offsets = [0; CHUNK];
            if !one {
                ratios[..sums.len()].copy_from_slice(&self.ratios[lane..lane + sums.len()]);
            }
            if let Some(list) = &self.offsets {
                offsets[..sums.len()].copy_from_slice(&list[lane..lane + sums.len()]);
            }
            let mut is_close = false;
            for ((sum, out), (ratio, offset)) in
                sums.iter().zip(out.iter_mut()).zip(ratios.iter().zip(&offsets))
            {
                let (byte, close) = rounded(target, sum.wrapping_add(*offset) as f32 * ratio);
                *out = byte;
                is_close |= close | !ratio.is_normal();
            }
            if is_close {
                for (at, (sum, out)) in sums.iter().zip(out.iter_mut()).enumerate() {
                    let factor = self.factors[if one { 0 } else { lane + at }];
                    *out = self.exact(sum.wrapping_add(offsets[at]), factor);
                }
            }
        }
    }

    /// The byte by the formula.
    #[inline(always)]
    fn exact(&self, sum: i32, factor: f64) -> u8 {
        let value = (f64::from(sum) * factor / self.scale).round_ties_even() + f64::from(self.zero);
        let (low, high) = self.bounds;
        (value.clamp(f64::from(low), f64::from(high)) as i32) as u8
    }
}

/// The byte of a quotient, and whether it is too close to a tie.
#[inline(always)]
fn rounded(target: Target, quotient: f32) -> (u8, bool) {
    let clamped = target.clamped(quotient);
    let whole = (clamped + ROUNDS) - ROUNDS;
    (target.byte(clamped), (clamped - whole).abs() > 0.5 - MARGIN)
}

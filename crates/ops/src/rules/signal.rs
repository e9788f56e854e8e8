//! Fourier transforms: DFT, STFT.
//!
//! The last axis holds real numbers (extent 1) or complex ones (extent 2).

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, Rule, RuleCx, RuleError, RuleResult};

use super::Entry;
use super::common::{MAX_AXES, require_at_most, require_single, set_extents, unknown_extent};

#[cfg(test)]
mod tests;

/// The transformed axis has the length of the transform; for a one-sided transform, half of it plus one.
/// Source: DFT, `dft_length`, `axis`, `onesided`, `inverse`, `output`.
const DFT: Rule = Rule { name: "dft.length", run: dft };

/// One transform per frame. Source: STFT, `frame_step`, `window`, `frame_length`, `onesided`, `output`.
const STFT: Rule = Rule { name: "stft.frames", run: stft };

pub(super) const OPERATORS: &[Entry] = &[Entry::of("DFT", &[DFT]), Entry::of("STFT", &[STFT])];

fn dft(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (onesided, inverse) = (cx.attr_flag("onesided")?, cx.attr_flag("inverse")?);
    cx.require_rank(In(0), 2..)?;
    let length = scalar(cx, In(1), 1)?;
    let Some(input) = cx.shape(In(0)) else { return Ok(()) };
    let rank = input.len();
    if rank > MAX_AXES {
        return Ok(());
    }
    let last = rank - 1;
    let axis = axis(cx, rank)?;
    let mut shape = input.clone();
    shape[last] = cx.dims().constant(if onesided && inverse { 1 } else { 2 });
    match axis {
        Some(axis) => {
            shape[axis] = match (length, cx.has(In(1)), onesided && inverse) {
                (Some(length), _, true) => length,
                (None, false, true) => doubled(cx, input[axis]),
                (Some(length), _, false) => bins(cx, length, onesided),
                (None, false, false) => bins(cx, input[axis], onesided),
                (None, true, _) => unknown_extent(cx, Out(0), axis),
            };
        }
        None if onesided || cx.has(In(1)) => {
            for (axis, dim) in shape[..last].iter_mut().enumerate() {
                *dim = unknown_extent(cx, Out(0), axis);
            }
        }
        None => {}
    }
    cx.set_shape(Out(0), &shape)?;
    let message = match (onesided, inverse, cx.const_dim(input[last])) {
        (true, false, Some(2..)) => "a one-sided transform takes real input, with a last axis of 1",
        (true, true, Some(1)) => {
            "the inverse of a one-sided transform takes complex input, with a last axis of 2"
        }
        (_, _, Some(1 | 2)) => return Ok(()),
        (_, _, None) => return require_numbers(cx, (In(0), last, input[last]), onesided, inverse),
        (_, _, Some(_)) => "the last axis must be 1 for real or 2 for complex numbers",
    };
    Err(RuleError::shapes(&[In(0)], message))
}

/// Conditions on a last axis with a symbolic extent.
fn require_numbers(
    cx: &mut RuleCx<'_, '_>,
    axis: (Port, usize, DimId),
    onesided: bool,
    inverse: bool,
) -> RuleResult {
    let reason = "is the number of values per element";
    let two = cx.dims().constant(2);
    match (onesided, inverse) {
        (true, false) => cx.require_equal(axis, DimId::ONE, reason).map(|_| ()),
        (true, true) => cx.require_equal(axis, two, reason).map(|_| ()),
        (false, _) => cx.require_at_most(axis, two, reason),
    }
}

/// The transformed axis, if it is known: an attribute before version 20 and an input since; never the last
/// axis.
fn axis(cx: &mut RuleCx<'_, '_>, rank: usize) -> RuleResult<Option<usize>> {
    let axis = if cx.since_version() < 20 {
        cx.attr_int("axis")?.unwrap_or(1)
    } else if cx.has(In(2)) {
        cx.require_rank(In(2), 0..=0)?;
        match cx.const_int(In(2)) {
            Some(axis) => axis,
            None => return Ok(None),
        }
    } else {
        -2
    };
    let at = cx.axis("axis", axis, rank)?;
    if at == rank - 1 {
        return Err(RuleError::attribute("axis", format!("is {axis}, the axis of real and imaginary parts")));
    }
    Ok(Some(at))
}

/// The value of a scalar input, at least `least`.
fn scalar(cx: &mut RuleCx<'_, '_>, port: Port, least: i64) -> RuleResult<Option<DimId>> {
    cx.require_rank(port, 0..=0)?;
    number(cx, port, least)
}

/// The value of a single-element input of any rank.
fn number(cx: &mut RuleCx<'_, '_>, port: Port, least: i64) -> RuleResult<Option<DimId>> {
    let Some(only) = cx.ints(port).and_then(|ints| ints.single()) else { return Ok(None) };
    match cx.const_dim(only) {
        Some(number) if number < least => {
            Err(RuleError::value(port, format!("is {number}, but must be at least {least}")))
        }
        Some(_) | None => Ok(Some(only)),
    }
}

/// Number of elements of a transform of this length.
fn bins(cx: &mut RuleCx<'_, '_>, length: DimId, onesided: bool) -> DimId {
    if onesided { one_sided_bins(cx, length) } else { length }
}

/// Number of elements of a one-sided transform of this length: half of it plus one.
pub(super) fn one_sided_bins(cx: &mut RuleCx<'_, '_>, length: DimId) -> DimId {
    let two = cx.dims().constant(2);
    let half = cx.dims().floor_div(length, two);
    cx.dims().add(half, DimId::ONE)
}

/// Signal length of a one-sided transform with this number of elements. Of the two possible lengths, the even
/// one.
fn doubled(cx: &mut RuleCx<'_, '_>, bins: DimId) -> DimId {
    let half = cx.dims().sub(bins, DimId::ONE);
    cx.scaled(half, 2)
}

fn stft(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    // Every implementation accepts a real signal without the last axis.
    cx.require_rank(In(0), 2..=3)?;
    cx.require_rank(In(2), 1..=1)?;
    require_single(cx, In(1))?;
    let step = number(cx, In(1), 1)?;
    let signal = cx.shape(In(0));
    let length = frame_length(cx, signal.as_ref().map(|signal| signal[1]))?;
    let batch = signal.as_ref().map(|signal| signal[0]);
    let frames = match (&signal, length, step) {
        (Some(signal), Some(length), Some(step)) => Some(frames(cx, signal[1], length, step)?),
        (Some(_) | None, _, _) => None,
    };
    let bins = match (length, onesided(cx)?) {
        (Some(length), Some(onesided)) => Some(bins(cx, length, onesided)),
        (Some(_) | None, _) => None,
    };
    let two = cx.dims().constant(2);
    set_extents(cx, Out(0), [batch, frames, bins, Some(two)])?;
    match signal_parts(cx) {
        Some(2) if cx.has_attr("onesided")? && cx.attr_flag("onesided")? => {
            Err(RuleError::attribute("onesided", "is 1, which a complex signal does not allow"))
        }
        None | Some(1 | 2) => Ok(()),
        Some(_) => {
            Err(RuleError::shapes(&[In(0)], "the last axis must be 1 for real or 2 for complex numbers"))
        }
    }
}

/// The length of a frame: the explicit one, else that of the window, else the whole signal.
fn frame_length(cx: &mut RuleCx<'_, '_>, signal: Option<DimId>) -> RuleResult<Option<DimId>> {
    let given = scalar(cx, In(3), 1)?;
    let window = cx.shape(In(2)).map(|window| window[0]);
    Ok(match (given, window) {
        (Some(given), Some(window)) => {
            Some(cx.require_equal((In(2), 0, window), (In(3), given), "are the length of a frame")?)
        }
        (Some(given), None) => Some(given),
        (None, Some(window)) => Some(window),
        (None, None) if cx.has(In(2)) || cx.has(In(3)) => None,
        (None, None) => signal,
    })
}

/// `(signal - frame) // step + 1`.
fn frames(cx: &mut RuleCx<'_, '_>, signal: DimId, length: DimId, step: DimId) -> RuleResult<DimId> {
    let last_start = cx.dims().sub(signal, length);
    if cx.dims().bounds(last_start).1.is_some_and(|high| high < 0) {
        return Err(RuleError::shapes(&[In(0)], "a frame is longer than the signal"));
    }
    require_at_most(cx, (In(2), length), (In(0), 1, signal), "are a frame and the signal")?;
    let steps = cx.dims().floor_div(last_start, step);
    Ok(cx.dims().add(steps, DimId::ONE))
}

/// Whether the transform is one-sided; without an attribute, this is known for a real signal only.
fn onesided(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<bool>> {
    let flag = cx.attr_flag("onesided")?;
    Ok((cx.has_attr("onesided")? || signal_parts(cx) == Some(1)).then_some(flag))
}

/// Numbers per element of the signal: 1 if it is real, 2 if it is complex.
fn signal_parts(cx: &mut RuleCx<'_, '_>) -> Option<i64> {
    match cx.shape(In(0))?[..] {
        [_, _] => Some(1),
        [.., parts] => cx.const_dim(parts),
        [] => None,
    }
}

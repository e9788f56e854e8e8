//! Padding and cropping.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::plural::counted;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, of_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::memory;
use crate::movement::{Run, Selection, assemble, select, slices};
use crate::shape::{axes_or_all, count, each_index, strides};

pub(super) const OPERATORS: &[Operator] = &[native("Pad", pad)];

/// Value of the elements outside the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Constant,
    Reflect,
    Edge,
    Wrap,
}

fn pad(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let modes = [
        ("constant", Mode::Constant),
        ("reflect", Mode::Reflect),
        ("edge", Mode::Edge),
        ("wrap", Mode::Wrap),
    ];
    let mode = call.choice("mode", &modes)?;
    let name = if call.version < 2 { "paddings" } else { "pads" };
    let Some(pads) = call.integers_or(1, name)? else { return Err(KernelErrorKind::MissingInput(1)) };
    let axes = axes_or_all(call.integers(3)?.as_deref(), x.rank())?;
    if pads.len() != 2 * axes.len() {
        return invalid(format!("{} for {}", counted(pads.len(), "pad"), counted(axes.len(), "axis")));
    }
    let fill = match call.optional(2)? {
        Some(fill) if fill.len() == 1 => Some(fill.clone().reshape(&[1])?),
        Some(_) => None,
        None => match call.attributes.float("value")? {
            Some(value) => Some(of_f64s(x.dtype(), &[1], &[f64::from(value)])?),
            None => None,
        },
    };
    let mut shape = x.shape().to_vec();
    let mut shift = vec![0_i64; x.rank()];
    for (at, axis) in axes.iter().enumerate() {
        let (before, after) = (pads[at], pads[at + axes.len()]);
        let total = before.checked_add(after).and_then(|both| both.checked_add(x.shape()[*axis] as i64));
        match total.and_then(|total| usize::try_from(total).ok()) {
            Some(extent) => shape[*axis] = extent,
            None => return invalid(format!("pads {before} and {after} remove all of axis {axis}")),
        }
        shift[*axis] = before.saturating_neg();
    }
    if mode == Mode::Constant {
        return one(shifted(x, &shape, &shift, fill)?);
    }
    if x.is_empty() && !shape.contains(&0) {
        return invalid("an empty input cannot be padded with its own elements");
    }
    check_size(&shape, x.dtype().size_bytes().unwrap_or(size_of::<Run>()))?;
    if shape.contains(&0) {
        return one(AnyTensor::zeros(x.dtype(), &shape)?);
    }
    let selections: Vec<Selection> = (0..x.rank())
        .map(|axis| {
            let extent = x.shape()[axis] as i64;
            if shift[axis] == 0 && shape[axis] == x.shape()[axis] {
                return Selection::All;
            }
            Selection::Listed(
                (0..shape[axis]).map(|at| inside(at as i64 + shift[axis], extent, mode)).collect(),
            )
        })
        .collect();
    one(select(x, &selections)?)
}

/// Maps an index outside an axis to one inside.
fn inside(at: i64, extent: i64, mode: Mode) -> usize {
    let found = match mode {
        Mode::Edge | Mode::Constant => at.clamp(0, extent - 1),
        Mode::Wrap => at.rem_euclid(extent),
        Mode::Reflect if extent == 1 => 0,
        Mode::Reflect => {
            let period = 2 * (extent - 1);
            let at = at.rem_euclid(period);
            if at < extent { at } else { period - at }
        }
    };
    usize::try_from(found).unwrap_or(0)
}

/// Maximum number of elements that are copied from a row of the fill value.
const MAX_ROW: usize = 256;

/// Copies a shifted window of another shape from a tensor. Elements outside are `fill`, or zero.
pub(super) fn shifted(
    x: &AnyTensor,
    shape: &[usize],
    shift: &[i64],
    fill: Option<AnyTensor>,
) -> Result<AnyTensor, KernelErrorKind> {
    let fill = match fill {
        Some(fill) => fill,
        None => AnyTensor::zeros(x.dtype(), &[1])?,
    };
    check_size(shape, x.dtype().size_bytes().unwrap_or(8))?;
    if shape.contains(&0) {
        return Ok(AnyTensor::zeros(x.dtype(), shape)?);
    }
    // At most three runs of a row, and those of the elements outside.
    let rows = count(&shape[..shape.len().saturating_sub(1)]);
    let _runs = memory::reserve::<Run>(3_usize.saturating_mul(rows).saturating_add(count(shape) / MAX_ROW))?;
    let own = strides(x.shape());
    let mut runs = Vec::new();
    // A row of the fill value, so that elements outside are runs.
    let row = shape.last().copied().unwrap_or(1).min(MAX_ROW);
    let fill = slices(&fill, (1, 1, 1), &vec![0; row], &[row])?;
    let outside = |runs: &mut Vec<Run>, mut number: i64| {
        while number > 0 {
            let len = usize::try_from(number).unwrap_or(row).min(row);
            runs.push(Run { input: 1, start: 0, len });
            number -= len as i64;
        }
    };
    let Some(last) = shape.len().checked_sub(1) else {
        return assemble(&[x, &fill], shape, std::iter::once(Run::one(0)));
    };
    each_index(&shape[..last], |_, index| {
        let mut start = Some(0_usize);
        for (axis, at) in index.iter().enumerate() {
            let at = usize::try_from(*at as i64 + shift[axis]).ok().filter(|at| *at < x.shape()[axis]);
            start = start.zip(at).map(|(start, at)| start + at * own[axis]);
        }
        let extent = x.shape()[last] as i64;
        let width = shape[last] as i64;
        // The part of the row inside the input.
        let from = (-shift[last]).clamp(0, width);
        let to = (extent - shift[last]).clamp(from, width);
        match start {
            None => outside(&mut runs, width),
            Some(start) => {
                outside(&mut runs, from);
                if to > from {
                    let begin = start + usize::try_from(from + shift[last]).unwrap_or(0);
                    runs.push(Run::of(begin, usize::try_from(to - from).unwrap_or(0)));
                }
                outside(&mut runs, width - to);
            }
        }
    });
    assemble(&[x, &fill], shape, runs.into_iter())
}

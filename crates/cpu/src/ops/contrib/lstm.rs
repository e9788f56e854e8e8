//! `DynamicQuantizeLSTM`: weights are 8-bit integers, and inputs and states are rounded to 8 bits before each
//! product.
//!
//! The rounded numbers are multiplied as `f32`: the products are exact up to the rounding of their sum.

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{floats, required};
use crate::call::{Call, Outcome};
use crate::element::{check_size, from_slice, to_f64s, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::math::{sigmoid, tanh};
use crate::ops::{CONTRIB_DOMAIN, Operator, native};
use crate::product::{Matrix, multiply};

pub(in crate::ops) const OPERATORS: &[Operator] = &[native("DynamicQuantizeLSTM", lstm).of(CONTRIB_DOMAIN)];

/// Minimum number of sequences for which packing the weights in each step pays.
const PACKED: usize = 16;

/// Rounds numbers to 256 levels between their least and their greatest, as `DynamicQuantizeLinear` does.
fn rounded(list: &[f32]) -> Vec<f32> {
    let least = list.iter().copied().fold(0.0, f32::min);
    let most = list.iter().copied().fold(0.0, f32::max);
    let scale = (most - least) / 255.0;
    if scale == 0.0 || !scale.is_finite() {
        return vec![0.0; list.len()];
    }
    let zero = (-least / scale).round_ties_even().clamp(0.0, 255.0);
    let level = |x: &f32| ((x / scale).round_ties_even() + zero).clamp(0.0, 255.0);
    list.iter().map(|x| (level(x) - zero) * scale).collect()
}

/// Weights of all directions as `f32`, from integers of shape `[direction, row, column]`. Scales are per
/// direction, or per direction and column.
fn weights(call: &Call<'_>, index: usize, scale: usize) -> Result<(Vec<f32>, [usize; 3]), KernelErrorKind> {
    let tensor = call.tensor(index)?;
    let &[directions, rows, columns] = tensor.shape() else { return invalid("weights are not of rank 3") };
    if !matches!(tensor.dtype(), Dtype::I8 | Dtype::U8) {
        return Err(KernelErrorKind::Dtype(tensor.dtype()));
    }
    let (scales, zeros) = (to_f64s(call.tensor(scale)?)?, to_f64s(call.tensor(scale + 1)?)?);
    let fits = |list: &[f64]| list.len() == directions || list.len() == directions * columns;
    if !fits(&scales) || !fits(&zeros) {
        return invalid(format!("{} scales and {} zero points of weights", scales.len(), zeros.len()));
    }
    let pick = |list: &[f64], direction: usize, column: usize| {
        if list.len() == directions { list[direction] } else { list[direction * columns + column] }
    };
    let size = (rows * columns).max(1);
    let value = |(at, value): (usize, &f64)| {
        let (direction, column) = (at / size, at % columns.max(1));
        ((value - pick(&zeros, direction, column)) * pick(&scales, direction, column)) as f32
    };
    Ok((to_f64s(tensor)?.iter().enumerate().map(value).collect(), [directions, rows, columns]))
}

/// Lists that are per direction, or zeros.
fn per_direction(call: &Call<'_>, index: usize, len: usize) -> Result<Vec<f32>, KernelErrorKind> {
    match floats(call, index)? {
        None => Ok(vec![0.0; len]),
        Some(list) if list.len() == len => Ok(list.to_vec()),
        Some(list) => invalid(format!("input {index} has {} elements, not {len}", list.len())),
    }
}

/// Attributes and extents of a network.
struct Net {
    steps: usize,
    batches: usize,
    hidden: usize,
    clip: f32,
    is_coupled: bool,
    lengths: Vec<usize>,
}

impl Net {
    fn of(call: &Call<'_>, hidden: usize) -> Result<Self, KernelErrorKind> {
        let &[steps, batches, _] = call.tensor(0)?.shape() else {
            return invalid("the input is not of rank 3");
        };
        let lengths = match call.integers(4)? {
            None => vec![steps; batches],
            Some(list) => crate::shape::extents(&list)?,
        };
        if lengths.len() != batches || lengths.iter().any(|length| *length > steps) {
            return invalid(format!(
                "the lengths {lengths:?} do not fit {batches} sequences of {steps} steps"
            ));
        }
        let names = call.attributes.texts("activations")?.unwrap_or_default();
        let defaults = ["sigmoid", "tanh", "tanh"].iter().cycle();
        if names.iter().zip(defaults).any(|(name, default)| !name.eq_ignore_ascii_case(default)) {
            return Err(KernelErrorKind::Unsupported(format!("activations {names:?}")));
        }
        let clip = call.attributes.float("clip")?.unwrap_or(f32::INFINITY);
        if clip.is_nan() || clip < 0.0 {
            return invalid(format!("`clip` = {clip}"));
        }
        Ok(Self { steps, batches, hidden, clip, is_coupled: call.flag("input_forget", false)?, lengths })
    }

    /// The next state of one sequence from the sums of its gates: input, output, forget, cell.
    fn next(&self, gates: &[f32], peepholes: &[f32], h: &mut [f32], c: &mut [f32]) {
        let (n, clip, is_coupled) = (self.hidden, self.clip, self.is_coupled);
        let gate = |at: usize| &gates[at * n..][..n];
        let factor = |at: usize| &peepholes[at * n..][..n];
        widest(
            #[inline(always)]
            move || {
                let clipped = |x: f32| x.clamp(-clip, clip);
                let sums = gate(0).iter().zip(gate(1)).zip(gate(2).iter().zip(gate(3)));
                let factors = factor(0).iter().zip(factor(1)).zip(factor(2));
                for (((h, c), sums), factors) in h.iter_mut().zip(c.iter_mut()).zip(sums).zip(factors) {
                    let (((i, o), (f, cell)), ((pi, po), pf)) = (sums, factors);
                    let input = sigmoid(clipped(i + pi * *c));
                    let forget = if is_coupled { 1.0 - input } else { sigmoid(clipped(f + pf * *c)) };
                    *c = forget * *c + input * tanh(clipped(*cell));
                    *h = sigmoid(clipped(o + po * *c)) * tanh(*c);
                }
            },
        );
    }
}

fn lstm(call: &mut Call<'_>) -> Outcome {
    let hidden =
        call.attributes.int("hidden_size")?.ok_or(KernelErrorKind::MissingAttribute("hidden_size"))?;
    let (w, [directions, width, gates]) = weights(call, 1, 8)?;
    let (r, recurrent) = weights(call, 2, 10)?;
    let n = usize::try_from(hidden).unwrap_or(0);
    let reversed: &[bool] = call.choice(
        "direction",
        &[("forward", &[false][..]), ("reverse", &[true]), ("bidirectional", &[false, true])],
    )?;
    let x = call.tensor(0)?;
    let fits = n.checked_mul(4) == Some(gates)
        && recurrent == [directions, n, gates]
        && reversed.len() == directions
        && x.shape().last() == Some(&width);
    if !fits {
        return invalid(format!("the weights do not fit {directions} directions of {n} states"));
    }
    let net = Net::of(call, n)?;
    let (steps, batches) = (net.steps, net.batches);
    let states = directions * batches * n;
    let bias = per_direction(call, 3, directions * 2 * gates)?;
    let (mut h, mut c) = (per_direction(call, 5, states)?, per_direction(call, 6, states)?);
    let peepholes = per_direction(call, 7, directions * 3 * n)?;
    check_size(&[steps, directions, batches, gates], size_of::<f32>())?;
    let mut y = vec![0.0; steps * directions * batches * n];
    let x = rounded(required(call, 0)?);
    let mut of_input = vec![0.0; steps * batches * gates];
    let mut of_state = vec![0.0; batches * gates];
    for (direction, reversed) in reversed.iter().enumerate() {
        let w = &w[direction * width * gates..][..width * gates];
        let r = &r[direction * n * gates..][..n * gates];
        let bias = &bias[direction * 2 * gates..][..2 * gates];
        let peepholes = &peepholes[direction * 3 * n..][..3 * n];
        let state = direction * batches * n..(direction + 1) * batches * n;
        let (h, c) = (&mut h[state.clone()], &mut c[state]);
        let rows = Matrix::new(&x, steps * batches, width);
        multiply(rows, Matrix::new(w, width, gates), &mut of_input, 1.0, None)?;
        for turn in 0..steps {
            let rows = rounded(h);
            let right = Matrix::new(r, n, gates);
            // The product of a single row reads the weights in order, without packing them.
            let height = if batches < PACKED { 1 } else { batches };
            let parts = of_state
                .chunks_exact_mut((height * gates).max(1))
                .zip(rows.chunks_exact((height * n).max(1)));
            for (out, rows) in parts {
                multiply(Matrix::new(rows, height, n), right, out, 1.0, None)?;
            }
            for batch in 0..batches {
                let length = net.lengths[batch];
                if turn >= length {
                    continue;
                }
                let step = if *reversed { length - 1 - turn } else { turn };
                let sums = &mut of_state[batch * gates..][..gates];
                let inputs = &of_input[(step * batches + batch) * gates..][..gates];
                for (at, (sum, input)) in sums.iter_mut().zip(inputs).enumerate() {
                    *sum += input + bias[at] + bias[gates + at];
                }
                let lane = batch * n..(batch + 1) * n;
                net.next(sums, peepholes, &mut h[lane.clone()], &mut c[lane.clone()]);
                let to = ((step * directions + direction) * batches + batch) * n;
                y[to..to + n].copy_from_slice(&h[lane]);
            }
        }
    }
    let last =
        |list: &[f32]| -> Result<AnyTensor, KernelErrorKind> { from_slice(&[directions, batches, n], list) };
    let all = from_slice(&[steps, directions, batches, n], &y)?;
    Ok(vec![all.into(), last(&h)?.into(), last(&c)?.into()])
}

//! `DynamicQuantizeLSTM`: weights are 8-bit integers, and inputs and states are rounded to 8 bits before each
//! product.
//!
//! Products of integers are exact. A sum is multiplied by the product of both scales, as in ONNX Runtime.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::integer::quantized;
use super::{floats, required};
use crate::call::{Call, Outcome};
use crate::element::{build, build_over, check_size, from_slice, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::quantised::product::{Columns, with_columns};
use crate::math::{sigmoid, tanh};
use crate::memory;
use crate::ops::{CONTRIB_DOMAIN, Operator, native};
use crate::shape::count;
use crate::work;

pub(in crate::ops) const OPERATORS: &[Operator] = &[native("DynamicQuantizeLSTM", lstm).of(CONTRIB_DOMAIN)];

/// The weights of one direction, of shape `(depth, gates)`.
struct Weights {
    /// `None` if there are no weights.
    columns: Option<Columns>,
    /// A scale for each gate of each state.
    scales: Vec<f32>,
}

impl Weights {
    /// The product of rows, rounded to 8 bits, and the weights.
    fn multiply(&self, rows: &AnyTensor, out: &mut [f32]) -> Result<(), KernelErrorKind> {
        let Some(columns) = self.columns.as_ref().filter(|_| !rows.is_empty()) else {
            out.fill(0.0);
            return Ok(());
        };
        let [integers, scale, zero] = quantized(rows)?;
        let &[scale] = scale.as_slice::<f32>()? else { return invalid("there is not one scale") };
        let sink = |_: usize, first: usize, sums: &[i32], out: &mut [f32]| {
            let scales = &self.scales[first..];
            widest(
                #[inline(always)]
                || {
                    for (out, (sum, own)) in out.iter_mut().zip(sums.iter().zip(scales)) {
                        *out = *sum as f32 * (scale * own);
                    }
                },
            );
        };
        match with_columns::<f32>(&integers, Some(&zero), columns, &sink)? {
            Some(product) => {
                out.copy_from_slice(product.as_slice()?);
                memory::recycle(product.into());
                memory::recycle(integers.into());
            }
            None => return invalid("the zero point does not fit"),
        }
        Ok(())
    }
}

/// Packed weights of all directions, from integers of shape `[direction, row, column]`. Scales are per
/// direction, or per direction and column.
fn weights(
    call: &Call<'_>,
    index: usize,
    scale: usize,
) -> Result<(Vec<Weights>, [usize; 3]), KernelErrorKind> {
    let tensor = call.tensor(index)?;
    let &[directions, rows, columns] = tensor.shape() else { return invalid("weights are not of rank 3") };
    if !matches!(tensor.dtype(), Dtype::I8 | Dtype::U8) {
        return Err(KernelErrorKind::Dtype(tensor.dtype()));
    }
    let (scales, zeros) = (required(call, scale)?, call.tensor(scale + 1)?);
    let fits = |len: usize| len == directions || len == directions * columns;
    if !fits(scales.len()) || !fits(zeros.len()) || zeros.dtype() != tensor.dtype() {
        return invalid(format!("{} scales and {} zero points of weights", scales.len(), zeros.len()));
    }
    let of = |direction: usize| -> Result<Weights, KernelErrorKind> {
        let part = |tensor: &AnyTensor, shape: &[usize]| {
            let bytes = &tensor.bytes()[direction * count(shape)..][..count(shape)];
            AnyTensor::from_le_bytes(tensor.dtype(), shape, bytes)
        };
        let scales = if scales.len() == directions {
            vec![scales[direction]; columns]
        } else {
            scales[direction * columns..][..columns].to_vec()
        };
        let zero = part(zeros, &[zeros.len() / directions])?;
        let columns = if rows * columns == 0 {
            None
        } else {
            let packed = Columns::pack(&part(tensor, &[rows, columns])?, Some(&zero));
            Some(packed.ok_or(KernelErrorKind::Unsupported("zero points of this shape".to_owned()))?)
        };
        Ok(Weights { columns, scales })
    };
    Ok(((0..directions).map(of).collect::<Result<_, _>>()?, [directions, rows, columns]))
}

/// Lists that are per direction, or zeros.
fn per_direction(call: &Call<'_>, index: usize, len: usize) -> Result<Vec<f32>, KernelErrorKind> {
    match floats(call, index)? {
        None => Ok(vec![0.0; len]),
        Some(list) if list.len() == len => Ok(list.to_vec()),
        Some(list) => invalid(format!("input {index} has {}, not {len}", counted(list.len(), "element"))),
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
                "the lengths {lengths:?} do not fit {} of {}",
                counted(batches, "sequence"),
                counted(steps, "step")
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
    work::spend_products(Dtype::I8, &[directions, steps, batches, gates, width.saturating_add(n)])?;
    work::spend_each(&[directions, steps, batches, gates, 8])?;
    let mut results = build::<f32>(&[steps, directions, batches, n], |_| {})?;
    let y = results.as_mut_slice::<f32>()?;
    let flat = crate::movement::reshape(x.clone(), &[steps * batches, width])?;
    let mut buffer = build_over::<f32>(&[steps * batches, gates], |_| {})?;
    let of_input = buffer.as_mut_slice::<f32>()?;
    let mut of_state = vec![0.0; batches * gates];
    for (direction, reversed) in reversed.iter().enumerate() {
        let bias = &bias[direction * 2 * gates..][..2 * gates];
        let peepholes = &peepholes[direction * 3 * n..][..3 * n];
        let state = direction * batches * n..(direction + 1) * batches * n;
        let (h, c) = (&mut h[state.clone()], &mut c[state]);
        w[direction].multiply(&flat, of_input)?;
        for turn in 0..steps {
            r[direction].multiply(&from_slice(&[batches, n], h)?, &mut of_state)?;
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
    memory::recycle(buffer.into());
    Ok(vec![results.into(), last(&h)?.into(), last(&c)?.into()])
}

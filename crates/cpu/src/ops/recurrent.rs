//! Recurrent networks: `RNN`, `GRU` and `LSTM`.
//!
//! One loop serves all three operators. It iterates over the steps of each direction and computes the input
//! and recurrent gates as matrix products. The cell type computes the next state from the gates.

use typeloom_types::any_tensor::AnyTensor;

use super::layout::permute;
use super::{Operator, widened};
use crate::call::{Call, Outcome};
use crate::element::{of_f64s, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::product::{self, Matrix};

pub(super) const OPERATORS: &[Operator] = &[
    widened("RNN", |call| recur(call, Cell::Rnn)),
    widened("GRU", |call| recur(call, Cell::Gru)),
    widened("LSTM", |call| recur(call, Cell::Lstm)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Rnn,
    Gru,
    Lstm,
}

impl Cell {
    fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    fn activations(self) -> &'static [&'static str] {
        match self {
            Self::Rnn => &["Tanh"],
            Self::Gru => &["Sigmoid", "Tanh"],
            Self::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// A function of a number and two parameters (alpha and beta).
type Function = fn(f64, f64, f64) -> f64;

/// An activation function and its parameters.
#[derive(Clone, Copy)]
struct Activation {
    apply: Function,
    alpha: f64,
    beta: f64,
}

impl Activation {
    fn of(name: &str, alpha: Option<f32>, beta: Option<f32>) -> Result<Self, KernelErrorKind> {
        let (apply, defaults): (Function, (f64, f64)) = match name.to_lowercase().as_str() {
            "relu" => (|x, _, _| x.max(0.0), (0.0, 0.0)),
            "tanh" => (|x, _, _| x.tanh(), (0.0, 0.0)),
            "sigmoid" => (|x, _, _| 1.0 / (1.0 + (-x).exp()), (0.0, 0.0)),
            "affine" => (|x, a, b| a * x + b, (1.0, 0.0)),
            "leakyrelu" => (|x, a, _| if x < 0.0 { a * x } else { x }, (0.01, 0.0)),
            "thresholdedrelu" => (|x, a, _| if x > a { x } else { 0.0 }, (1.0, 0.0)),
            "scaledtanh" => (|x, a, b| a * (b * x).tanh(), (1.0, 1.0)),
            "hardsigmoid" => (|x, a, b| (a * x + b).clamp(0.0, 1.0), (0.2, 0.5)),
            "elu" => (|x, a, _| if x < 0.0 { a * x.exp_m1() } else { x }, (1.0, 0.0)),
            "softsign" => (|x, _, _| x / (1.0 + x.abs()), (0.0, 0.0)),
            "softplus" => (|x, _, _| x.max(0.0) + (-x.abs()).exp().ln_1p(), (0.0, 0.0)),
            other => return invalid(format!("the activation `{other}` is not known")),
        };
        let or = |given: Option<f32>, default: f64| given.map_or(default, f64::from);
        Ok(Self { apply, alpha: or(alpha, defaults.0), beta: or(beta, defaults.1) })
    }

    fn of_value(self, x: f64) -> f64 {
        (self.apply)(x, self.alpha, self.beta)
    }
}

/// Configuration shared by all directions.
struct Net {
    cell: Cell,
    steps: usize,
    batches: usize,
    width: usize,
    hidden: usize,
    clip: Option<f64>,
    before_reset: bool,
    coupled: bool,
    lengths: Vec<usize>,
}

/// Weights of one direction.
struct Weights<'a> {
    input: &'a [f64],
    state: &'a [f64],
    bias_input: Vec<f64>,
    bias_state: Vec<f64>,
    peepholes: &'a [f64],
    activations: &'a [Activation],
}

impl Net {
    fn clipped(&self, x: f64) -> f64 {
        self.clip.map_or(x, |clip| x.clamp(-clip, clip))
    }

    fn gate(&self, activation: Activation, x: f64) -> f64 {
        activation.of_value(self.clipped(x))
    }

    /// Updates one row of the batch for one step. `x` and `r` are the input and recurrent gates, biases
    /// included.
    fn next(&self, weights: &Weights<'_>, x: &[f64], r: &[f64], h: &mut [f64], c: &mut [f64]) {
        let n = self.hidden;
        let acts = weights.activations;
        match self.cell {
            Cell::Rnn => (0..n).for_each(|at| h[at] = self.gate(acts[0], x[at] + r[at])),
            Cell::Gru => {
                let update: Vec<f64> = (0..n).map(|at| self.gate(acts[0], x[at] + r[at])).collect();
                let reset: Vec<f64> = (0..n).map(|at| self.gate(acts[0], x[n + at] + r[n + at])).collect();
                let candidates: Vec<f64> = if self.before_reset {
                    (0..n).map(|at| reset[at] * r[2 * n + at]).collect()
                } else {
                    let gated: Vec<f64> = (0..n).map(|at| reset[at] * h[at]).collect();
                    (0..n)
                        .map(|at| {
                            let row = &weights.state[(2 * n + at) * n..][..n];
                            let product: f64 = row.iter().zip(&gated).map(|(a, b)| a * b).sum();
                            product + weights.bias_state[2 * n + at]
                        })
                        .collect()
                };
                for at in 0..n {
                    let candidate = self.gate(acts[1], x[2 * n + at] + candidates[at]);
                    h[at] = (1.0 - update[at]) * candidate + update[at] * h[at];
                }
            }
            Cell::Lstm => {
                let peep =
                    |gate: usize, at: usize| weights.peepholes.get(gate * n + at).copied().unwrap_or(0.0);
                for at in 0..n {
                    let sum = |gate: usize| x[gate * n + at] + r[gate * n + at];
                    let input = self.gate(acts[0], sum(0) + peep(0, at) * c[at]);
                    let forget = if self.coupled {
                        1.0 - input
                    } else {
                        self.gate(acts[0], sum(2) + peep(2, at) * c[at])
                    };
                    c[at] = forget * c[at] + input * self.gate(acts[1], sum(3));
                    let output = self.gate(acts[0], sum(1) + peep(1, at) * c[at]);
                    h[at] = output * acts[2].of_value(c[at]);
                }
            }
        }
    }

    /// Runs all steps of one direction. `write` receives the step and the states of the whole batch.
    fn run(
        &self,
        weights: &Weights<'_>,
        x: &[f64],
        reverse: bool,
        h: &mut [f64],
        c: &mut [f64],
        mut write: impl FnMut(usize, usize, &[f64]),
    ) -> Result<(), KernelErrorKind> {
        let rows = self.cell.gates() * self.hidden;
        let tokens = self.steps * self.batches;
        let mut gates = vec![0.0; tokens * rows];
        let input = Matrix::transposed(weights.input, self.width, rows);
        product::multiply(Matrix::new(x, tokens, self.width), input, &mut gates, 1.0, None)?;
        for row in gates.chunks_exact_mut(rows.max(1)) {
            row.iter_mut().zip(&weights.bias_input).for_each(|(gate, bias)| *gate += bias);
        }
        let mut of_state = vec![0.0; self.batches * rows];
        for turn in 0..self.steps {
            let state = Matrix::transposed(weights.state, self.hidden, rows);
            product::multiply(Matrix::new(h, self.batches, self.hidden), state, &mut of_state, 1.0, None)?;
            for (batch, of_state) in of_state.chunks_exact_mut(rows.max(1)).enumerate() {
                let length = self.lengths[batch];
                if turn >= length {
                    continue;
                }
                let step = if reverse { length - 1 - turn } else { turn };
                of_state.iter_mut().zip(&weights.bias_state).for_each(|(gate, bias)| *gate += bias);
                let token = &gates[(step * self.batches + batch) * rows..][..rows];
                let lane = batch * self.hidden..(batch + 1) * self.hidden;
                self.next(weights, token, of_state, &mut h[lane.clone()], &mut c[lane.clone()]);
                write(step, batch, &h[lane]);
            }
        }
        Ok(())
    }
}

/// Elements of an optional input, which must have `length` elements.
fn sized(call: &Call<'_>, index: usize, length: usize) -> Result<Option<Vec<f64>>, KernelErrorKind> {
    let Some(tensor) = call.optional(index)? else { return Ok(None) };
    if tensor.len() != length {
        return invalid(format!(
            "input {index} of shape {:?} does not have {length} elements",
            tensor.shape()
        ));
    }
    to_f64s(tensor).map(Some)
}

fn activations(call: &Call<'_>, cell: Cell, directions: usize) -> Result<Vec<Activation>, KernelErrorKind> {
    let defaults = cell.activations();
    let names = match call.attributes.texts("activations")? {
        Some(names) => names,
        None => defaults.repeat(directions),
    };
    if names.len() < defaults.len() * directions {
        return invalid(format!("{} activations for {directions} directions", names.len()));
    }
    let alphas = call.attributes.floats("activation_alpha")?.unwrap_or_default();
    let betas = call.attributes.floats("activation_beta")?.unwrap_or_default();
    let made = names.iter().enumerate();
    made.map(|(at, name)| Activation::of(name, alphas.get(at).copied(), betas.get(at).copied())).collect()
}

fn recur(call: &mut Call<'_>, cell: Cell) -> Outcome {
    let batch_first = call.flag("layout", false)?;
    let directions = [("forward", (false, 1)), ("reverse", (true, 1)), ("bidirectional", (false, 2))];
    let (first, directions) = call.choice("direction", &directions)?;
    let dtype = call.tensor(0)?.dtype();
    let x = if batch_first { permute(call.tensor(0)?, &[1, 0, 2])? } else { call.tensor(0)?.clone() };
    let &[steps, batches, width] = x.shape() else { return invalid("the input is not of rank 3") };
    let r = call.tensor(2)?;
    let &[_, rows, hidden] = r.shape() else { return invalid("the recurrent weights are not of rank 3") };
    let gates = cell.gates();
    let w = call.tensor(1)?;
    if rows != gates * hidden || w.shape() != [directions, rows, width] || r.shape()[0] != directions {
        return invalid(format!("weights {:?} and {:?} do not fit {:?}", w.shape(), r.shape(), x.shape()));
    }
    let lengths = match call.integers(4)? {
        Some(lengths) => crate::shape::extents(&lengths)?,
        None => vec![steps; batches],
    };
    if lengths.len() != batches || lengths.iter().any(|length| *length > steps) {
        return invalid("the lengths of the sequences do not fit the input");
    }
    let net = Net {
        cell,
        steps,
        batches,
        width,
        hidden,
        clip: call.attributes.float("clip")?.map(f64::from),
        before_reset: call.flag("linear_before_reset", false)?,
        coupled: call.flag("input_forget", false)?,
        lengths,
    };
    let bias = sized(call, 3, directions * 2 * rows)?;
    let peepholes = if cell == Cell::Lstm { sized(call, 7, directions * 3 * hidden)? } else { None };
    let state = |index: usize| -> Result<Vec<f64>, KernelErrorKind> {
        let length = directions * batches * hidden;
        let Some(values) = sized(call, index, length)? else { return Ok(vec![0.0; length]) };
        if !batch_first {
            return Ok(values);
        }
        let given = of_f64s(typeloom_types::dtype::Dtype::F64, &[batches, directions, hidden], &values)?;
        Ok(permute(&given, &[1, 0, 2])?.to_vec()?)
    };
    let mut h = state(5)?;
    let mut c = if cell == Cell::Lstm { state(6)? } else { vec![0.0; h.len()] };
    let activations = activations(call, cell, directions)?;
    let (data, input, recurrent) = (to_f64s(&x)?, to_f64s(w)?, to_f64s(r)?);
    let mut y = vec![0.0; steps * directions * batches * hidden];
    for direction in 0..directions {
        let half = |second: usize| match &bias {
            Some(bias) => bias[(2 * direction + second) * rows..][..rows].to_vec(),
            None => vec![0.0; rows],
        };
        let count = cell.activations().len();
        let weights = Weights {
            input: &input[direction * rows * width..][..rows * width],
            state: &recurrent[direction * rows * hidden..][..rows * hidden],
            bias_input: half(0),
            bias_state: half(1),
            peepholes: peepholes.as_ref().map_or(&[], |all| &all[direction * 3 * hidden..][..3 * hidden]),
            activations: &activations[direction * count..][..count],
        };
        let lane = direction * batches * hidden..(direction + 1) * batches * hidden;
        let reverse = first || direction == 1;
        net.run(&weights, &data, reverse, &mut h[lane.clone()], &mut c[lane], |step, batch, state| {
            let at = ((step * directions + direction) * batches + batch) * hidden;
            y[at..at + hidden].copy_from_slice(state);
        })?;
    }
    let last = |values: &[f64]| -> Result<AnyTensor, KernelErrorKind> {
        let made = of_f64s(dtype, &[directions, batches, hidden], values)?;
        if batch_first { permute(&made, &[1, 0, 2]) } else { Ok(made) }
    };
    let all = of_f64s(dtype, &[steps, directions, batches, hidden], &y)?;
    let all = if batch_first { permute(&all, &[2, 0, 1, 3])? } else { all };
    let mut results = vec![all.into(), last(&h)?.into()];
    if cell == Cell::Lstm {
        results.push(last(&c)?.into());
    }
    Ok(results)
}

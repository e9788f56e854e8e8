//! Recurrent networks: `RNN`, `GRU` and `LSTM`.
//!
//! One loop computes all three operators. For each direction, one matrix product multiplies the inputs of all
//! steps with the input weights. Then each step multiplies the state with the recurrent weights, and computes
//! the next state from the sums of both products. The recurrent weights are packed before the first step, if
//! they are used often enough.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::plural::counted;

use super::layout::permute;
use super::{Operator, widened};
use crate::call::{Call, Outcome};
use crate::element::{Number, Real, check_size, from_slice, on_floats, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::lane::Lane;
use crate::fast::product::{self, Factor, Matrix, Panels};
use crate::work;

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

/// Selects the loop of an activation: sigmoid and tanh have their own loops.
#[derive(Clone, Copy)]
enum Kind {
    Sigmoid,
    Tanh,
    Other,
}

/// A function of a number and two parameters (alpha and beta).
type Function = fn(f64, f64, f64) -> f64;

/// An activation function and its parameters.
#[derive(Clone, Copy)]
struct Activation {
    kind: Kind,
    apply: Function,
    alpha: f64,
    beta: f64,
}

impl Activation {
    fn of(name: &str, alpha: Option<f32>, beta: Option<f32>) -> Result<Self, KernelErrorKind> {
        let name = name.to_lowercase();
        let kind = match &*name {
            "tanh" => Kind::Tanh,
            "sigmoid" => Kind::Sigmoid,
            _ => Kind::Other,
        };
        let (apply, defaults): (Function, (f64, f64)) = match &*name {
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
        Ok(Self { kind, apply, alpha: or(alpha, defaults.0), beta: or(beta, defaults.1) })
    }

    #[inline(always)]
    fn apply<T: Real>(self, values: &mut [T]) {
        // These are loops, because the closure of `for_each` would be compiled without the vector
        // instructions that the caller enables.
        match self.kind {
            Kind::Sigmoid => {
                for x in values {
                    *x = x.logistic();
                }
            }
            Kind::Tanh => {
                for x in values {
                    *x = x.hyperbolic_tangent();
                }
            }
            Kind::Other => {
                for x in values {
                    *x = T::of((self.apply)(Number::to_f64(*x), self.alpha, self.beta));
                }
            }
        }
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
struct Weights<'a, T> {
    input: &'a [T],
    state: &'a [T],
    bias_input: Vec<T>,
    bias_state: Vec<T>,
    peepholes: &'a [T],
    activations: &'a [Activation],
}

/// A matrix with which states are multiplied. The columns are also packed, if they are used often enough.
struct Recurrent<'a, T> {
    columns: &'a [T],
    packed: Option<Panels<T>>,
}

impl<'a, T: Lane + Factor> Recurrent<'a, T> {
    fn of(columns: &'a [T], depth: usize, uses: usize) -> Self {
        let number = columns.len().checked_div(depth).unwrap_or(0);
        let packed =
            (!product::reads_columns::<T>(uses, depth, number)).then(|| Panels::pack(columns, depth, number));
        Self { columns, packed }
    }

    fn multiply(
        &self,
        left: &[T],
        depth: usize,
        scratch: &mut Vec<T>,
        out: &mut [T],
    ) -> Result<(), KernelErrorKind> {
        if let Some(packed) = &self.packed {
            packed.multiply(left, scratch, out);
            return Ok(());
        }
        let columns = self.columns.len().checked_div(depth).unwrap_or(0);
        let rows = out.len().checked_div(columns).unwrap_or(0);
        let right = Matrix::transposed(self.columns, depth, columns);
        product::multiply(Matrix::new(left, rows, depth), right, out, T::ONE, None)
    }
}

impl Net {
    /// Applies a gate's activation to clipped sums.
    #[inline(always)]
    fn gate<T: Real>(&self, activation: Activation, sums: &mut [T]) {
        if let Some(clip) = self.clip {
            let clip = T::of(clip);
            for sum in sums.iter_mut() {
                let raised = if *sum < -clip { -clip } else { *sum };
                *sum = if raised > clip { clip } else { raised };
            }
        }
        activation.apply(sums);
    }

    /// Updates the state of a simple cell or of an LSTM for one row of the batch. `gates` are the sums of
    /// input and recurrent gates, biases included.
    #[inline(always)]
    fn next<T: Real>(&self, weights: &Weights<'_, T>, gates: &mut [T], h: &mut [T], c: &mut [T]) {
        let n = self.hidden;
        let acts = weights.activations;
        if self.cell == Cell::Rnn {
            self.gate(acts[0], gates);
            h.copy_from_slice(gates);
            return;
        }
        let (input, rest) = gates.split_at_mut(n);
        let (output, rest) = rest.split_at_mut(n);
        let (forget, cell) = rest.split_at_mut(n);
        let peep = |gate: usize, sums: &mut [T], c: &[T]| {
            if let Some(factors) = weights.peepholes.get(gate * n..(gate + 1) * n) {
                for (sum, (factor, c)) in sums.iter_mut().zip(factors.iter().zip(c)) {
                    *sum += *factor * *c;
                }
            }
        };
        peep(0, input, c);
        self.gate(acts[0], input);
        if self.coupled {
            forget.iter_mut().zip(&*input).for_each(|(forget, input)| *forget = T::ONE - *input);
        } else {
            peep(2, forget, c);
            self.gate(acts[0], forget);
        }
        self.gate(acts[1], cell);
        for (c, (forget, (input, cell))) in c.iter_mut().zip(forget.iter().zip(input.iter().zip(&*cell))) {
            *c = *forget * *c + *input * *cell;
        }
        peep(1, output, c);
        self.gate(acts[0], output);
        h.copy_from_slice(c);
        acts[2].apply(h);
        h.iter_mut().zip(&*output).for_each(|(h, output)| *h = *output * *h);
    }

    /// Runs all steps of one direction. `write` receives the step, the row and its new state.
    fn run<T: Real + Lane + Factor>(
        &self,
        weights: &Weights<'_, T>,
        x: &[T],
        reverse: bool,
        h: &mut [T],
        c: &mut [T],
        mut write: impl FnMut(usize, usize, &[T]),
    ) -> Result<(), KernelErrorKind> {
        let n = self.hidden;
        let rows = self.cell.gates() * n;
        let tokens = self.steps * self.batches;
        let mut gates = vec![T::ZERO; tokens * rows];
        let input = Matrix::transposed(weights.input, self.width, rows);
        product::multiply(Matrix::new(x, tokens, self.width), input, &mut gates, T::ONE, None)?;
        for row in gates.chunks_exact_mut(rows.max(1)) {
            row.iter_mut().zip(&weights.bias_input).for_each(|(gate, bias)| *gate += *bias);
        }
        // Unless `linear_before_reset` is set, a GRU multiplies the state with the candidate's weights after
        // the reset: `later` contains these weights, `now` the weights of the first two gates.
        let early = if self.cell == Cell::Gru && !self.before_reset { 2 * n } else { rows };
        let (now, later) = weights.state.split_at(early * n);
        let (now, later) = (Recurrent::of(now, n, tokens), Recurrent::of(later, n, tokens));
        let mut scratch = Vec::new();
        let mut of_state = vec![T::ZERO; self.batches * early];
        let (mut gated, mut candidates) = (vec![T::ZERO; n], vec![T::ZERO; n]);
        for turn in 0..self.steps {
            now.multiply(h, n, &mut scratch, &mut of_state)?;
            for (batch, of_state) in of_state.chunks_exact_mut(early.max(1)).enumerate() {
                let length = self.lengths[batch];
                if turn >= length {
                    continue;
                }
                let step = if reverse { length - 1 - turn } else { turn };
                let token = &gates[(step * self.batches + batch) * rows..][..rows];
                let lane = batch * n..(batch + 1) * n;
                let (h, c) = (&mut h[lane.clone()], &mut c[lane]);
                let added = if self.cell == Cell::Gru { 2 * n } else { rows };
                widest(
                    #[inline(always)]
                    || {
                        let sums = of_state.iter_mut().zip(&weights.bias_state).enumerate();
                        for (at, (sum, bias)) in sums {
                            *sum += *bias;
                            if at < added {
                                *sum += token[at];
                            }
                        }
                        if self.cell == Cell::Gru {
                            self.gate(weights.activations[0], &mut of_state[..2 * n]);
                        } else {
                            self.next(weights, of_state, h, c);
                        }
                    },
                );
                if self.cell == Cell::Gru {
                    let (update, rest) = of_state.split_at(n);
                    let (reset, third) = rest.split_at(n);
                    if self.before_reset {
                        candidates
                            .iter_mut()
                            .zip(reset.iter().zip(third))
                            .for_each(|(to, (a, b))| *to = *a * *b);
                    } else {
                        gated.iter_mut().zip(reset.iter().zip(&*h)).for_each(|(to, (a, b))| *to = *a * *b);
                        later.multiply(&gated, n, &mut scratch, &mut candidates)?;
                        let biases = &weights.bias_state[2 * n..];
                        candidates.iter_mut().zip(biases).for_each(|(sum, bias)| *sum += *bias);
                    }
                    widest(
                        #[inline(always)]
                        || {
                            let inputs = &token[2 * n..];
                            candidates.iter_mut().zip(inputs).for_each(|(sum, input)| *sum += *input);
                            self.gate(weights.activations[1], &mut candidates);
                            for (h, (update, candidate)) in h.iter_mut().zip(update.iter().zip(&candidates)) {
                                *h = (T::ONE - *update) * *candidate + *update * *h;
                            }
                        },
                    );
                }
                write(step, batch, h);
            }
        }
        Ok(())
    }
}

/// Elements of an optional input, which must have `length` elements.
fn sized<'c, T: Real>(
    call: &'c Call<'_>,
    index: usize,
    length: usize,
) -> Result<Option<&'c [T]>, KernelErrorKind> {
    let Some(tensor) = call.optional(index)? else { return Ok(None) };
    if tensor.len() != length {
        return invalid(format!(
            "input {index} of shape {:?} does not have {}",
            tensor.shape(),
            counted(length, "element")
        ));
    }
    Ok(Some(tensor.as_slice::<T>()?))
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
    on_floats!(call.tensor(0)?.dtype(), T => recur_in::<T>(call, cell))
}

fn recur_in<T: Real + Lane + Factor>(call: &mut Call<'_>, cell: Cell) -> Outcome {
    let batch_first = call.flag("layout", false)?;
    let directions = [("forward", (false, 1)), ("reverse", (true, 1)), ("bidirectional", (false, 2))];
    let (only_reverse, directions) = call.choice("direction", &directions)?;
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
    let bias = sized::<T>(call, 3, directions * 2 * rows)?;
    let peepholes = if cell == Cell::Lstm { sized::<T>(call, 7, directions * 3 * hidden)? } else { None };
    let state = |index: usize| -> Result<Vec<T>, KernelErrorKind> {
        let length = directions * batches * hidden;
        let Some(values) = sized::<T>(call, index, length)? else { return Ok(vec![T::ZERO; length]) };
        if !batch_first {
            return Ok(values.to_vec());
        }
        let given = from_slice::<T>(&[batches, directions, hidden], values)?;
        Ok(permute(&given, &[1, 0, 2])?.to_vec()?)
    };
    let mut h = state(5)?;
    let mut c = if cell == Cell::Lstm { state(6)? } else { vec![T::ZERO; h.len()] };
    let activations = activations(call, cell, directions)?;
    work::spend_products(x.dtype(), &[directions, steps, batches, rows, width.saturating_add(hidden)])?;
    // For each element of the gates: its sums and its activation.
    work::spend_each(&[directions, steps, batches, rows, 8])?;
    check_size(&[steps, batches, rows], size_of::<T>())?;
    check_size(&[steps, directions, batches, hidden], size_of::<T>())?;
    let (data, input, recurrent) = (x.as_slice::<T>()?, w.as_slice::<T>()?, r.as_slice::<T>()?);
    let mut y = vec![T::ZERO; steps * directions * batches * hidden];
    for direction in 0..directions {
        let half = |second: usize| match &bias {
            Some(bias) => bias[(2 * direction + second) * rows..][..rows].to_vec(),
            None => vec![T::ZERO; rows],
        };
        let count = cell.activations().len();
        let weights = Weights {
            input: &input[direction * rows * width..][..rows * width],
            state: &recurrent[direction * rows * hidden..][..rows * hidden],
            bias_input: half(0),
            bias_state: half(1),
            peepholes: peepholes.map_or(&[], |all| &all[direction * 3 * hidden..][..3 * hidden]),
            activations: &activations[direction * count..][..count],
        };
        let lane = direction * batches * hidden..(direction + 1) * batches * hidden;
        let reverse = only_reverse || direction == 1;
        net.run(&weights, data, reverse, &mut h[lane.clone()], &mut c[lane], |step, batch, state| {
            let at = ((step * directions + direction) * batches + batch) * hidden;
            y[at..at + hidden].copy_from_slice(state);
        })?;
    }
    let last = |values: &[T]| -> Result<AnyTensor, KernelErrorKind> {
        let made = from_slice::<T>(&[directions, batches, hidden], values)?;
        if batch_first { permute(&made, &[1, 0, 2]) } else { Ok(made) }
    };
    let all = from_slice::<T>(&[steps, directions, batches, hidden], &y)?;
    let all = if batch_first { permute(&all, &[2, 0, 1, 3])? } else { all };
    let mut results = vec![all.into(), last(&h)?.into()];
    if cell == Cell::Lstm {
        results.push(last(&c)?.into());
    }
    Ok(results)
}

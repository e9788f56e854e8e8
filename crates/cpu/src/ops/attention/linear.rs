//! Linear attention: a recurrent state that every token updates.
//!
//! Heads are independent: each computes all tokens, while its state is in the caches. Tensors of `double` are
//! computed in `f64`, all others in `f32`, as ONNX Runtime does. In `com.microsoft`, several heads of keys
//! may share a head of queries, and `state_window` keeps the states after the last tokens.

use std::borrow::Cow;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{MIN_PARALLEL, heads};
use crate::call::{Call, Outcome};
use crate::element::{Real, build_over, check_size, of_f64s, to_f64s, vectorised};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::memory::scratch;
use crate::movement::reshape;
use crate::ops::layout::permute;
use crate::work;

pub(super) fn linear_attention(call: &mut Call<'_>) -> Outcome {
    match call.tensor(0)?.dtype() {
        Dtype::F64 => compute::<f64>(call),
        _ => compute::<f32>(call),
    }
}

/// The elements of a tensor, converted if they have another type.
fn elements<T: Real>(x: &AnyTensor) -> Result<Cow<'_, [T]>, KernelErrorKind> {
    if x.dtype() == T::DTYPE {
        return Ok(Cow::Borrowed(x.as_slice()?));
    }
    Ok(to_f64s(x)?.into_iter().map(T::from_f64).collect())
}

/// A tensor of `T`, converted if it must have another type.
fn converted<T: Real>(dtype: Dtype, x: AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
    if dtype == T::DTYPE { Ok(x) } else { of_f64s(dtype, x.shape(), &to_f64s(&x)?) }
}

/// Elements for each token, and their number.
type PerToken<'a, T> = (Cow<'a, [T]>, usize);

fn per_token<'c, T: Real>(
    call: &'c Call<'_>,
    index: usize,
    tokens: usize,
    widths: [usize; 2],
) -> Result<PerToken<'c, T>, KernelErrorKind> {
    let tensor = call.optional(index)?.ok_or(KernelErrorKind::MissingInput(index))?;
    let width = tensor.shape().last().copied().unwrap_or(0);
    if !widths.contains(&width) || tensor.len() != tokens * width {
        return invalid(format!("input {index} has the shape {:?}", tensor.shape()));
    }
    Ok((elements(tensor)?, width))
}

fn compute<T: Real>(call: &Call<'_>) -> Outcome {
    let (q, k, v) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let (&[batches, length, q_width], &[_, _, k_width], &[_, _, v_width]) = (q.shape(), k.shape(), v.shape())
    else {
        return invalid("query, key and value are not of rank 3");
    };
    let query_heads = heads(call, "q_num_heads", q_width)?;
    let heads = heads(call, "kv_num_heads", k_width)?;
    let (keys, values) = (k_width / heads, v_width / heads);
    let rules = [
        ("gated_delta", (true, true)),
        ("linear", (false, false)),
        ("gated", (true, false)),
        ("delta", (false, true)),
    ];
    let (gated, delta) = call.choice("update_rule", &rules)?;
    check_size(&[batches, length], size_of::<T>())?;
    let tokens = batches * length;
    let fits = (query_heads % heads == 0 || heads % query_heads == 0)
        && q_width / query_heads == keys
        && v_width % heads == 0
        && k.len() == tokens * k_width
        && v.len() == tokens * v_width;
    if !fits {
        return invalid("query, key and value do not fit the numbers of heads");
    }
    let Ok(window) = usize::try_from(call.int("state_window", 0)?) else {
        return invalid("`state_window` is negative");
    };
    let mut state_shape = if window > 0 { vec![window] } else { Vec::new() };
    state_shape.extend([batches, heads, keys, values]);
    check_size(&state_shape, size_of::<T>())?;
    let past = call.optional(3)?;
    if let Some(past) = past.filter(|past| past.shape() != state_shape) {
        return invalid(format!("the state has the shape {:?}, not {state_shape:?}", past.shape()));
    }
    let past_elements = past.map(elements::<T>).transpose()?;
    let mut states = build_over::<T>(&state_shape, |states| match &past_elements {
        Some(past) => states.copy_from_slice(past),
        None => states.fill(T::ZERO),
    })?;
    let scale = match call.float("scale", 0.0)? {
        0.0 => T::ONE / T::of(keys as f64).sqrt(),
        scale => T::of(f64::from(scale)),
    };
    let results = query_heads.max(heads);
    let recurrence = Recurrence {
        q: &elements(q)?,
        k: &elements(k)?,
        v: &elements(v)?,
        decay: gated.then(|| per_token(call, 4, tokens, [heads, heads * keys])).transpose()?,
        beta: delta.then(|| per_token(call, 5, tokens, [heads, 1])).transpose()?,
        length,
        query_heads,
        heads,
        results,
        keys,
        values,
        scale,
    };
    let y = recurrence.run(batches, window, states.as_mut_slice()?)?;
    let y = reshape(permute(&y, &[0, 2, 1, 3])?, &[batches, length, results * values])?;
    let state_type = past.map_or(q.dtype(), AnyTensor::dtype);
    Ok(vec![converted::<T>(q.dtype(), y)?.into(), converted::<T>(state_type, states)?.into()])
}

struct Recurrence<'a, T: Real> {
    q: &'a [T],
    k: &'a [T],
    v: &'a [T],
    /// Logarithms of factors of the state: for each head, or for each row of its state.
    decay: Option<PerToken<'a, T>>,
    /// Rates of the change: one, or one for each head.
    beta: Option<PerToken<'a, T>>,
    /// Number of tokens of a batch.
    length: usize,
    query_heads: usize,
    /// Number of heads of keys and values, each of which has a state.
    heads: usize,
    /// Number of heads of the result.
    results: usize,
    /// Width of a key, and number of rows of a state.
    keys: usize,
    /// Width of a value, and of a row of a state.
    values: usize,
    scale: T,
}

/// The change of the state of a head by one token.
struct Step<'s, T> {
    key: &'s [T],
    value: &'s [T],
    /// Factor of each row of the state before the change.
    factors: &'s [T],
    rate: T,
    /// Whether the change is the difference of the value to that in the state.
    is_delta: bool,
}

impl<T: Real> Recurrence<'_, T> {
    /// The results of all tokens: `[batch, head, token, element]`. `states` become those after the last ones.
    fn run(&self, batches: usize, window: usize, states: &mut [T]) -> Result<AnyTensor, KernelErrorKind> {
        let Self { length, heads, results, keys, values, .. } = *self;
        let (cells, shared) = (keys * values, results / heads);
        let one_state = batches * heads * cells;
        let (before, state) = states.split_at_mut(states.len() - one_state);
        // The states before the last tokens of each head.
        let kept = window.saturating_sub(1).min(length);
        work::spend_each(&[one_state, length, 2 + shared])?;
        let mut history = scratch(T::ZERO, kept.saturating_mul(one_state))?;
        let mut y = build_over::<T>(&[batches, results, length, values], |y| y.fill(T::ZERO))?;
        let mut histories = history.chunks_exact_mut((kept * cells).max(1));
        let tasks: Vec<_> = state
            .chunks_exact_mut(cells.max(1))
            .zip(y.as_mut_slice::<T>()?.chunks_exact_mut((shared * length * values).max(1)))
            .enumerate()
            .map(|(lane, (state, out))| (lane, state, histories.next().unwrap_or_default(), out))
            .collect();
        let compute = |(lane, state, history, out): (usize, &mut [T], &mut [T], &mut [T])| {
            vectorised::<T, _>(
                #[inline(always)]
                || self.lane(lane, state, history, out),
            );
            Ok(())
        };
        if threads::should_split(one_state * length * (2 + shared), MIN_PARALLEL) {
            threads::try_run_all(tasks, &compute)?;
        } else {
            tasks.into_iter().try_for_each(compute)?;
        }
        // The window moves by the number of tokens.
        before.copy_within(kept * one_state.., 0);
        let start = before.len() - kept * one_state;
        for (at, state) in before[start..].chunks_exact_mut(cells.max(1)).enumerate() {
            let (step, lane) = (at / (batches * heads), at % (batches * heads));
            state.copy_from_slice(&history[(lane * kept + step) * cells..][..cells]);
        }
        Ok(y)
    }

    /// Computes all tokens of one head of a batch.
    #[inline(always)]
    fn lane(&self, lane: usize, state: &mut [T], history: &mut [T], out: &mut [T]) {
        let Self { length, query_heads, heads, results, keys, values, .. } = *self;
        let (batch, head, cells, shared) = (lane / heads, lane % heads, keys * values, results / heads);
        let kept = history.len().checked_div(cells).unwrap_or(0);
        let mut factors = vec![T::ONE; keys];
        for step in 0..length {
            if let Some(at) = (step + kept).checked_sub(length) {
                history[at * cells..][..cells].copy_from_slice(state);
            }
            let token = batch * length + step;
            match &self.decay {
                Some((decay, width)) if *width == heads => {
                    factors.fill(decay[token * width + head].exponential());
                }
                Some((decay, width)) => {
                    let decay = &decay[token * width + head * keys..][..keys];
                    factors.iter_mut().zip(decay).for_each(|(factor, decay)| *factor = decay.exponential());
                }
                None => {}
            }
            let rate = match &self.beta {
                Some((beta, width)) => beta[token * width + if *width == 1 { 0 } else { head }],
                None => T::ONE,
            };
            let change = Step {
                key: &self.k[(token * heads + head) * keys..][..keys],
                value: &self.v[(token * heads + head) * values..][..values],
                factors: &factors,
                rate,
                is_delta: self.beta.is_some(),
            };
            // The results of this head: one for each query head that shares it, or one of several heads for a
            // query head.
            for at in 0..shared {
                let query_head = (head * shared + at) * query_heads / results;
                let query = &self.q[(token * query_heads + query_head) * keys..][..keys];
                let change = (at == 0).then_some(&change);
                let out = &mut out[(at * length + step) * values..][..values];
                let mut from = 0;
                while from + 16 <= values {
                    self.columns::<16>(change, query, state, from, out);
                    from += 16;
                }
                while from < values {
                    self.columns::<1>(change, query, state, from, out);
                    from += 1;
                }
            }
        }
    }

    /// Changes `W` columns of a state, and reads a query's result from them. Sums stay in registers.
    #[inline(always)]
    fn columns<const W: usize>(
        &self,
        change: Option<&Step<'_, T>>,
        query: &[T],
        state: &mut [T],
        from: usize,
        out: &mut [T],
    ) {
        let mut sums = [T::ZERO; W];
        if let Some(step) = change {
            if step.is_delta {
                let weights = step.key.iter().zip(step.factors);
                for (row, (key, factor)) in state.chunks_exact(self.values).zip(weights) {
                    if let Some(cells) = row[from..].first_chunk::<W>() {
                        sums = plus(sums, *key * *factor, *cells);
                    }
                }
            }
            let mut changes = [T::ZERO; W];
            for (change, (value, sum)) in changes.iter_mut().zip(step.value[from..].iter().zip(sums)) {
                *change = step.rate * (*value - sum);
            }
            sums = [T::ZERO; W];
            let weights = step.key.iter().zip(step.factors).zip(query);
            for (row, ((key, factor), query)) in state.chunks_exact_mut(self.values).zip(weights) {
                if let Some(cells) = row[from..].first_chunk_mut::<W>() {
                    let next = plus(times(*factor, *cells), *key, changes);
                    sums = plus(sums, self.scale * *query, next);
                    *cells = next;
                }
            }
        } else {
            for (row, query) in state.chunks_exact(self.values).zip(query) {
                if let Some(cells) = row[from..].first_chunk::<W>() {
                    sums = plus(sums, self.scale * *query, *cells);
                }
            }
        }
        out[from..from + W].copy_from_slice(&sums);
    }
}

/// `factor * x`.
#[inline(always)]
fn times<T: Real, const W: usize>(factor: T, x: [T; W]) -> [T; W] {
    std::array::from_fn(|at| factor * x[at])
}

/// `sum + factor * x`.
#[inline(always)]
fn plus<T: Real, const W: usize>(sum: [T; W], factor: T, x: [T; W]) -> [T; W] {
    std::array::from_fn(|at| sum[at] + factor * x[at])
}

//! Recurrent layers: RNN, GRU, LSTM.
//!
//! With `D` directions, `G` gates and `H` hidden values, and `layout` 0:
//!
//! | | shape | | shape |
//! |---|---|---|---|
//! | X | `[steps, batch, inputs]` | sequence_lens | `[batch]` |
//! | W | `[D, G*H, inputs]` | initial_h, initial_c | `[D, batch, H]` |
//! | R | `[D, G*H, H]` | P | `[D, 3*H]` |
//! | B | `[D, 2*G*H]` | Y | `[steps, D, batch, H]` |
//! | | | Y_h, Y_c | `[D, batch, H]` |
//!
//! With `layout` 1, the batch axis is the first one in X, Y and the states.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, Rule, RuleCx, RuleError, RuleResult};

use super::Entry;
use super::common::{Deferred, Shared, choice, meet_axes, set_extents};

#[cfg(test)]
mod tests;

/// Source: RNN, "Inputs" and "Outputs", `direction`, `hidden_size`, `layout`.
const RNN: Rule = Rule { name: "rnn.states", run: |cx| recurrent(cx, 1) };
/// Source: GRU, "Inputs" and "Outputs", `direction`, `hidden_size`, `layout`.
const GRU: Rule = Rule { name: "gru.states", run: |cx| recurrent(cx, 3) };
/// Source: LSTM, "Inputs" and "Outputs", `direction`, `hidden_size`, `layout`.
const LSTM: Rule = Rule { name: "lstm.states", run: |cx| recurrent(cx, 4) };

pub(super) const OPERATORS: &[Entry] =
    &[Entry::of("GRU", &[GRU]), Entry::of("LSTM", &[LSTM]), Entry::of("RNN", &[RNN])];

/// Extents shared by the ports.
struct Extents {
    steps: Shared,
    batch: Shared,
    inputs: Shared,
    hidden: Shared,
}

/// The positions of the axes of inputs and outputs.
#[derive(Clone, Copy)]
struct Layout {
    steps: usize,
    batch: usize,
    /// In the states: direction and batch.
    state: [usize; 2],
    /// In Y: step, direction and batch.
    all: [usize; 3],
}

const STEPS_FIRST: Layout = Layout { steps: 0, batch: 1, state: [0, 1], all: [0, 1, 2] };
const BATCH_FIRST: Layout = Layout { steps: 1, batch: 0, state: [1, 0], all: [1, 2, 0] };

fn recurrent(cx: &mut RuleCx<'_, '_>, gates: i64) -> RuleResult {
    let layout = layout(cx)?;
    let directions = directions(cx)?;
    let mut extents = Extents {
        steps: Shared::new("are the steps"),
        batch: Shared::new("are the batch"),
        inputs: Shared::new("are the inputs of a step"),
        hidden: Shared::new("are the hidden size"),
    };
    let mut errors = Deferred::default();
    errors.note(hidden_size(cx, gates, &mut extents));
    errors.note(inputs(cx, layout, &mut extents));
    errors.note(weights(cx, gates, directions, &mut extents));
    errors.note(states(cx, layout, gates, directions, &mut extents));
    outputs(cx, layout, directions, &extents)?;
    errors.finish()
}

fn layout(cx: &RuleCx<'_, '_>) -> RuleResult<Layout> {
    match cx.attr_int("layout")? {
        None | Some(0) => Ok(STEPS_FIRST),
        Some(1) => Ok(BATCH_FIRST),
        Some(other) => Err(RuleError::attribute("layout", format!("is {other}, but must be 0 or 1"))),
    }
}

/// Number of directions. The schema's default is not used, because version 1 of GRU misspells it.
fn directions(cx: &mut RuleCx<'_, '_>) -> RuleResult<DimId> {
    let counts = [("forward", 1), ("reverse", 1), ("bidirectional", 2)];
    let count = if cx.has_attr("direction")? { choice(cx, "direction", &counts)? } else { None };
    Ok(cx.dims().constant(count.unwrap_or(1)))
}

/// The hidden size: the attribute, or the extent of the recurrence weights.
fn hidden_size(cx: &mut RuleCx<'_, '_>, gates: i64, extents: &mut Extents) -> RuleResult {
    if cx.attr_int("hidden_size")?.is_some() {
        let size = cx.attr_at_least("hidden_size", 1, 1)?;
        let size = cx.dims().constant(size);
        extents.hidden.meet(cx, (Out(0), size))?;
    }
    if let Some(recurrence) = cx.shape_of_rank(In(2), 3..=3)? {
        return extents.hidden.meet(cx, (In(2), 2, recurrence[2]));
    }
    if extents.hidden.get().is_none()
        && let Some(weights) = cx.shape(In(1))
        && weights.len() == 3
    {
        let gates = cx.dims().constant(gates);
        if let Some(hidden) = cx.dims().div_exact(weights[1], gates) {
            extents.hidden.meet(cx, (In(1), hidden))?;
        }
    }
    Ok(())
}

const GATES: &str = "is the hidden size times the number of gates";
const DIRECTIONS: &str = "is the number of directions";

fn inputs(cx: &mut RuleCx<'_, '_>, layout: Layout, extents: &mut Extents) -> RuleResult {
    if let Some(input) = cx.shape_of_rank(In(0), 3..=3)? {
        extents.steps.meet(cx, (In(0), layout.steps, input[layout.steps]))?;
        extents.batch.meet(cx, (In(0), layout.batch, input[layout.batch]))?;
        extents.inputs.meet(cx, (In(0), 2, input[2]))?;
    }
    meet_axes(cx, In(4), &mut [&mut extents.batch])
}

fn weights(cx: &mut RuleCx<'_, '_>, gates: i64, directions: DimId, extents: &mut Extents) -> RuleResult {
    for (port, rank, times) in [(In(1), 3, gates), (In(2), 3, gates), (In(3), 2, 2 * gates)] {
        let Some(shape) = cx.shape_of_rank(port, rank..=rank)? else { continue };
        cx.require_equal((port, 0, shape[0]), directions, DIRECTIONS)?;
        gate_values(cx, port, shape[1], times, extents)?;
        if port == In(1) {
            extents.inputs.meet(cx, (port, 2, shape[2]))?;
        }
    }
    Ok(())
}

/// Requires axis 1 of a port to have this number of values per hidden value.
fn gate_values(cx: &mut RuleCx<'_, '_>, port: Port, dim: DimId, times: i64, extents: &Extents) -> RuleResult {
    let Some(hidden) = extents.hidden.get() else { return Ok(()) };
    let expected = cx.scaled(hidden, times);
    cx.require_equal((port, 1, dim), expected, GATES).map(drop)
}

fn states(
    cx: &mut RuleCx<'_, '_>,
    layout: Layout,
    gates: i64,
    directions: DimId,
    extents: &mut Extents,
) -> RuleResult {
    // Only LSTM has a cell and peepholes.
    let cell = (gates == 4).then_some(In(6));
    let [at_directions, at_batch] = layout.state;
    for port in std::iter::once(In(5)).chain(cell) {
        let Some(state) = cx.shape_of_rank(port, 3..=3)? else { continue };
        cx.require_equal((port, at_directions, state[at_directions]), directions, DIRECTIONS)?;
        extents.batch.meet(cx, (port, at_batch, state[at_batch]))?;
        extents.hidden.meet(cx, (port, 2, state[2]))?;
    }
    if cell.is_some()
        && let Some(peepholes) = cx.shape_of_rank(In(7), 2..=2)?
    {
        cx.require_equal((In(7), 0, peepholes[0]), directions, DIRECTIONS)?;
        gate_values(cx, In(7), peepholes[1], 3, extents)?;
    }
    Ok(())
}

fn outputs(cx: &mut RuleCx<'_, '_>, layout: Layout, directions: DimId, extents: &Extents) -> RuleResult {
    let [steps, _, batch] = layout.all;
    if cx.has(Out(0)) {
        let mut shape = [Some(directions); 4];
        shape[steps] = extents.steps.get();
        shape[batch] = extents.batch.get();
        shape[3] = extents.hidden.get();
        set_extents(cx, Out(0), shape)?;
    }
    for port in [Out(1), Out(2)] {
        if cx.has(port) {
            let mut shape = [Some(directions); 3];
            shape[layout.state[1]] = extents.batch.get();
            shape[2] = extents.hidden.get();
            set_extents(cx, port, shape)?;
        }
    }
    Ok(())
}

//! Layers with a state instead of a cache: LinearAttention, CausalConvWithState.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, RuleCx, RuleError, RuleResult};

use super::{BATCH, HEADS, QUERY_HEADS, SIZE, grouped, positive, set, share};
use crate::rules::common::{Shared, choice, meet_axes};

const PAST_STATE: Port = In(3);
const DECAY: Port = In(4);
const BETA: Port = In(5);
const PRESENT_STATE: Port = Out(1);

/// The state is a matrix per head, keys by values; `update_rule` determines the gates. Source:
/// LinearAttention, "Inputs" and "Outputs", `update_rule`, `q_num_heads`, `kv_num_heads`.
pub(super) fn linear_attention(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    gates(cx)?;
    // The state has the type of the past state, or in the first step of the query.
    if !cx.has(PAST_STATE) {
        cx.same_elem(In(0), PRESENT_STATE)?;
    }
    let (query_count, count) = (positive(cx, "q_num_heads")?, positive(cx, "kv_num_heads")?);
    let [mut batch, mut steps, mut query_heads, mut heads] = [BATCH, STEPS, QUERY_HEADS, HEADS];
    let [mut size, mut value_size] = [SIZE; 2];
    for (shared, count) in [(&mut query_heads, query_count), (&mut heads, count)] {
        let count = cx.dims().constant(count);
        shared.meet(cx, (PRESENT_STATE, count))?;
    }
    grouped(cx, In(0), query_heads, heads)?;
    for (port, count) in [(In(0), query_count), (In(1), count), (In(2), count)] {
        let Some(shape) = cx.shape_of_rank(port, 3..=3)? else { continue };
        batch.meet(cx, (port, 0, shape[0]))?;
        steps.meet(cx, (port, 1, shape[1]))?;
        if let Some(one) = share(cx, port, shape[2], count)? {
            if port == In(2) { &mut value_size } else { &mut size }.meet(cx, one)?;
        }
    }
    meet_axes(cx, PAST_STATE, &mut [&mut batch, &mut heads, &mut size, &mut value_size])?;
    for port in [DECAY, BETA] {
        let Some(shape) = cx.shape_of_rank(port, 3..=3)? else { continue };
        batch.meet(cx, (port, 0, shape[0]))?;
        steps.meet(cx, (port, 1, shape[1]))?;
    }
    gate_extents(cx, count, size)?;
    set(cx, PRESENT_STATE, &[batch, heads, size, value_size])?;
    let mut hidden = SIZE;
    if let Some(size) = value_size.get() {
        let packed = cx.scaled(size, query_count);
        hidden.meet(cx, (Out(0), packed))?;
    }
    set(cx, Out(0), &[batch, steps, hidden])
}

/// Requires the gates of an update rule: decay and update rate.
fn gates(cx: &RuleCx<'_, '_>) -> RuleResult {
    let rule = cx.attr_str("update_rule")?.unwrap_or("gated_delta");
    let rules = [
        ("linear", (false, false)),
        ("gated", (true, false)),
        ("delta", (false, true)),
        ("gated_delta", (true, true)),
    ];
    let (decay, beta) = choice(cx, "update_rule", &rules)?.unwrap_or((true, true));
    for (port, takes, name) in [(DECAY, decay, "a decay"), (BETA, beta, "an update rate")] {
        if cx.has(port) != takes {
            let verb = if takes { "needs" } else { "takes no" };
            let name = if takes { name } else { name.trim_start_matches("a ").trim_start_matches("an ") };
            return Err(RuleError::attribute("update_rule", format!("is `{rule}`, which {verb} {name}")));
        }
    }
    Ok(())
}

/// The decay is per head, or per element of its keys; the update rate is a single one, or per head.
fn gate_extents(cx: &mut RuleCx<'_, '_>, heads: i64, size: Shared) -> RuleResult {
    let last = |cx: &mut RuleCx<'_, '_>, port| cx.shape(port).and_then(|shape| cx.const_dim(shape[2]));
    if let Some(decay) = last(cx, DECAY) {
        let size = size.get().and_then(|size| cx.const_dim(size));
        let fits = match size {
            Some(size) => heads.checked_mul(size) == Some(decay),
            None => decay % heads == 0,
        };
        if decay != heads && !fits {
            let message = format!("the last axis must be the {heads} heads, or all numbers of their keys");
            return Err(RuleError::shapes(&[DECAY], message));
        }
    }
    match last(cx, BETA) {
        Some(beta) if beta != 1 && beta != heads => {
            Err(RuleError::shapes(&[BETA], format!("the last axis must be 1 or the {heads} heads")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Each channel has its own kernel, and the state is the end of the input that the next step needs. Source:
/// CausalConvWithState, "Inputs" and "Outputs", `activation`.
pub(super) fn causal_conv(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    choice(cx, "activation", &[("none", ()), ("silu", ()), ("swish", ())])?;
    cx.same_shape(In(0), Out(0))?;
    let [mut batch, mut channels, mut state] = [BATCH, CHANNELS, STATE];
    meet_axes(cx, In(0), &mut [&mut batch, &mut channels, &mut Shared::new("are the elements")])?;
    if let Some(kernel) = cx.shape_of_rank(In(1), 3..=3)? {
        channels.meet(cx, (In(1), 0, kernel[0]))?;
        cx.require_equal(
            (In(1), 1, kernel[1]),
            DimId::ONE,
            "is the number of channels of a depthwise kernel",
        )?;
        if cx.const_dim(kernel[2]) == Some(0) {
            return Err(RuleError::shapes(&[In(1)], "the kernel is empty"));
        }
        let seen = cx.dims().sub(kernel[2], DimId::ONE);
        state.meet(cx, (In(1), seen))?;
    }
    meet_axes(cx, In(2), &mut [&mut channels])?;
    meet_axes(cx, In(3), &mut [&mut batch, &mut channels, &mut state])?;
    set(cx, Out(1), &[batch, channels, state])
}

const CHANNELS: Shared = Shared::new("are the channels");
const STATE: Shared = Shared::new("are the elements that the next step needs");
const STEPS: Shared = Shared::new("are the steps");

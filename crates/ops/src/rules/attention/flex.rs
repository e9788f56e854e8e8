//! FlexAttention: attention with graphs that modify the scores and the probabilities.

use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::Elem;
use typeloom_solver::program::GraphId;
use typeloom_solver::rule::Port::{BodyIn, BodyOut, In, Out};
use typeloom_solver::rule::{Control, Exit, ExitRule, GraphTypes, Rule, RuleCx, RuleError, RuleResult};

use super::{Extents, grouped, set, softmax_precision, unpacked};
use crate::rules::common::{Deferred, Shared};
use crate::rules::control_flow::require_count;

/// As Attention with four axes. Source: FlexAttention, "Input Shapes", "Output Shape".
pub(super) const RULE: Rule = Rule { name: "flexattention.heads", run: heads };

pub(super) const CONTROL: Control = Control {
    // Source: FlexAttention, "Modifier Subgraphs", `softmax_precision`.
    enter: Rule { name: "flexattention.modifiers", run: enter },
    exit: ExitRule { name: "flexattention.modified", run: exit },
    graphs: GraphTypes::Check,
};

fn heads(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let extents = extents(cx)?;
    softmax_precision(cx)?;
    set(cx, Out(0), &[extents.batch, extents.query_heads, extents.queries, extents.value_size])
}

fn extents(cx: &mut RuleCx<'_, '_>) -> RuleResult<Extents> {
    for port in [In(0), In(1), In(2)] {
        cx.require_rank(port, 4..=4)?;
    }
    let mut extents = Extents::UNKNOWN;
    let mut errors = Deferred::default();
    unpacked(cx, &mut extents, &mut errors);
    errors.note(grouped(cx, In(0), extents.query_heads, extents.heads));
    errors.finish()?;
    Ok(extents)
}

fn modifiers(cx: &RuleCx<'_, '_>) -> impl Iterator<Item = GraphId> + use<> {
    [cx.body("score_mod"), cx.body("prob_mod")].into_iter().flatten()
}

/// Scores: one number per query head, query and key, in the precision of the softmax.
fn enter(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let extents = extents(cx)?;
    let precision = match softmax_precision(cx)? {
        Some(precision) => Some(precision),
        None => cx.elem(In(0)).map(|elem| if elem == Elem::DOUBLE { Elem::DOUBLE } else { Elem::FLOAT }),
    };
    let known = [extents.batch, extents.query_heads, extents.queries, extents.keys].map(Shared::get);
    let scores: Option<DimVec> = known.into_iter().collect();
    for graph in modifiers(cx) {
        require_count(graph, "inputs", cx.body_inputs(graph), 1)?;
        require_count(graph, "outputs", cx.body_outputs(graph), 1)?;
        if let Some(precision) = precision {
            cx.set_elem(BodyIn(graph, 0), precision)?;
            cx.set_elem(BodyOut(graph, 0), precision)?;
        }
        cx.assume_shape(BodyIn(graph, 0), scores.clone());
    }
    Ok(())
}

/// A modifier preserves the shape of its input.
fn exit(cx: &mut RuleCx<'_, '_>) -> RuleResult<Exit> {
    for graph in modifiers(cx) {
        cx.same_type(BodyIn(graph, 0), BodyOut(graph, 0))?;
        cx.require_rank(BodyOut(graph, 0), 4..=4)?;
        let (first, last) = (BodyIn(graph, 0), BodyOut(graph, 0));
        let (Some(before), Some(after)) = (cx.shape(first), cx.shape(last)) else { continue };
        if before.len() != after.len() {
            return Err(RuleError::shapes(&[first, last], "a modifier must keep the number of axes"));
        }
        cx.require_equal_axes((first, &before), (last, &after), 0..before.len(), "are kept by a modifier")?;
    }
    heads(cx)?;
    Ok(Exit::Done)
}

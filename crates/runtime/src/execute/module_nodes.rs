//! Nodes that occur in compiled modules only.

use std::mem::take;

use smallvec::smallvec;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::Element;

use super::{Inputs, Results, Run, catch_panic, nested, structural};
use crate::components::Args;
use crate::error::{ComponentError, NodeError};
use crate::plan::{ModuleNode, Plan, PlanStep};

/// Runs a node, which can move its inputs out of `inputs`.
pub(super) fn run(
    run: &Run<'_>,
    plan: &Plan,
    step: &PlanStep,
    node: &ModuleNode,
    inputs: &mut Inputs,
) -> Result<Results, NodeError> {
    match node {
        ModuleNode::Method(method) => {
            for (used, input) in step.inputs.iter().zip(&*inputs) {
                let Some(slot) = used.map(|used| plan.slot(used.slot)) else { continue };
                let Some(input) = input else { return Err(NodeError::NoValue(slot.name.clone())) };
                // A received bundle is not checked on receipt.
                if matches!(slot.ty.element, Element::Composite(_)) {
                    let wrong = |mismatch| NodeError::Mismatch { value: slot.name.clone(), mismatch };
                    run.symbols.clone().check(input, &slot.ty).map_err(wrong)?;
                }
            }
            let outputs = |output: usize| {
                let slot = step.outputs.get(output).copied().flatten()?;
                Some(&plan.slot(slot).ty)
            };
            let args = Args { inputs, outputs: &outputs, symbols: &run.symbols };
            let results =
                catch_panic(NodeError::ComponentPanicked, || method(&args).map_err(NodeError::from))?;
            let (expected, found) = (step.outputs.len(), results.len());
            if expected != found {
                return Err(ComponentError::Count { expected, found }.into());
            }
            Ok(results)
        }
        ModuleNode::Identity => Ok(smallvec![first(inputs)?]),
        ModuleNode::Cast(to) => {
            let input = first(inputs)?;
            Ok(smallvec![catch_panic(NodeError::ComponentPanicked, || structural::cast(input, to))?])
        }
        ModuleNode::Bundle { keys } => Ok(smallvec![structural::bundle(keys, take(inputs))?]),
        ModuleNode::Unbundle { keys } => structural::unbundle(keys, take(inputs)).map(Results::from_vec),
        ModuleNode::PeerList(operator) => {
            let run = || structural::peer_list(operator, take(inputs));
            Ok(smallvec![catch_panic(NodeError::ComponentPanicked, run)?])
        }
        ModuleNode::Send(_) | ModuleNode::Receive(_) => {
            Err(NodeError::Structure("only parts send and receive values".to_owned()))
        }
        ModuleNode::Call(program) => program(take(inputs), run.verify).map(Results::from_vec).map_err(nested),
    }
}

fn first(inputs: &mut Inputs) -> Result<Datum, NodeError> {
    let first = inputs.first_mut().and_then(Option::take);
    Ok(first.ok_or(ComponentError::Missing(0))?)
}

//! Runs the nodes that models do not have: components, and what moves values and computes nothing.

use std::mem::take;

use smallvec::smallvec;

use super::error::StepFault;
use super::plan::{Data, Own};
use super::structural;
use crate::components::{Args, ComponentFault};
use crate::error::NodeFault;
use crate::execute::{Given, Results, Run, guarded};
use crate::flow::Flow;
use crate::plan::{Plan, Step};
use typeloom_wire::datum::Datum;

/// The newest operators: what is computed on lists of peers has no version of its own.
const STRUCTURAL_VERSION: i64 = 18;

pub(super) fn own(
    run: &mut Run<'_, Data>,
    plan: &Plan<Data>,
    step: &Step<Data>,
    own: &Own,
    inputs: &mut Given<Data>,
) -> Result<Results<Data>, StepFault> {
    match own {
        Own::Method(method) => {
            for (used, input) in step.inputs.iter().zip(&*inputs) {
                if let (Some(used), None) = (used, input) {
                    return Err(NodeFault::NoValue(plan.slot(used.slot).name.clone()).into());
                }
            }
            let outputs = |output: usize| {
                let slot = step.outputs.get(output).copied().flatten()?;
                Some(&*plan.slot(slot).proved)
            };
            let args = Args { inputs, outputs: &outputs, symbols: &run.symbols };
            let results = guarded(StepFault::Panicked, || method(&args).map_err(StepFault::from))?;
            let (expected, found) = (step.outputs.len(), results.len());
            if expected != found {
                return Err(ComponentFault::Count { expected, found }.into());
            }
            Ok(results)
        }
        Own::Pass => Ok(smallvec![first(inputs)?]),
        Own::Cast { to } => {
            let input = first(inputs)?;
            Ok(smallvec![guarded(StepFault::Panicked, || structural::cast(input, to))?])
        }
        Own::Bundle { keys } => Ok(smallvec![structural::bundle(keys, take(inputs))?]),
        Own::Unbundle { keys } => structural::unbundle(keys, take(inputs)).map(Results::<Data>::from_vec),
        Own::Peers(op) => {
            let peers = || structural::peers(op, STRUCTURAL_VERSION, take(inputs));
            Ok(smallvec![guarded(StepFault::Panicked, peers)?])
        }
        Own::Send(_) | Own::Receive(_) => {
            Err(StepFault::Structure("values are sent and received by parts alone".to_owned()))
        }
        Own::Call(program) => {
            program.call(take(inputs), run.verify).map(Results::<Data>::from_vec).map_err(Data::inside)
        }
    }
}

fn first(inputs: &mut Given<Data>) -> Result<Datum, StepFault> {
    let first = inputs.first_mut().and_then(Option::take);
    first.ok_or(StepFault::Component(ComponentFault::Missing(0)))
}

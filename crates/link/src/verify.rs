//! The interface that the result must have, and the check of the result.
//!
//! The expected interface is computed from the interfaces of the two models and the unified symbols, without
//! the result. So an error in the names, symbols or records of the result shows as a difference.

use std::collections::HashMap;
use std::sync::Arc;

use typeloom_dim::{Condition, DimId};
use typeloom_interface::{Interface, InterfaceDifference, Parameter, PortIdentity, compare};
use typeloom_pool::compat::{Direction, PathStep};
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::universe::Universe;

use crate::error::LinkError;
use crate::map::{Joint, positions};
use crate::plan::{Plan, Port};
use crate::source::Source;
use crate::symbols::SymbolPlan;
use crate::unify::Unifier;

/// The interface of the result, and the types of connected outputs.
pub(crate) struct Expected {
    interface: Interface,
    outputs: HashMap<String, Type>,
}

/// Replaces the extents of a type.
fn map_extents(ty: &Type, replace: &mut dyn FnMut(DimId) -> DimId) -> Type {
    let tensor = |tensor: &TensorType, replace: &mut dyn FnMut(DimId) -> DimId| TensorType {
        elem: tensor.elem,
        shape: tensor.shape.as_deref().map(|shape| shape.iter().map(|dim| replace(*dim)).collect()),
    };
    let (constructors, inner) = ty.split();
    let inner = match inner {
        Type::Tensor(it) => Type::Tensor(tensor(it, replace)),
        Type::Sparse(it) => Type::Sparse(tensor(it, replace)),
        // The nesting of types is bounded.
        Type::Composite(composite) => Type::Composite(composite.map(|child| map_extents(child, replace))),
        other => other.clone(),
    };
    Type::within(constructors, inner)
}

pub(crate) fn expected(
    unifier: &mut Unifier<'_, '_>,
    symbols: &SymbolPlan,
    models: [&Source<'_>; 2],
    joints: &[Joint],
    plan: &Plan,
) -> Expected {
    let mut unnamed: HashMap<DimId, DimId> =
        symbols.named.iter().map(|(leaf, name)| (*leaf, *name)).collect();
    let mut extent = |unifier: &mut Unifier<'_, '_>, model: usize, dim: DimId| {
        let dim = if model == 0 { unifier.first_dim(dim) } else { unifier.second_dim(dim) };
        let hidden: Vec<DimId> =
            unifier.dims.symbols_of(dim).into_iter().filter(|leaf| unifier.is_hidden(*leaf)).collect();
        let values: Vec<(DimId, DimId)> = hidden
            .into_iter()
            .map(|leaf| (leaf, *unnamed.entry(leaf).or_insert_with(|| unifier.dims.fresh())))
            .collect();
        unifier.dims.substitute(dim, &values)
    };
    let mut parameters =
        |unifier: &mut Unifier<'_, '_>, ports: &[Port], is_input: bool| -> Vec<Parameter> {
            let mut listed = Vec::new();
            let lists = models.map(|source| {
                if is_input { &source.interface.inputs[..] } else { &source.interface.outputs[..] }
            });
            let known = lists.map(positions);
            for port in ports {
                // A constant that is listed as an input is not part of the interface.
                let Some(at) = known[port.model].get(port.own.as_str()) else { continue };
                let own = &lists[port.model][*at];
                let ty = map_extents(&own.ty, &mut |dim| extent(unifier, port.model, dim));
                listed.push(Parameter {
                    name: port.name.clone(),
                    ty,
                    optional: own.optional,
                    assumed: own.assumed,
                });
            }
            listed
        };
    let inputs = parameters(unifier, &plan.inputs, true);
    let mut returned = parameters(unifier, &plan.outputs, false);
    let by_input: HashMap<&str, usize> =
        joints.iter().enumerate().map(|(at, joint)| (joint.connection.input.as_str(), at)).collect();
    for (output, port) in returned.iter_mut().zip(&plan.outputs) {
        // A returned input has the type of the output that it is connected to, unless that is cast.
        let joint = by_input.get(port.own.as_str()).copied().filter(|_| port.model == 1);
        if let Some(at) = joint.filter(|at| !unifier.casts.contains_key(at)) {
            let given = joints[at].output(models[0]);
            output.ty = map_extents(&given.ty, &mut |dim| extent(unifier, 0, dim));
        }
    }
    let mut outputs = HashMap::new();
    for joint in joints {
        let output = joint.output(models[0]);
        let ty = map_extents(&output.ty, &mut |dim| extent(unifier, 0, dim));
        outputs.insert(output.name.clone(), ty);
    }
    let mut conditions = Vec::new();
    for (model, source) in models.into_iter().enumerate() {
        for condition in &source.interface.conditions {
            let [left, right] = [condition.left, condition.right].map(|dim| extent(unifier, model, dim));
            conditions.push(Condition { relation: condition.relation, left, right });
        }
    }
    let universe = Arc::clone(&models[0].interface.universe);
    let dims = unifier.dims.clone();
    Expected { interface: Interface { inputs, outputs: returned, conditions, dims, universe }, outputs }
}

/// The type of an output of the first model in the result.
pub(crate) fn type_of_output(expected: &Expected, output: &str) -> String {
    expected.outputs.get(output).map(|ty| expected.interface.show(ty)).unwrap_or_default()
}

/// The interface of a checked result.
pub(crate) struct Verified {
    pub(crate) interface: Interface,
    /// The declared types of outputs that the models assume and the result refutes.
    pub(crate) refuted: Vec<String>,
}

/// Checks the result and compares its interface.
pub(crate) fn verify(
    skeleton: &[u8],
    expected: &Expected,
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    mode: Mode,
) -> Result<Verified, LinkError> {
    let options = Options { mode, ..Options::default() };
    let file = || "the joined model".to_owned();
    let mut checked = check(skeleton, catalogue, universe, &options)
        .map_err(|error| LinkError::Check { file: file(), error })?;
    if !checked.is_ok() {
        return Err(LinkError::IllTypedResult { diagnostics: diagnose(&mut checked) });
    }
    let actual = Interface::of_checked(&mut checked);
    let comparison =
        compare(&expected.interface, &actual, Direction::Backward, PortIdentity::NameAndPosition);
    // The nodes of the second model can require more of known extents than of unknown ones.
    let is_condition =
        |difference: &InterfaceDifference| difference.path.0.first() == Some(&PathStep::Part("conditions"));
    let (mut breaking, mut refuted) = (Vec::new(), Vec::new());
    for difference in &comparison.differences {
        if !comparison.is_breaking(difference) || is_condition(difference) {
            continue;
        }
        // A declaration that nothing proves in its own model can be refuted by what the other model proves.
        if is_assumed(expected, difference) {
            refuted.push(format!(
                "{} is {}, as its model declares: the result computes {}",
                difference.path, difference.old, difference.new
            ));
        } else {
            breaking.push(difference.clone());
        }
    }
    if breaking.is_empty() {
        Ok(Verified { interface: actual, refuted })
    } else {
        Err(LinkError::Interface(breaking))
    }
}

/// Whether a difference concerns an output whose expected type is an assumed declaration.
fn is_assumed(expected: &Expected, difference: &InterfaceDifference) -> bool {
    let [PathStep::Part("outputs"), PathStep::Field(name), ..] = &difference.path.0[..] else { return false };
    expected.interface.outputs.iter().any(|it| it.assumed && it.name == *name)
}

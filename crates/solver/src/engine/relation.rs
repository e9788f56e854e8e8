//! Relations of plainly declared operators ([`AtomicOpDecl`]).
//!
//! A relation runs in a [`RuleCx`] like a rule, so its types use the union-find and its shapes the worklist
//! of all operators. [`element`] and [`shapes`] implement the built-in relations; [`custom`] connects custom
//! ones to the node.
//!
//! Algorithm: within one node, relations run until none of them narrows a port that another one can use. Only
//! a difference in the knowledge about a port counts, not the result of a custom relation, so the number of
//! rounds is bounded. Between nodes, the worklist of [`crate::engine`] applies.
//!
//! **Invariant:** the order of a declaration's relations does not affect the result.
//!
//! **Invariant:** a node never wakes itself: one run reaches the fixed point of the node.

mod composite;
mod custom;
pub(crate) mod element;
mod instantiate;
mod shapes;

#[cfg(test)]
mod tests;

use smallvec::SmallVec;
use typeloom_dim::shape::DimVec;
use typeloom_types::op::{AtomicOpDecl, PortArity, PortDecl};
use typeloom_types::relation::{PortRef, RelationError, TypeRelation};

use crate::catalogue::DeclaredRule;
use crate::engine::schema::side_arity;
use crate::program::StepId;
use crate::rule::{Port, RuleCx, RuleError};
use crate::signature::Arity;
use crate::solve_error::{Side, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;
use crate::ty::{Clash, TypeKnowledge};
use custom::Waits;

pub(crate) use element::assume_kinds;

/// The name of the rule that checks the declared bound of a port.
const PORT_BOUND: &str = "port-bound";

/// The ports of a relation at one node.
type Ports = SmallVec<[Port; 4]>;

/// The knowledge about a port. It is equal until the port is narrowed.
type Knowledge = (Option<TypeKnowledge>, Option<DimVec>);

/// Checks a node against its declaration and narrows its ports.
pub(crate) fn run<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    step: StepId,
    decl: &'static AtomicOpDecl,
    also: Option<DeclaredRule>,
) -> Result<(), SolveErrorKind<'a>> {
    arity(frame, step, decl)?;
    let mut cx = RuleCx::new(core, frame, step, None, PORT_BOUND);
    let result = bounds(&mut cx, decl).and_then(|()| {
        if let Some(DeclaredRule { name, run }) = also {
            cx.set_rule(name);
            run(&mut cx, decl).map_err(|failure| SolveErrorKind::of_rule(name, failure))?;
        }
        run_to_fixed_point(&mut cx, decl.type_relations)
    });
    let own = cx.waiter();
    cx.types().forget_woken(own);
    result
}

/// Checks the number of inputs and outputs against the declaration.
fn arity<'a>(frame: &Frame<'a>, step: StepId, decl: &'static AtomicOpDecl) -> Result<(), SolveErrorKind<'a>> {
    let port = |port: &'static PortDecl| {
        let arity = match port.arity {
            PortArity::Required => Arity::Required,
            PortArity::Optional => Arity::Optional,
            PortArity::Variadic => Arity::Variadic { min: 0, homogeneous: false },
        };
        (port.name, arity)
    };
    side_arity(Side::Inputs, frame.body.inputs(step), decl.inputs.iter().map(port))?;
    let outputs = frame.body.outputs(frame.body.last_step(step));
    side_arity(Side::Outputs, outputs, decl.outputs.iter().map(port))
}

/// Narrows every port to the node of the tree in its declaration.
fn bounds<'a>(cx: &mut RuleCx<'_, 'a>, decl: &'static AtomicOpDecl) -> Result<(), SolveErrorKind<'a>> {
    for port in ports(cx) {
        let declared = match port {
            Port::In(at) => decl.input(at),
            Port::Out(at) => decl.output(at),
            Port::BodyIn(..) | Port::BodyOut(..) => None,
        };
        // The root of the tree does not limit a type.
        if let Some(declared) = declared.filter(|declared| declared.bound.parent.is_some()) {
            bound(cx, port, declared)?;
        }
    }
    Ok(())
}

fn bound<'a>(
    cx: &mut RuleCx<'_, 'a>,
    port: Port,
    declared: &'static PortDecl,
) -> Result<(), SolveErrorKind<'a>> {
    let Some(node) = cx.tables().types.universe().lattice().number_of(declared.bound) else {
        if !cx.has(port) {
            return Ok(());
        }
        let PortDecl { name, bound, arity: _ } = declared;
        let message = format!("the declaration of port `{name}` names a type that the tree does not have");
        let failure = RelationError::new(message, port.to_ref(), "a type of the tree", bound.id);
        return Err(SolveErrorKind::Relation { relation: PORT_BOUND, failure });
    };
    cx.narrow_to_node(port, node).map_err(|Clash| {
        SolveErrorKind::of_rule(PORT_BOUND, RuleError::Kind { port, expected: declared.bound.id })
    })
}

/// Runs the relations of a node to their fixed point.
fn run_to_fixed_point<'a>(
    cx: &mut RuleCx<'_, 'a>,
    relations: &'static [TypeRelation],
) -> Result<(), SolveErrorKind<'a>> {
    let mut due: SmallVec<[bool; 4]> = SmallVec::from_elem(true, relations.len());
    let mut known = knowledge(cx);
    while let Some(at) = due.iter().position(|due| *due) {
        let relation = &relations[at];
        cx.set_rule(relation.name());
        let mut waits = Waits::No;
        let related = match *relation {
            TypeRelation::SameType(ports) => {
                let ports = expand(cx, ports);
                composite::pass(cx, &ports);
                unify(cx, &ports).and_then(|()| shapes::same(cx, &ports))
            }
            TypeRelation::SameElementType(ports) => element::same_element(cx, &expand(cx, ports)),
            TypeRelation::BroadcastShape { in0, in1, out } => {
                shapes::broadcast(cx, first(in0), first(in1), first(out))
            }
            TypeRelation::Elementwise { input, output } => elementwise(cx, &expand(cx, &[input, output])),
            TypeRelation::ReduceOver { input, output } => reduce_over(cx, first(input), first(output)),
            TypeRelation::Custom { name, run } => {
                waits = custom::run(cx, name, run)?;
                Ok(())
            }
        };
        related.map_err(|failure| SolveErrorKind::of_rule(relation.name(), failure))?;
        let now = knowledge(cx);
        let is_narrowed = now != known;
        // Waiting for an unknown type creates its variable.
        let now = if waits == Waits::Yes {
            custom::wait(cx);
            knowledge(cx)
        } else {
            now
        };
        if !is_narrowed {
            known = now;
            due[at] = false;
        } else {
            known = now;
            due.fill(true);
            // A custom relation may be able to use its own narrowing in another run.
            due[at] = matches!(relation, TypeRelation::Custom { .. });
        }
    }
    Ok(())
}

/// The ports of the node outside its nested graphs.
fn ports(cx: &RuleCx<'_, '_>) -> impl Iterator<Item = Port> + use<> {
    (0..cx.input_count()).map(Port::In).chain((0..cx.output_count()).map(Port::Out))
}

fn knowledge(cx: &mut RuleCx<'_, '_>) -> SmallVec<[Knowledge; 4]> {
    ports(cx).map(|port| knowledge_at(cx, port)).collect()
}

fn knowledge_at(cx: &mut RuleCx<'_, '_>, port: Port) -> Knowledge {
    // An unknown type stays without a variable, so that the outputs of a failed relation become errors.
    (cx.known_ty(port).map(|ty| cx.types().knowledge(ty)), cx.shape(port))
}

/// Unifies types with elements, and the shapes.
fn elementwise(cx: &mut RuleCx<'_, '_>, ports: &[Port]) -> Result<(), RuleError> {
    unify(cx, ports)?;
    let Some(first) = ports.first() else { return Ok(()) };
    element::require(cx, *first)?;
    shapes::same(cx, ports)
}

/// Relates element types, and the shapes without the reduced axes.
fn reduce_over(cx: &mut RuleCx<'_, '_>, input: Port, output: Port) -> Result<(), RuleError> {
    let ports: Ports = [input, output].into_iter().filter(|port| cx.has(*port)).collect();
    element::same_element(cx, &ports)?;
    shapes::reduce(cx, input, output)
}

fn unify(cx: &mut RuleCx<'_, '_>, ports: &[Port]) -> Result<(), RuleError> {
    let Some((first, rest)) = ports.split_first() else { return Ok(()) };
    rest.iter().try_for_each(|port| cx.same_type(*first, *port))
}

/// The ports that are present at the node, with a variadic rest expanded.
fn expand(cx: &RuleCx<'_, '_>, ports: &[PortRef]) -> Ports {
    let (inputs, outputs) = (cx.input_count(), cx.output_count());
    let single = ports.iter().flat_map(|port| port.expand(inputs, outputs));
    single.filter_map(Port::of_ref).filter(|port| cx.has(*port)).collect()
}

/// The port of a relation between single ports; the first port of a variadic rest.
fn first(port: PortRef) -> Port {
    match port {
        PortRef::Input(at) | PortRef::InputsFrom(at) => Port::In(at),
        PortRef::Output(at) | PortRef::OutputsFrom(at) => Port::Out(at),
    }
}

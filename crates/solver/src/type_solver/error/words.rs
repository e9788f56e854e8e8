//! From the engine's faults, which name steps and values by number, to errors that own what they say.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_types::relation::PortRef;

use super::{ConstraintFailure, ConstraintSide, NodeLabel, TypeCause, TypeError, side_name};
use crate::fault::{Fault, FaultKind, Place};
use crate::model::Checked;
use crate::program::{StepId, ValueId};
use crate::relation::{port_ref, tree_name};
use crate::rule::{Extent, Failure, Port};
use crate::solution::Type;
use crate::trace::Cause;
use crate::ty::Types;
use crate::type_solver::{SeedType, TypeSolver};

/// From how many leaves on the possible ones are not listed.
const MAX_POSSIBLE: u32 = 8;

/// Everything that a solve found wrong.
pub(in crate::type_solver) fn of_faults(solver: &TypeSolver, checked: Checked<'_>) -> TypeError {
    let faults = checked.faults().to_vec();
    let mut words = Words { solver, checked, told: BTreeSet::new() };
    TypeError::several(faults.into_iter().map(|fault| words.error(fault)).collect())
}

/// Turns numbers into names.
struct Words<'s, 'a> {
    solver: &'s TypeSolver,
    checked: Checked<'a>,
    /// The values whose fault was told already.
    told: BTreeSet<ValueId>,
}

impl Words<'_, '_> {
    fn error(&mut self, fault: Fault<'_>) -> TypeError {
        let Fault { place, kind } = fault;
        let step = match place {
            Place::Step(step) => Some(step),
            Place::Body | Place::Graph(_) | Place::Value(_) => None,
        };
        let node = step.map(|step| self.node(step));
        match (kind, node, step) {
            (FaultKind::Rule { rule, failure }, Some(node), Some(step)) => {
                self.rule(node, step, rule, failure)
            }
            (FaultKind::Relation { relation, failure }, Some(node), Some(step)) => {
                let sides = failure.ports.iter().filter_map(|port| self.side(step, single(*port)?)).collect();
                let message = failure.to_string();
                constraint(node, relation, message, sides)
            }
            (FaultKind::UnknownOperator { near, domain_unknown: _ }, Some(node), _) => {
                TypeError::UnknownOperator { node, near }
            }
            (FaultKind::MissingPort { port, name }, Some(node), _) => {
                let port = port_ref(port).unwrap_or(PortRef::Input(0));
                TypeError::MissingPort { node, port, name: name.to_owned() }
            }
            (FaultKind::SurplusPorts { side, given, most }, Some(node), _) => {
                TypeError::SurplusPorts { node, side, given, most }
            }
            (FaultKind::Unresolved { value, known, possible }, _, _) => {
                let universe = Arc::clone(self.checked.universe());
                let leaf = |elem| Some(universe.lattice().node(universe.tensor_leaf(elem)?)?.id.to_owned());
                let few = possible.filter(|set| set.len() < MAX_POSSIBLE).unwrap_or_default();
                TypeError::UnresolvedType {
                    value: self.value(value),
                    bound: tree_name(&known, &universe),
                    possible: few.iter().filter_map(leaf).collect(),
                }
            }
            (FaultKind::SeedContradicts { seed, found }, _, _) => TypeError::SeedContradicts {
                value: self.value_at(place),
                seed: self.ty(&seed),
                found: self.ty(&found),
            },
            (FaultKind::Contradiction { declared, inferred, .. }, _, _) => {
                TypeError::DeclarationContradicts {
                    value: self.value_at(place),
                    declared: self.ty(&declared),
                    inferred: self.ty(&inferred),
                }
            }
            (kind, node, _) => TypeError::InvalidGraph { node, message: self.structure(&kind) },
        }
    }

    fn rule(&mut self, node: NodeLabel, step: StepId, rule: &str, failure: Failure) -> TypeError {
        let mut ports = SmallVec::<[Port; 4]>::new();
        let message = match failure {
            Failure::Types { left, right } => {
                ports.extend([left, right]);
                let (left, right) = (port_name(left), port_name(right));
                let what = if rule == "same-type" { "type" } else { "element type" };
                format!("{left} and {right} have one {what}")
            }
            Failure::Element { port, allowed } => {
                ports.push(port);
                let universe = self.checked.universe();
                let names: Vec<_> = allowed.iter().map(|elem| universe.elem_name(elem)).collect();
                format!("the element type of {} is {}", port_name(port), names.join(" or "))
            }
            Failure::Kind { port, expected } => {
                ports.push(port);
                format!("{} is {expected}", port_name(port))
            }
            Failure::Rank { port, found, least, most } => {
                ports.push(port);
                let most = most.map_or_else(|| "more".to_owned(), |most| most.to_string());
                format!("{} has {least} to {most} axes, not {found}", port_name(port))
            }
            Failure::Dims { left, right, relation } => {
                ports.extend([left.port, right.port]);
                ports.dedup();
                let (left, right) = (self.extent(left), self.extent(right));
                format!("{left} and {right} {relation}")
            }
            Failure::Attribute { name, message } => format!("attribute `{name}` {message}"),
            Failure::Value { port, message } => {
                ports.push(port);
                format!("the value at {} {message}", port_name(port))
            }
            Failure::Shapes { ports: all, message } => {
                ports.extend(all);
                message
            }
            Failure::Contradiction { port, message, .. } => {
                ports.push(port);
                message
            }
            Failure::Body { graph: _, message } => message,
            Failure::Relation(failure) => {
                ports.extend(failure.ports.iter().map(|port| match port {
                    PortRef::Input(at) | PortRef::InputsFrom(at) => Port::In(*at),
                    PortRef::Output(at) | PortRef::OutputsFrom(at) => Port::Out(*at),
                }));
                failure.message
            }
            Failure::Malformed(error) => error.to_string(),
        };
        let sides = ports.into_iter().filter_map(|port| self.side(step, port)).collect();
        constraint(node, rule, message, sides)
    }

    fn side(&mut self, step: StepId, port: Port) -> Option<ConstraintSide> {
        let body = Arc::clone(&self.checked.frame.body);
        let value = match port {
            Port::In(at) => body.inputs(step).get(at).copied().flatten()?,
            Port::Out(at) => body.outputs(body.last_step(step)).get(at).copied().flatten()?,
            Port::BodyIn(..) | Port::BodyOut(..) => return None,
        };
        let ty = self.checked.type_of(value);
        let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref());
        let shape = shape.map(|shape| crate::shape::display(self.checked.dims(), shape).to_string());
        Some(ConstraintSide {
            port: port_ref(port)?,
            value: self.value(value),
            ty: self.ty(&ty),
            shape,
            cause: self.cause(value, step),
        })
    }

    /// Where a value's type comes from, not by way of the node where it does not fit.
    fn cause(&mut self, value: ValueId, not_by: StepId) -> Option<TypeCause> {
        let frame = self.checked.frame.number;
        let chain =
            self.checked.core.trace.as_ref().and_then(|trace| trace.explain(frame, value, Some(not_by)));
        let Some(chain) = chain else { return self.bounding_seed(value) };
        let end = chain.links.last().map_or(value, |link| link.value);
        match chain.cause {
            Cause::Seed => self.seed(end),
            Cause::Declared(list) => Some(TypeCause::Declared { value: self.value(end), list }),
            Cause::Initializer => Some(TypeCause::Constant { value: self.value(end) }),
            Cause::Rule { step, rule } => {
                let relation = rule.to_owned();
                Some(TypeCause::Node { value: self.value(end), node: self.node(step), relation })
            }
            Cause::Argument => None,
        }
    }

    /// An abstract seed of a value that is tied to this one.
    fn bounding_seed(&mut self, value: ValueId) -> Option<TypeCause> {
        let Checked { core, frame, .. } = &mut self.checked;
        let class = |types: &mut Types, value: ValueId| {
            let inner = frame.slots[value.index()].ty.map(|ty| types.innermost(ty))?;
            Some(types.class(inner))
        };
        let own = class(&mut core.types, value)?;
        let seeded = frame.seeded.clone();
        let tied = seeded
            .into_iter()
            .find(|other| *other == value || class(&mut core.types, *other) == Some(own))?;
        self.seed(tied)
    }

    fn seed(&mut self, value: ValueId) -> Option<TypeCause> {
        let name = self.value(value);
        let seeds = || self.solver.seeds.iter().filter(|seed| seed.value == name);
        // What the caller says comes before what the graph declares.
        let seed = seeds().find(|seed| seed.declared_in.is_none()).or_else(|| seeds().next())?;
        Some(match (seed.declared_in, &seed.ty) {
            (Some(list), _) => TypeCause::Declared { value: name, list },
            (None, SeedType::Node(id)) => TypeCause::Seed { ty: id.clone(), value: name },
            (None, SeedType::Onnx(_)) => {
                let known = self.checked.type_of(value);
                TypeCause::Seed { ty: self.ty(&known), value: name }
            }
        })
    }

    /// Faults of the graph's structure, and those that no graph of plain declarations has.
    fn structure(&self, kind: &FaultKind<'_>) -> String {
        match kind {
            FaultKind::Malformed(error) => error.to_string(),
            FaultKind::NestingTooDeep => "graphs are nested too deep".into(),
            FaultKind::UndefinedValue { value, .. } => format!("nothing makes `{}`", self.value(*value)),
            FaultKind::UsedBeforeMade { value, .. } => {
                format!("`{}` is read before it is made", self.value(*value))
            }
            FaultKind::Cycle { steps } => {
                let names: Vec<_> =
                    steps.iter().map(|(_, value)| format!("`{}`", self.value(*value))).collect();
                format!("nodes wait for each other, over {}", names.join(", "))
            }
            FaultKind::DuplicateValue { first, .. } => format!("`{}` is made twice", self.value(*first)),
            FaultKind::UndefinedOutput { value } => {
                format!("nothing makes the output `{}`", self.value(*value))
            }
            FaultKind::EmptyShape { value, .. } => {
                format!("`{}` is declared without axes and has some", self.value(*value))
            }
            FaultKind::PlaceholderDim { value, axis, mark, .. } => {
                format!("axis {axis} of `{}` is named `{mark}`", self.value(*value))
            }
            FaultKind::NegativeDim { axis, extent, .. } => format!("axis {axis} has the extent {extent}"),
            FaultKind::DefaultContradicts { declared, found } => {
                format!("a default is {}, and declared as {}", self.ty(found), self.ty(declared))
            }
            FaultKind::NewerOperator { since, .. } => format!("the operator exists from version {since} on"),
            FaultKind::MissingOpset => "the version of the operator's domain is not known".into(),
            FaultKind::DeprecatedOperator { since } => {
                format!("the operator was withdrawn in version {since}")
            }
            FaultKind::MissingAttribute { name, .. } => format!("attribute `{name}` is left out"),
            FaultKind::UnknownAttribute { name, .. } => format!("there is no attribute `{name}`"),
            FaultKind::AttributeKind { name, expected, .. } => {
                format!("attribute `{name}` is not of kind {}", expected.name())
            }
            FaultKind::Disagree { variable, .. } => format!("ports of `{variable}` have different types"),
            FaultKind::NotAllowed { found, .. } => format!("{} is not allowed there", self.ty(found)),
            FaultKind::CallArity { side, given, most } => {
                format!("a call has {given} {}, and the function {most}", side_name(*side))
            }
            FaultKind::RecursiveFunction { path, hidden: _ } => {
                format!("functions call each other: {}", path.join(", "))
            }
            FaultKind::ForcedSymbol { values, equation, .. } => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("a symbol can only be {}, by {}", values.join(" or "), equation.rule)
            }
            FaultKind::Restricted { equation, .. } => {
                format!("a symbol is restricted by {}", equation.rule)
            }
            FaultKind::NarrowedInput { axis, extent, .. } => {
                format!("axis {axis} of an input can only be {extent}")
            }
            FaultKind::Assumed { .. } => "a declared shape is neither confirmed nor refuted".into(),
            FaultKind::ForcedEquality { equation, .. } => {
                format!("two symbols can only be equal, by {}", equation.rule)
            }
            FaultKind::RefutedClaim(claim) => {
                format!("axis {} does not always have the declared extent", claim.axis)
            }
            FaultKind::MissingExternalData { reason } => reason.clone(),
            FaultKind::AttributeChoice { name, found, .. } => {
                format!("attribute `{name}` cannot be `{found}`")
            }
            FaultKind::CallOutputs { given, has } => {
                format!("a call has {given} outputs, and the function {has}")
            }
            FaultKind::CallInput { name, .. } => format!("a function needs its input `{name}`"),
            FaultKind::TooManyInstances { most } => {
                format!("a function is called with more than {most} different types")
            }
            FaultKind::IrVersion { found, .. } => format!("IR version {found} is not known"),
            FaultKind::NewerOpset { domain, imported, .. } => {
                format!("version {imported} of domain `{domain}` is not known")
            }
            FaultKind::LimitReached { value, limit } => {
                format!("the type of `{}` is not known: {}", self.value(*value), limit.reason())
            }
            FaultKind::DuplicateNodeName { name, .. } => format!("several nodes are named `{name}`"),
            FaultKind::ExtentOverflow { value } => {
                format!("`{}` has more elements than 64 bits can count", self.value(*value))
            }
            FaultKind::InCase { fault, .. } => self.structure(fault),
            FaultKind::Rule { rule, .. } => format!("{rule} does not hold"),
            FaultKind::Relation { failure, .. } => failure.to_string(),
            FaultKind::UnknownOperator { .. } => "the operator has no declaration".into(),
            FaultKind::MissingPort { name, .. } => format!("`{name}` is left out"),
            FaultKind::SurplusPorts { side, .. } => format!("there are too many {}", side_name(*side)),
            FaultKind::Unresolved { value, .. } => {
                format!("the type of `{}` is not settled", self.value(*value))
            }
            FaultKind::SeedContradicts { seed, found } => {
                format!("a seed is {}, and the value {}", self.ty(seed), self.ty(found))
            }
            FaultKind::Contradiction { declared, inferred, .. } => {
                format!("a value is declared as {}, and is {}", self.ty(declared), self.ty(inferred))
            }
        }
    }

    fn node(&self, step: StepId) -> NodeLabel {
        let body = self.checked.body();
        let record = body.step(step);
        let position = record.position as usize;
        let outermost = record.graph == body.root();
        NodeLabel {
            name: record.node.name().unwrap_or_default().to_owned(),
            op_type: body.op_name(step).to_owned(),
            position: if outermost { self.solver.fragment.position(position) } else { position },
        }
    }

    fn value(&self, value: ValueId) -> String {
        self.checked.body().value_name(value).to_owned()
    }

    /// The value that a fault about a value is about.
    fn value_at(&mut self, place: Place) -> String {
        let faults = self.checked.frame.value_faults.iter();
        let here = faults.filter(|(_, fault)| fault.place == place).map(|(value, _)| *value);
        let next = here.into_iter().find(|value| !self.told.contains(value));
        self.told.extend(next);
        next.map_or_else(String::new, |value| self.value(value))
    }

    fn ty(&self, ty: &Type) -> String {
        tree_name(ty, self.checked.universe())
    }

    fn extent(&self, extent: Extent) -> String {
        let Extent { port, axis, dim } = extent;
        let dim = self.checked.dims().display(dim);
        match axis {
            Some(axis) => format!("{dim} (axis {axis} of {})", port_name(port)),
            None => dim.to_string(),
        }
    }
}

fn constraint(node: NodeLabel, relation: &str, message: String, sides: Vec<ConstraintSide>) -> TypeError {
    let relation = relation.to_owned();
    TypeError::ConstraintFailed(Box::new(ConstraintFailure { node, relation, message, sides }))
}

fn single(port: PortRef) -> Option<Port> {
    match port {
        PortRef::Input(at) => Some(Port::In(at)),
        PortRef::Output(at) => Some(Port::Out(at)),
        PortRef::InputsFrom(_) | PortRef::OutputsFrom(_) => None,
    }
}

fn port_name(port: Port) -> String {
    port_ref(port).map_or_else(|| "a nested graph".to_owned(), |port| port.to_string())
}

//! Converts the errors of the engine, which refer to ids, to errors that own their names.

use std::collections::BTreeSet;
use std::sync::Arc;

use typeloom_types::relation::PortRef;

use super::{ConstraintFailure, ConstraintSide, NodeLabel, TypeCause, TypeError};
use crate::diagnostic::{Diagnostic, axes_text, diagnose_one, subject};
use crate::model::{Checked, Seed};
use crate::program::{StepId, ValueId};
use crate::rule::tree::tree_name;
use crate::rule::{Extent, Port, RuleError};
use crate::solution::Type;
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::trace::Cause;
use crate::ty::Types;
use crate::type_solver::TypeSolver;

/// The maximum number of listed possible leaves.
const MAX_POSSIBLE: u32 = 7;

/// All errors of a solve.
pub(in crate::type_solver) fn from_checked(solver: &TypeSolver, checked: Checked<'_>) -> TypeError {
    let errors = checked.errors().to_vec();
    let mut converter = Converter { solver, checked, reported: BTreeSet::new() };
    TypeError::several(errors.into_iter().map(|error| converter.error(error)).collect())
}

struct Converter<'s, 'a> {
    solver: &'s TypeSolver,
    checked: Checked<'a>,
    /// The values whose error is reported already.
    reported: BTreeSet<ValueId>,
}

impl<'a> Converter<'_, 'a> {
    fn error(&mut self, error: SolveError<'a>) -> TypeError {
        let site = error.site;
        let step = site.step();
        let node = step.map(|step| self.node(step));
        match (error.kind.clone(), node, step) {
            (SolveErrorKind::Rule { rule, failure }, Some(node), Some(step)) => {
                self.rule(node, step, rule, failure)
            }
            (SolveErrorKind::Relation { relation, failure }, Some(node), Some(step)) => {
                let sides =
                    failure.ports.iter().filter_map(|port| self.side(step, Port::of_ref(*port)?)).collect();
                let message = failure.to_string();
                constraint(node, relation, message, sides)
            }
            (SolveErrorKind::UnknownOperator { near, domain_unknown: _ }, Some(node), _) => {
                TypeError::UnknownOperator { node, near }
            }
            (SolveErrorKind::MissingPort { port, name }, Some(node), _) => {
                let port = port.to_ref().unwrap_or(PortRef::Input(0));
                TypeError::MissingPort { node, port, name: name.to_owned() }
            }
            (SolveErrorKind::SurplusPorts { side, given, most }, Some(node), _) => {
                TypeError::SurplusPorts { node, side, given, most }
            }
            (SolveErrorKind::Unresolved { value, known, possible }, _, _) => {
                let universe = Arc::clone(self.checked.universe());
                let leaf = |elem| Some(universe.lattice().node(universe.tensor_leaf(elem)?)?.id.to_owned());
                let few = possible.filter(|set| set.len() <= MAX_POSSIBLE).unwrap_or_default();
                TypeError::UnresolvedType {
                    value: self.value(value),
                    bound: tree_name(&known, &universe),
                    possible: few.iter().filter_map(leaf).collect(),
                    all: Vec::new(),
                }
            }
            (SolveErrorKind::SeedContradicts { seed, found }, _, _) => TypeError::SeedContradicts {
                value: self.value_at(site),
                seed: self.ty(&seed),
                found: self.ty(&found),
            },
            (SolveErrorKind::Contradiction { declared, inferred, .. }, _, _) => {
                TypeError::DeclarationContradicts {
                    value: self.value_at(site),
                    declared: self.ty(&declared),
                    inferred: self.ty(&inferred),
                }
            }
            (_, node, _) => TypeError::InvalidGraph { node, diagnostic: self.diagnostic(&error) },
        }
    }

    fn rule(&mut self, node: NodeLabel, step: StepId, rule: &str, failure: RuleError) -> TypeError {
        let sides = failure.ports().into_iter().filter_map(|port| self.side(step, port)).collect();
        let message = match failure {
            RuleError::Types { left, right } => {
                let what = if rule == "same-type" { "type" } else { "element type" };
                format!("{} and {} must have one {what}", port_name(left), port_name(right))
            }
            RuleError::Element { port, allowed } => {
                let universe = self.checked.universe();
                let names: Vec<_> = allowed.iter().map(|elem| universe.elem_name(elem)).collect();
                format!("the element type of {} must be {}", port_name(port), names.join(" or "))
            }
            RuleError::Kind { port, expected } => format!("{} must be {expected}", port_name(port)),
            RuleError::Rank { port, found, least, most } => {
                format!("{} must have {}, but has {found}", port_name(port), axes_text(least, most))
            }
            RuleError::Dims { left, right, relation } => {
                let condition = if relation.is_upper_bound { "at most" } else { "equal to" };
                let subject = subject(&left, &right, relation);
                let (left, right) = (self.extent(left), self.extent(right));
                format!("{left} must be {condition} {right}: {subject} {relation}")
            }
            RuleError::Attribute { name, message } => format!("attribute `{name}` {message}"),
            RuleError::Value { port, message } => format!("the value at {} {message}", port_name(port)),
            RuleError::Shapes { message, .. }
            | RuleError::Contradiction { message, .. }
            | RuleError::Body { message, .. } => message,
            RuleError::Relation(failure) => failure.message,
            RuleError::Malformed(error) => error.to_string(),
        };
        constraint(node, rule, message, sides)
    }

    fn side(&mut self, step: StepId, port: Port) -> Option<ConstraintSide> {
        let side = port.to_ref()?;
        let value = self.checked.body().at_port(step, port)?;
        let ty = self.checked.type_of(value);
        let shape = ty.tensor().and_then(|tensor| tensor.shape.as_deref());
        let shape = shape.map(|shape| typeloom_dim::shape::display(self.checked.dims(), shape).to_string());
        Some(ConstraintSide {
            port: side,
            value: self.value(value),
            ty: self.ty(&ty),
            shape,
            cause: self.cause(value, step),
        })
    }

    /// The cause of a value's type, without the node at which it is in error.
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

    /// An abstract seed of a value whose type is unified with this one.
    fn bounding_seed(&mut self, value: ValueId) -> Option<TypeCause> {
        let Checked { core, frame, .. } = &mut self.checked;
        let class = |types: &mut Types, value: ValueId| {
            let inner = frame.slots[value.index()].ty.map(|ty| types.innermost(ty))?;
            Some(types.class(inner))
        };
        let own = class(&mut core.types, value)?;
        let seeded = frame.rare.seeded.clone();
        let tied = seeded
            .into_iter()
            .find(|other| *other == value || class(&mut core.types, *other) == Some(own))?;
        self.seed(tied)
    }

    fn seed(&mut self, value: ValueId) -> Option<TypeCause> {
        let name = self.value(value);
        let seeds = || self.solver.seeds.iter().filter(|seed| seed.value == name);
        // A seed of the caller comes before a declaration of the graph.
        let seed = seeds().find(|seed| seed.declared_in.is_none()).or_else(|| seeds().next())?;
        Some(match (seed.declared_in, &seed.seed) {
            (Some(list), _) => TypeCause::Declared { value: name, list },
            (None, Seed::Node(id)) => TypeCause::Seed { ty: id.clone(), value: name },
            (None, Seed::Onnx(_)) => {
                let known = self.checked.type_of(value);
                TypeCause::Seed { ty: self.ty(&known), value: name }
            }
        })
    }

    /// The diagnostic of an error without a separate variant.
    fn diagnostic(&mut self, error: &SolveError<'a>) -> Box<Diagnostic> {
        let mut diagnostic = diagnose_one(&mut self.checked, error);
        if let (Some(node), true) = (&mut diagnostic.location.node, diagnostic.location.graph.is_empty()) {
            node.index = self.solver.fragment.position(node.index);
        }
        Box::new(diagnostic)
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

    /// The value of an error at a site. If several values have errors there, each call returns the next one.
    fn value_at(&mut self, site: ErrorSite) -> String {
        let errors = self.checked.frame.rare.value_errors.iter();
        let here = errors.filter(|(_, error)| error.site == site).map(|(value, _)| *value);
        let next = here.into_iter().find(|value| !self.reported.contains(value));
        self.reported.extend(next);
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
    TypeError::ConstraintFailed(Box::new(ConstraintFailure {
        node,
        relation,
        message,
        sides,
        all: Vec::new(),
    }))
}

fn port_name(port: Port) -> String {
    port.to_ref().map_or_else(|| "a nested graph".to_owned(), |port| port.to_string())
}

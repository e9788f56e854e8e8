//! The origin of a value's type, as text that follows the type: `float, because ...`.
//!
//! It is derived from the shortest chain of recorded facts (see [`crate::state::trace`]) from the value to a
//! declaration, an initializer, a seed or a rule. The chain does not pass through nodes that are in error,
//! because their facts are in doubt.

use super::text::{Ports, verb, way};
use super::{Scope, quote};
use crate::program::{Body, DeclarationKind, Origin, StepId, ValueId};
use crate::signature::FormalType;
use crate::state::trace::{Cause, Chain, Link, Tie};

/// Facts excluded when tracing a cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// No fact is excluded.
    Nothing,
    /// The facts of this node.
    Node(StepId),
    /// The declarations of the value itself.
    Declaration,
}

/// One link of the chain of causes of an element type. The other links are those of the next value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NextCause {
    /// A node and rule equate it with the type of another value.
    Tie {
        /// The first step of the node.
        step: StepId,
        /// The name of the rule.
        rule: &'static str,
        /// The other value.
        next: ValueId,
    },
    /// The source of the type.
    End(Cause),
}

impl Cause {
    /// The cause with the first step of its node, of which a node can have several.
    fn of_node(self, body: &Body<'_>) -> Self {
        match self {
            Self::Rule { step, rule } => Self::Rule { step: body.first_step(step), rule },
            Self::Declared(_) | Self::Initializer | Self::Seed | Self::Argument => self,
        }
    }
}

impl<'a> Scope<'_, 'a> {
    /// The shortest chain of causes of a value's type.
    pub(super) fn chain(&mut self, value: ValueId, doubt: Doubt) -> Option<Chain> {
        let trace = self.core.trace.as_ref()?;
        let (body, frame) = (self.body(), self.frame);
        let (avoid, undeclared) = match doubt {
            Doubt::Nothing => (None, None),
            Doubt::Node(step) => (Some(body.first_step(step)), None),
            Doubt::Declaration => (None, Some(value)),
        };
        let follow = |step: StepId| {
            let step = body.first_step(step);
            Some(step) != avoid && !frame.rare.errors.contains_key(&step)
        };
        let accept = |of: ValueId, cause: &Cause| match cause {
            Cause::Rule { step, .. } => follow(*step),
            Cause::Declared(_) => Some(of) != undeclared,
            Cause::Initializer | Cause::Seed | Cause::Argument => true,
        };
        let end = |of: ValueId, _: &[Tie]| self.own_cause(of, avoid);
        let mut budget = *self.budget;
        let found = trace.search(frame.number, value, follow, accept, end, &mut budget);
        *self.budget = budget;
        found
    }

    /// The cause of a value without a recorded one, unless it is the node `avoid`.
    fn own_cause(&self, value: ValueId, avoid: Option<StepId>) -> Option<Cause> {
        // An element type that an operator declares for an output is not recorded: it holds for every node.
        match self.body().value(value).origin {
            Origin::Step(step) => {
                let step = self.body().first_step(step);
                let alone = Some(step) != avoid && self.declares_one_type(step, value);
                alone.then_some(Cause::Rule { step, rule: "" })
            }
            Origin::Initializer(_) => Some(Cause::Initializer),
            Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => None,
        }
    }

    /// The first link of the chain of each value, by position.
    pub(super) fn first_links(&self) -> Vec<Option<NextCause>> {
        let (body, frame) = (self.body(), self.frame);
        let count = body.values().count();
        let Some(trace) = self.core.trace.as_ref() else { return vec![None; count] };
        let follow = |step: StepId| !frame.rare.errors.contains_key(&body.first_step(step));
        let own = |value: ValueId| {
            let recorded = trace.recorded(frame.number, value).filter(|cause| match cause {
                Cause::Rule { step, .. } => follow(*step),
                Cause::Declared(_) | Cause::Initializer | Cause::Seed | Cause::Argument => true,
            });
            recorded.cloned().or_else(|| self.own_cause(value, None))
        };
        let causes: Vec<Option<Cause>> = body.values().map(own).collect();
        let is_end = |value: ValueId| causes[value.index()].is_some();
        let ties = trace.first_links(frame.number, count, follow, is_end);
        let links = causes.into_iter().zip(ties).map(|(cause, tie)| {
            let tie =
                || tie.map(|(next, step, rule)| NextCause::Tie { step: body.first_step(step), rule, next });
            cause.map(|cause| NextCause::End(cause.of_node(body))).or_else(tie)
        });
        links.collect()
    }

    /// Whether the operator of a step declares exactly one element type for a value that it defines.
    fn declares_one_type(&self, step: StepId, value: ValueId) -> bool {
        let body = self.body();
        let Some(schema) = self.schema(step) else { return false };
        let at = body.outputs(body.last_step(step)).iter().position(|output| *output == Some(value));
        at.and_then(|at| schema.output(at)).is_some_and(|formal| match formal.ty {
            FormalType::Tensor(_) => true,
            FormalType::Var(variable) => {
                let allowed = &schema.type_vars[usize::from(variable)].allowed;
                allowed.tensor.len() == 1 && allowed.is_tensor_only()
            }
        })
    }

    /// The origin of a value's type; without a chain, the origin of the value.
    pub(super) fn cause(&mut self, value: ValueId, doubt: Doubt) -> String {
        let chain = if self.explains() { self.chain(value, doubt) } else { None };
        match chain {
            Some(chain) => self.chain_text(&chain),
            None => self.origin_text(value),
        }
    }

    fn chain_text(&self, chain: &Chain) -> String {
        let Chain { links, cause } = chain;
        let (Some(first), Some(last)) = (links.first(), links.last()) else { return String::new() };
        let end = self.end_text(last.value, cause);
        match links.len() {
            1 => match cause {
                Cause::Rule { step, .. } if !self.makes(*step, last.value) => {
                    format!("because {} needs it", self.node_text(*step))
                }
                Cause::Rule { .. } => format!("made by {end}"),
                Cause::Declared(DeclarationKind::Input) | Cause::Initializer | Cause::Argument => {
                    format!("from {end}")
                }
                Cause::Declared(DeclarationKind::Output | DeclarationKind::Value) => {
                    "as it is declared".to_owned()
                }
                Cause::Seed => "as the caller specified".to_owned(),
            },
            2 => match first.by {
                Some((step, _)) => {
                    let verb = self.verb(first.value, step, last.value);
                    format!("because {} {verb} {end}", self.node_text(step))
                }
                None => format!("from {end}"),
            },
            _ => {
                // From the source to the value, which is the order of the nodes in the graph.
                let mut names: Vec<String> = Vec::new();
                for (step, _) in links.iter().rev().filter_map(|link| link.by) {
                    let name = self.node_text(step);
                    if names.last() != Some(&name) {
                        names.push(name);
                    }
                }
                format!("from {end} through {}", way(names))
            }
        }
    }

    /// One link of a chain as a sentence about its value, which is `ty`.
    pub(super) fn link_text(&self, link: &Link, next: Option<&Link>, cause: &Cause, ty: &str) -> String {
        let name = self.name(link.value);
        match (link.by, next) {
            (Some((step, _)), Some(next)) => {
                let verb = self.verb(link.value, step, next.value);
                format!("{name} is {ty}, because {} {verb} {}", self.node_text(step), self.name(next.value))
            }
            (Some(_) | None, _) => {
                let chain = Chain { links: vec![Link { value: link.value, by: None }], cause: cause.clone() };
                format!("{name} is {ty}, {}", self.chain_text(&chain))
            }
        }
    }

    /// The verb for a node that relates the types of `value` and `other`.
    fn verb(&self, value: ValueId, step: StepId, other: ValueId) -> &'static str {
        let ports = |value| Ports { makes: self.makes(step, value), reads: self.reads(step, value) };
        verb(ports(value), ports(other))
    }

    fn makes(&self, step: StepId, value: ValueId) -> bool {
        let body = self.body();
        body.outputs(body.last_step(step)).contains(&Some(value))
    }

    fn reads(&self, step: StepId, value: ValueId) -> bool {
        let body = self.body();
        body.inputs(body.first_step(step)).contains(&Some(value))
    }

    /// The end of a chain, as a noun.
    fn end_text(&self, value: ValueId, cause: &Cause) -> String {
        let name = self.name(value);
        match cause {
            Cause::Rule { step, .. } => self.node_text(*step),
            Cause::Declared(DeclarationKind::Input) => self.input_text(value),
            Cause::Declared(DeclarationKind::Output | DeclarationKind::Value) => {
                format!("the declared type of {name}")
            }
            Cause::Initializer => format!("initializer {name}"),
            Cause::Seed => format!("the type that the caller gave for {name}"),
            Cause::Argument => format!("argument {name} of the call"),
        }
    }

    fn input_text(&self, value: ValueId) -> String {
        let body = self.body();
        let name = self.name(value);
        match body.graph(body.value(value).graph).owner {
            Some(owner) => format!("input {name} of {}", quote(owner.attribute)),
            None => format!("graph input {name}"),
        }
    }

    pub(super) fn made_by(&self, step: StepId) -> String {
        format!("made by {}", self.node_text(step))
    }

    /// The origin of a value itself.
    pub(super) fn origin_text(&self, value: ValueId) -> String {
        match (self.maker(value), self.declared_source(value)) {
            (Some(step), _) => self.made_by(step),
            (None, Some(source)) => format!("from {source}"),
            (None, None) => "defined by nothing".to_owned(),
        }
    }

    /// An input or initializer, as a noun.
    pub(super) fn declared_source(&self, value: ValueId) -> Option<String> {
        match self.body().value(value).origin {
            Origin::Input | Origin::InputWithDefault(_) => Some(self.input_text(value)),
            Origin::Initializer(_) => Some(format!("initializer {}", self.name(value))),
            Origin::Step(_) | Origin::Undefined => None,
        }
    }
}

//! Explanations of types: the chain of causes from a value back to a declaration.

use std::cell::RefCell;

use serde::Serialize;

use super::cause::NextCause;
use super::lineage::Lineage;
use super::loss::Lost;
use super::scope::Content;
use super::{Doubt, Location, Mark, Part, Scope, Snippet, SourceLine, declaration, source};
use crate::model::Checked;
use crate::program::{StepId, ValueId};
use crate::solution::Type;
use crate::state::trace::{Cause, Chain};

/// The maximum number of explained axes of a shape.
const MAX_AXES: usize = 16;

/// The maximum number of links of a chain; the middle of a longer one is left out.
const MAX_LINKS: usize = 64;

/// The explanation of a value's type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub value: String,
    /// The type in ONNX's syntax.
    #[serde(rename = "type")]
    pub ty: String,
    #[serde(rename = "place")]
    pub location: Location,
    /// The chain of reasons: each explains the previous one. Empty if nothing was recorded.
    pub reasons: Vec<Reason>,
    /// The number of reasons left out before the last.
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden: usize,
    /// The origin of each named extent of the shape, one sentence per axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extents: Vec<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// One link of a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A sentence with the type of a value and its cause.
    pub text: String,
    /// The location of the node or declaration.
    #[serde(rename = "place")]
    pub location: Location,
    /// The rule's name; empty if it is the operator's declared signature or there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub rule: &'static str,
    /// The node that ties the value to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
    /// The author's line of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLine>,
}

/// Explains the type of a value. The model has to be checked with
/// [`Options::trace`](crate::model::Options::trace); of values of one name in different graphs, the
/// outermost is taken.
#[must_use]
pub fn explain_value(checked: &mut Checked<'_>, name: &str) -> Option<Explanation> {
    let Checked { operators, core, frame, .. } = checked;
    let mut budget = usize::MAX;
    let mut scope = Scope {
        core,
        frame,
        operators,
        function: None,
        content: Content::Causes,
        budget: &mut budget,
        named: RefCell::default(),
    };
    let value = find(&scope, name)?;
    let ty = scope.type_of(value);
    let location = scope.location(scope.frame.site_of(value));
    let chain = scope.chain(value, Doubt::Nothing);
    let hidden = chain.as_ref().map_or(0, |chain| chain.links.len().saturating_sub(MAX_LINKS));
    let reasons = chain.map(|chain| scope.reasons(&chain)).unwrap_or_default();
    let mut extents = scope.extents(value, &ty);
    match crate::analysis::limits::of_value(scope.core, scope.frame, value) {
        Some(limit) => extents.push(format!("a part of the shape is not known, because {}", limit.reason())),
        None => extents.extend(scope.losses(value, &ty)),
    }
    Some(Explanation { value: name.to_owned(), location, ty: scope.show(&ty), reasons, hidden, extents })
}

/// One link of the chain of causes of each value of the main graph and its nested graphs, by position; `None`
/// without a recorded cause. The model has to be checked with
/// [`Options::trace`](crate::model::Options::trace).
///
/// Following the links from a value gives the chain of [`explain_value`], for all values at a cost that is
/// linear in the graph.
#[must_use]
pub fn next_causes(checked: &mut Checked<'_>) -> Vec<Option<NextCause>> {
    let Checked { operators, core, frame, .. } = checked;
    let mut budget = usize::MAX;
    let scope = Scope {
        core,
        frame,
        operators,
        function: None,
        content: Content::Causes,
        budget: &mut budget,
        named: RefCell::default(),
    };
    scope.first_links()
}

fn find(scope: &Scope<'_, '_>, name: &str) -> Option<ValueId> {
    let body = scope.body();
    let named = |value: &ValueId| body.value_name(*value) == name;
    let mut values = body.values().filter(named);
    let first = values.next()?;
    let root = std::iter::once(first).chain(values).find(|value| body.value(*value).graph == body.root());
    Some(root.unwrap_or(first))
}

impl<'a> Scope<'_, 'a> {
    /// The origins of the extents of a value.
    fn extents(&mut self, value: ValueId, ty: &Type) -> Vec<String> {
        let Some(shape) = ty.tensor().and_then(|tensor| tensor.shape.clone()) else { return Vec::new() };
        let mut sentences = Vec::new();
        for (axis, dim) in shape.iter().enumerate().take(MAX_AXES) {
            if self.core.dims.is_anonymous(*dim) {
                continue;
            }
            if self.is_assumed(value, axis) {
                let dim = self.dim_whole(*dim);
                sentences.push(format!(
                    "axis {axis} is assumed to be {dim}, as it is declared: nothing proves it"
                ));
                continue;
            }
            let Lineage { source, through } = self.lineage(value, *dim);
            let resolved = self.core.dims.resolve(*dim);
            let origin = match self.assumes(source, resolved) {
                true => "whose declared type is assumed".to_owned(),
                false => self.origin_text(source),
            };
            let by = match self.maker(source) {
                Some(_) if source != value => format!("from {}, {origin},", self.name(source)),
                Some(_) | None => origin,
            };
            let way = if through.is_empty() {
                String::new()
            } else {
                format!(" through {}", self.path_text(&through))
            };
            sentences.push(format!("axis {axis} is {}, {by}{way}", self.dim_whole(*dim)));
        }
        sentences
    }

    /// The reason for each unknown part of the shape of a value, one sentence each.
    fn losses(&mut self, value: ValueId, ty: &Type) -> Vec<String> {
        let Some(tensor) = ty.tensor() else { return Vec::new() };
        let Some(shape) = tensor.shape.clone() else {
            return vec![format!("the rank is not known: {}", self.loss(value, Lost::Rank))];
        };
        let mut sentences = Vec::new();
        for (axis, dim) in shape.iter().enumerate().take(MAX_AXES) {
            if self.core.dims.is_anonymous(*dim) {
                let reason = self.loss(value, Lost::Extent(*dim));
                sentences.push(format!("axis {axis} is not known: {reason}"));
            }
        }
        sentences
    }

    /// Whether an extent of a value is its declared one, which the solve assumes.
    fn is_assumed(&mut self, value: ValueId, axis: usize) -> bool {
        let Some(assumed) = self.frame.assumed_shapes.get(&value) else { return false };
        let assumed = self.core.resolved(*assumed);
        let derived = self.frame.slots[value.index()].shape.map(|shape| self.core.resolved(shape));
        derived.is_none_or(|derived| derived.get(axis) != assumed.get(axis))
    }

    fn reasons(&mut self, chain: &Chain) -> Vec<Reason> {
        let Chain { links, cause } = chain;
        let head = links.len().min(MAX_LINKS).saturating_sub(1);
        links
            .iter()
            .enumerate()
            .filter(|(at, _)| *at < head || at + 1 == links.len())
            .map(|(at, link)| {
                let ty = self.type_of(link.value);
                let ty = self.show_elem(&ty);
                let text = self.link_text(link, links.get(at + 1), cause, &ty);
                let (step, rule) = match (link.by, cause) {
                    (Some((step, rule)), _) => (Some(step), rule),
                    (None, Cause::Rule { step, rule }) => (Some(*step), *rule),
                    (None, Cause::Declared(_) | Cause::Initializer | Cause::Seed | Cause::Argument) => {
                        (None, "")
                    }
                };
                let Some(step) = step.map(|step| self.body().first_step(step)) else {
                    let location = self.location_of_value(link.value, self.role(link.value));
                    let snippet = self.declared_text(link.value).map(|declared| {
                        declaration(&declared, self.body().value_name(link.value), String::new(), true)
                    });
                    return Reason { text, location, rule, snippet, source: None };
                };
                let mut marks = Vec::from_iter(self.mark_of(step, link.value, true));
                marks.extend(links.get(at + 1).and_then(|next| self.mark_of(step, next.value, false)));
                Reason {
                    text,
                    location: self.location_of_step(step),
                    rule,
                    snippet: self.snippet(step, &marks),
                    source: source::of_node(self.body().step(step).node),
                }
            })
            .collect()
    }

    /// A mark on the port at which a node has a value.
    fn mark_of(&mut self, step: StepId, value: ValueId, primary: bool) -> Option<Mark<'a>> {
        let part = match (self.output_part(step, value), self.input_part(step, value)) {
            (Part::Operator, Part::Operator) => return None,
            (Part::Operator, input) => input,
            (output, _) => output,
        };
        let ty = self.type_of(value);
        Some(Mark { part, text: self.show_elem(&ty), primary })
    }
}

//! Names that nothing defines, and names that are defined twice.

use super::location::Role;
use super::node::{Mark, Part};
use super::scope::Scope;
use super::words::{list, tick};
use super::{Code, Diagnostic, Fix};
use crate::program::{GraphId, Origin, StepId, ValueId};
use crate::solve_error::ErrorSite;
use crate::suggest::nearest;

/// The shortest name for which another one is suggested.
const SHORTEST: usize = 3;

impl<'a> Scope<'_, 'a> {
    /// A node reads a name that nothing defines.
    pub(super) fn undefined_value(&self, step: StepId, value: ValueId, input: usize) -> Diagnostic {
        let name = self.name(value);
        let message = format!("{} reads {name}, which nothing defines", self.op_word(step));
        let mark = Mark::primary(Part::Input(input), "not defined");
        let diagnostic = Diagnostic::new(Code::UndefinedValue, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[mark]));
        let near = if self.explains { self.near_at(step, value) } else { Vec::new() };
        match near.first() {
            Some(to) => {
                let fix = Fix::RenameInput { input, to: to.clone() };
                diagnostic.with_help(did_you_mean(&near)).with_fix(fix)
            }
            None => diagnostic,
        }
    }

    /// A graph promises an output that nothing defines.
    pub(super) fn undefined_output(&self, graph: GraphId, value: ValueId) -> Diagnostic {
        let name = self.name(value);
        let message = match self.body().graph(graph).owner {
            Some(owner) => {
                format!("{} gives output {name}, which nothing in it defines", tick(owner.attribute))
            }
            None => format!("nothing defines graph output {name}"),
        };
        let mut site = self.location_of_graph(graph);
        site.value = self.location_of_value(value, Role::Output).value;
        let diagnostic = Diagnostic::new(Code::UndefinedOutput, message, site);
        let near = if self.explains { self.near_in(graph, value) } else { Vec::new() };
        match near.first() {
            Some(to) => {
                let fix =
                    Fix::RenameOutput { from: self.body().value_name(value).to_owned(), to: to.clone() };
                diagnostic.with_help(did_you_mean(&near)).with_fix(fix)
            }
            None => diagnostic,
        }
    }

    /// A name is defined twice in one graph.
    pub(super) fn duplicate_value(
        &self,
        site: ErrorSite,
        first: ValueId,
        output: Option<usize>,
    ) -> Diagnostic {
        let name = self.name(first);
        let record = self.body().value(first);
        let mut notes = Vec::new();
        let mut snippets = Vec::new();
        let by_name = |step: StepId| {
            let outputs = self.body().outputs(self.body().last_step(step));
            outputs
                .iter()
                .position(|made| made.is_some_and(|made| self.body().value(made).name == record.name))
        };
        if let ErrorSite::Step(step) = site {
            let part = output.map_or(Part::Operator, Part::Output);
            snippets.extend(self.snippet(step, &[Mark::primary(part, "defined again")]));
            if let Origin::Step(maker) = record.origin
                && self.body().first_step(maker) != self.body().first_step(step)
            {
                let part = by_name(maker).map_or(Part::Operator, Part::Output);
                snippets.extend(self.other_snippet(maker, &[Mark::context(part, "first defined here")]));
            }
        }
        match record.origin {
            Origin::Step(_) => {}
            Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) => {
                notes.push(format!("{name} is already {}", self.value_word(first)));
            }
            Origin::Undefined => {}
        }
        let message = format!("{name} is defined twice");
        Diagnostic::new(Code::DuplicateValue, message, self.location(site))
            .with_snippets(snippets)
            .with_notes(notes)
            .with_help("give one of the two another name")
    }

    /// Names that a node sees and that `value` could be a misspelling of.
    fn near_at(&self, step: StepId, value: ValueId) -> Vec<String> {
        let body = self.body();
        let mut graphs = vec![body.step(step).graph];
        while let Some(owner) = graphs.last().and_then(|graph| body.graph(*graph).owner) {
            graphs.push(body.step(owner.step).graph);
        }
        let seen = |other: ValueId| {
            let record = body.value(other);
            graphs.contains(&record.graph)
                && match record.origin {
                    Origin::Step(maker) => maker < step,
                    Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) => true,
                    Origin::Undefined => false,
                }
        };
        self.near(value, seen)
    }

    /// Names of one graph that `value` could be a misspelling of.
    fn near_in(&self, graph: GraphId, value: ValueId) -> Vec<String> {
        let body = self.body();
        let seen = |other: ValueId| {
            let record = body.value(other);
            record.graph == graph && record.origin != Origin::Undefined
        };
        self.near(value, seen)
    }

    fn near(&self, value: ValueId, seen: impl Fn(ValueId) -> bool) -> Vec<String> {
        let body = self.body();
        // Of a name of one or two letters, every other one is a misspelling.
        if body.value_name(value).len() < SHORTEST {
            return Vec::new();
        }
        let names = (0..body.values.len()).map(ValueId::new).filter(|other| seen(*other));
        let name: &'a str = body.value_name(value);
        nearest(name, names.map(|other| body.value_name(other)).filter(|other| *other != name))
    }
}

fn did_you_mean(near: &[String]) -> String {
    let names: Vec<String> = near.iter().map(|name| tick(name)).collect();
    format!("did you mean {}?", list(&names, "or"))
}

//! Nested graphs that do not agree with each other or with their node.

use super::cause::Doubt;
use super::node::{Mark, Part};
use super::scope::Scope;
use super::{Code, Diagnostic, Snippet};
use crate::program::{GraphId, Origin, StepId};
use crate::rule::Port;
use crate::solution::Type;

impl<'a> Scope<'_, 'a> {
    /// The two branches whose outputs are at error, where two ports of a node are such outputs: directly,
    /// or an output of the node that another branch has typed before.
    pub(super) fn branches(&self, step: StepId, left: Port, right: Port) -> Option<[Port; 2]> {
        match (left, right) {
            (Port::BodyOut(a, _), Port::BodyOut(b, _)) if a != b => Some([left, right]),
            (Port::Out(at), Port::BodyOut(graph, body_at))
            | (Port::BodyOut(graph, body_at), Port::Out(at))
                if at == body_at =>
            {
                let body = self.body();
                let other =
                    body.graphs_of(body.first_step(step)).map(|(id, _)| id).find(|id| *id != graph)?;
                let other = Port::BodyOut(other, body_at);
                self.value(step, other).map(|_| [other, Port::BodyOut(graph, body_at)])
            }
            (_, _) => None,
        }
    }

    /// Branches give different types.
    pub(super) fn branches_differ(
        &mut self,
        step: StepId,
        ports: [Port; 2],
        notes: Vec<String>,
    ) -> Diagnostic {
        let types = ports.map(|port| self.port_type(step, port));
        let both_tensors = types.iter().all(|ty| matches!(ty, Type::Tensor(_)));
        let mut shown =
            types.each_ref().map(|ty| if both_tensors { self.show_elem(ty) } else { self.show(ty) });
        if shown[0] == shown[1] {
            shown = types.each_ref().map(|ty| self.show(ty));
        }
        let words: Vec<String> = ports.iter().map(|port| self.branch_word(*port)).collect();
        let at = match ports[0] {
            Port::BodyOut(_, at) | Port::BodyIn(_, at) | Port::In(at) | Port::Out(at) => at,
        };
        let output = self.port_word(step, Port::Out(at));
        let message = format!(
            "the branches of {} differ in {output}: {} gives {}, but {} gives {}",
            self.op_word(step),
            words[0],
            shown[0],
            words[1],
            shown[1]
        );
        let mut marks = Vec::new();
        for (port, shown) in ports.iter().zip(&shown) {
            let name = self.value(step, *port).map(|value| self.name(value)).unwrap_or_default();
            marks.push(Mark {
                part: self.part(*port),
                text: format!("{name} is {shown}"),
                primary: *port == ports[1],
            });
        }
        let snippet = self.snippet(step, &marks);
        let makers: Vec<Snippet> = ports
            .iter()
            .zip(&shown)
            .filter_map(|(port, shown)| self.maker_snippet(step, *port, shown))
            .collect();
        Diagnostic::new(Code::BranchMismatch, message, self.location_of_step(step))
            .with_snippets(snippet)
            .with_snippets(makers)
            .with_notes(notes)
    }

    /// A nested graph does not fit its node.
    pub(super) fn body_differs(
        &self,
        step: StepId,
        graph: GraphId,
        message: &str,
        notes: Vec<String>,
    ) -> Diagnostic {
        let owner = self.body().graph(graph).owner;
        let message = format!("{} of {} does not fit: {message}", self.graph_word(graph), self.op_word(step));
        let part = owner.map_or(Part::Operator, |owner| Part::AttributeName(owner.attribute));
        Diagnostic::new(Code::BodyMismatch, message, self.location_of_step(step))
            .with_snippets(self.snippet(step, &[Mark::primary(part, "")]))
            .with_notes(notes)
    }

    fn branch_word(&self, port: Port) -> String {
        match port {
            Port::BodyIn(graph, _) | Port::BodyOut(graph, _) => self.graph_word(graph),
            Port::In(_) | Port::Out(_) => "the node".to_owned(),
        }
    }

    /// The node inside a branch that makes what the branch gives.
    fn maker_snippet(&mut self, step: StepId, port: Port, shown: &str) -> Option<Snippet> {
        let value = self.value(step, port)?;
        let Origin::Step(maker) = self.body().value(value).origin else { return None };
        let cause = self.cause(value, Doubt::Node(step));
        let mark: Mark<'a> = Mark::context(self.output_part(maker, value), format!("{shown}, {cause}"));
        self.other_snippet(maker, &[mark])
    }
}

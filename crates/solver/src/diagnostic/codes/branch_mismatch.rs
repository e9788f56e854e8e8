//! Diagnostic code `branch-mismatch`.

use crate::diagnostic::{Code, Diagnostic, Doubt, Mark, Scope, Snippet};
use crate::program::{Origin, StepId};
use crate::rule::Port;
use crate::solution::Type;

super::code!("branch-mismatch", Error, "the branches of a node give different types");

impl<'a> Scope<'_, 'a> {
    /// The outputs of two branches for two contradicting ports. If one port is an output of the node, its
    /// type comes from the other branch, whose output replaces it.
    pub(crate) fn branches(&self, step: StepId, left: Port, right: Port) -> Option<[Port; 2]> {
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
    pub(crate) fn branches_differ(&mut self, step: StepId, ports: [Port; 2]) -> Diagnostic {
        let types = ports.map(|port| self.port_type(step, port));
        let both_tensors = types.iter().all(|ty| matches!(ty, Type::Tensor(_)));
        let mut shown =
            types.each_ref().map(|ty| if both_tensors { self.show_elem(ty) } else { self.show(ty) });
        if shown[0] == shown[1] {
            shown = types.each_ref().map(|ty| self.show(ty));
        }
        let text: Vec<String> = ports.iter().map(|port| self.branch_text(*port)).collect();
        let at = match ports[0] {
            Port::BodyOut(_, at) | Port::BodyIn(_, at) | Port::In(at) | Port::Out(at) => at,
        };
        let output = self.port_text(step, Port::Out(at));
        let message = format!(
            "the branches of {} differ in {output}: {} gives {}, but {} gives {}",
            self.op_text(step),
            text[0],
            shown[0],
            text[1],
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
    }

    fn branch_text(&self, port: Port) -> String {
        match port {
            Port::BodyIn(graph, _) | Port::BodyOut(graph, _) => self.graph_text(graph),
            Port::In(_) | Port::Out(_) => "the node".to_owned(),
        }
    }

    /// The node that defines the output of a branch.
    fn maker_snippet(&mut self, step: StepId, port: Port, shown: &str) -> Option<Snippet> {
        let value = self.value(step, port)?;
        let Origin::Step(maker) = self.body().value(value).origin else { return None };
        let cause = self.cause(value, Doubt::Node(step));
        let mark: Mark<'a> = Mark::context(self.output_part(maker, value), format!("{shown}, {cause}"));
        self.other_snippet(maker, &[mark])
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn branches_give_one_element_type() {
        let model = "g (bool c) => (y) { y = If (c) < then_branch = t () => (a) { a = Constant <value_int = 1> () }, else_branch = e () => (b) { b = Constant <value_float = 1.0> () } > }";
        let expected = [
            "error[branch-mismatch]: the branches of `If` differ in output `y`: `then_branch` gives int64, but `else_branch` gives float",
        ];
        assert_eq!(reports(model), expected);
    }
}

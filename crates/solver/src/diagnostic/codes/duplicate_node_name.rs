//! Diagnostic code `duplicate-node-name`.

use crate::diagnostic::{Code, Diagnostic, Mark, Part, Scope, count, quote};
use crate::program::StepId;

super::code!("duplicate-node-name", Warning, "nodes of a graph have the same name");

impl Scope<'_, '_> {
    /// Nodes of one graph have the same name.
    pub(crate) fn duplicate_node_name(
        &self,
        step: StepId,
        name: &str,
        nodes: usize,
        first: StepId,
    ) -> Diagnostic {
        let message = format!("{} of the graph are named {}", count(nodes, "node"), quote(name));
        let again = self.snippet(step, &[Mark::primary(Part::Operator, "named again")]);
        let before = self.other_snippet(first, &[Mark::context(Part::Operator, "named first")]);
        Diagnostic::new(Code::DuplicateNodeName, message, self.location_of_step(step))
            .with_snippets(again)
            .with_snippets(before)
            .with_notes(["ONNX Runtime does not load a model with two nodes of one name".to_owned()])
            .with_help("give each node a name of its own, or none")
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn two_nodes_with_one_name_are_reported() {
        let model = "g (float x) => (y) { [same] a = Abs(x)  [same] y = Neg(a) }";
        let expected = ["warning[duplicate-node-name]: 2 nodes of the graph are named `same`"];
        assert_eq!(reports(model), expected);
    }
}

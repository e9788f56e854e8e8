//! Diagnostic code `node-order`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Safety, Scope, count};
use crate::program::{StepId, ValueId};

super::code!("node-order", StrictError, "a node precedes the node whose result it reads");

impl Scope<'_, '_> {
    /// Nodes are not in topological order.
    pub(crate) fn node_order(
        &self,
        step: StepId,
        (value, input): (ValueId, usize),
        maker: StepId,
        others: usize,
    ) -> Diagnostic {
        let (name, maker_text) = (self.name(value), self.node_text(maker));
        let mut message = format!("{} reads {name} before {maker_text} makes it", self.op_text(step));
        if others > 0 {
            message.push_str(&format!(", and {} out of order", are(others)));
        }
        let reader = self.snippet(step, &[Mark::primary(Part::Input(input), "not made yet")]);
        let part = self.output_part(maker, value);
        let made = self.other_snippet(maker, &[Mark::context(part, "made here")]);
        Diagnostic::new(Code::NodeOrder, message, self.location_of_step(step))
            .with_snippets(reader)
            .with_snippets(made)
            .with_help("sort the nodes; `typeloom fix` does".to_owned())
            .with_fix(Fix::SortNodes, Safety::Safe)
    }
}

/// `1 more node is`, `2 more nodes are`.
fn are(others: usize) -> String {
    format!("{} {}", count(others, "more node"), if others == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_node_comes_after_the_nodes_that_it_reads() {
        let model = "g (float x) => (y) { y = Add(a, b)  a = Neg(x)  b = Abs(x) }";
        let expected = ["error[node-order]: `Add` reads `a` before `Neg` (#1) makes it"];
        assert_eq!(reports(model), expected);
    }
}

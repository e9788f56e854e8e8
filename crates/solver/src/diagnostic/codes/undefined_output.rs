//! Diagnostic code `undefined-output`.

use crate::diagnostic::{Code, Diagnostic, Fix, Role, Scope, quote};
use crate::program::{GraphId, Origin, ValueId};

super::code!("undefined-output", Error, "a graph declares an output that nothing defines");

impl Scope<'_, '_> {
    /// A graph declares an output that nothing defines.
    pub(crate) fn undefined_output(&self, graph: GraphId, value: ValueId) -> Diagnostic {
        let name = self.name(value);
        let message = match self.body().graph(graph).owner {
            Some(owner) => {
                format!("{} gives output {name}, which nothing in it defines", quote(owner.attribute))
            }
            None => format!("nothing defines graph output {name}"),
        };
        let mut location = self.location_of_graph(graph);
        location.value = self.location_of_value(value, Role::Output).value;
        let diagnostic = Diagnostic::new(Code::UndefinedOutput, message, location);
        let near = if self.explains() { self.names_like_in(graph, value) } else { Vec::new() };
        let from = self.body().value_name(value).to_owned();
        diagnostic.with_suggestion(&near, |to| Fix::RenameOutput { from, to })
    }

    /// Names of one graph that `value` could be a misspelling of.
    fn names_like_in(&self, graph: GraphId, value: ValueId) -> Vec<String> {
        let body = self.body();
        let seen = |other: ValueId| {
            let record = body.value(other);
            record.graph == graph && record.origin != Origin::Undefined
        };
        self.names_like(value, seen)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn an_output_of_the_graph_is_defined() {
        let model = "g (float x) => (y, z) { y = Neg(x) }";
        let expected = ["error[undefined-output]: nothing defines graph output `z`"];
        assert_eq!(reports(model), expected);
    }
}

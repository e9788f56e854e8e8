//! Diagnostic code `missing-opset`.

use crate::diagnostic::{Code, Diagnostic, Fix, Mark, Part, Safety, Scope, quote};
use crate::program::StepId;

super::code!("missing-opset", Error, "the model or function does not import the operator's domain");

impl Scope<'_, '_> {
    /// The model, or the function with the node, does not import the operator's domain.
    pub(crate) fn missing_opset(&self, step: StepId) -> Diagnostic {
        let op = self.op(step);
        let (importer, imports) = match self.importing_function() {
            Some(name) => {
                let name = quote(&name);
                (format!("function {name}"), format!("the opset imports of function {name}"))
            }
            None => ("the model".to_owned(), "the model's opset imports".to_owned()),
        };
        let message = match op.domain {
            "" => format!("{importer} does not import the opset of {}", quote(op.name)),
            domain => format!("{importer} does not import domain {} of {}", quote(domain), quote(op.name)),
        };
        let of_model = self.operators.imported_by_model(op.domain);
        let elsewhere = of_model.or_else(|| self.operators.imported_elsewhere(op.domain));
        let version = elsewhere.or_else(|| self.operators.version_with_all(op));
        let text = match (of_model, version) {
            (Some(version), _) => format!("version {version}, as the model imports it,"),
            (None, Some(version)) => format!("version {version}"),
            (None, None) => "its version".to_owned(),
        };
        let mark = Mark::primary(Part::Operator, "of which version?");
        let diagnostic = self
            .node_diagnostic(Code::MissingOpset, step, message, &[mark])
            .with_help(format!("add domain {} with {text} to {imports}", quote(op.domain)));
        let Some(version) = version else { return diagnostic };
        let safety = match elsewhere.is_some() || !op.domain.is_empty() {
            true => Safety::Safe,
            // ONNX's own operators differ between versions.
            false => Safety::Unsafe,
        };
        diagnostic.with_fix(Fix::ImportOpset { domain: op.domain.to_owned(), version }, safety)
    }

    /// The function that contains the body, if it has imports of its own.
    fn importing_function(&self) -> Option<String> {
        let function = &self.operators.functions()[self.function?.index()];
        let has_imports = function.view.opset_imports().next().is_some();
        has_imports.then(|| match function.domain {
            "" => function.name.to_owned(),
            domain => format!("{domain}.{}", function.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_domain_of_an_operator_is_imported() {
        let model = "g (float[2] x) => (y) { y = com.microsoft.Gelu(x) }";
        let expected = ["error[missing-opset]: the model does not import domain `com.microsoft` of `Gelu`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn the_domain_of_a_function_is_imported() {
        let model = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[2] x) => (y) { y = d.F (x) }
            <domain: "d", opset_import: ["": 21]> F (x) => (y) { y = Relu (x) }"#;
        let expected = ["error[missing-opset]: the model does not import domain `d` of `F`"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn a_function_imports_the_domains_of_its_nodes() {
        let model = r#"<ir_version: 10, opset_import: ["": 21, "d": 1, "e": 1]>
            g (float[2] x) => (y) { y = d.F (x) }
            <domain: "d", opset_import: ["": 21]> F (x) => (y) { y = e.G (x) }
            <domain: "e", opset_import: ["": 21]> G (x) => (y) { y = Relu (x) }"#;
        let expected = ["error[missing-opset]: function `d.F` does not import domain `e` of `G`"];
        assert_eq!(reports(model), expected);
    }
}

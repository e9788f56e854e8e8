//! Diagnostic code `nesting-too-deep`.

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::program::MAX_NESTING;

super::code!("nesting-too-deep", Error, "graphs are nested too deep");

/// Graphs are nested too deep.
pub(crate) fn too_deep(location: Location) -> Diagnostic {
    let message = format!("graphs are nested more than {MAX_NESTING} deep");
    Diagnostic::new(Code::NestingTooDeep, message, location)
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use typeloom_onnx::messages::{AttributeProto, GraphProto, ModelProto, NodeProto};

    use super::*;
    use crate::diagnostic::tests::report_of_bytes;

    #[test]
    fn graphs_are_nested_to_a_limit() {
        let around = |graph: GraphProto, _| {
            let body = AttributeProto { g: Some(Box::new(graph)), ..AttributeProto::default() };
            let node = NodeProto { attribute: vec![body], ..NodeProto::default() };
            GraphProto { node: vec![node], ..GraphProto::default() }
        };
        let graph = (0..=MAX_NESTING).fold(GraphProto::default(), around);
        let bytes = ModelProto { graph: Some(graph), ..ModelProto::default() }.encode_to_vec();
        assert_eq!(report_of_bytes(&bytes).code, Code::NestingTooDeep);
    }
}

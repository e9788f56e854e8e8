//! Protocols: components with user-defined operators.

use std::error::Error;
use std::sync::Arc;

use typeloom_contracts::protocol::Protocol;
use typeloom_module::dispatch::of_method;
use typeloom_onnx::messages::{AttributeProto, NodeProto};
use typeloom_tensor::datum::Datum;

use super::{ComponentError, Locked, Method, Results, method};

/// An executable protocol.
///
/// [`Protocol`] declares the operators; this trait computes them. Results are checked against the types that
/// the compiler proved for the node.
pub trait RunProtocol: Protocol {
    type Error: Error + Send + Sync + 'static;

    /// Runs an operator; `None` is an absent optional input.
    ///
    /// # Errors
    /// Errors of the protocol.
    fn call(
        &mut self,
        operator: &str,
        inputs: &[Option<Datum>],
        attributes: &[AttributeProto],
    ) -> Result<Vec<Datum>, Self::Error>;
}

pub(super) fn resolve<P: RunProtocol>(
    protocol: Arc<Locked<P>>,
    name: &str,
    node: &NodeProto,
) -> Option<Method> {
    let (operator, attributes) = (of_method(P::OPSET, name)?.name, node.attribute.clone());
    method(move |args| {
        let results = protocol.write().call(operator, args.inputs, &attributes);
        results.map(Results::from_vec).map_err(ComponentError::failed)
    })
}

//! Protocols: operators of somebody else's, run by whoever brings them.

use std::error::Error;
use std::sync::Arc;

use typeloom_contracts::protocol::Protocol;
use typeloom_onnx::messages::{AttributeProto, NodeProto};

use super::{AnyComponent, ComponentError, Locked, Method, Results, method};
use typeloom_contracts::datum::Datum;

/// A protocol that can be run.
///
/// Its operators are declared by [`Protocol`]; here they are computed. What a call gives is held to the types that the
/// compiler proved for the node.
pub trait RunProtocol: Protocol {
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Runs an operator: `None` stands for an input that is left out.
    ///
    /// # Errors
    /// What the protocol cannot do.
    fn call(
        &mut self,
        operator: &str,
        inputs: &[Option<Datum>],
        attributes: &[AttributeProto],
    ) -> Result<Vec<Datum>, Self::Error>;
}

pub(super) struct ProtocolAdapter<P>(pub(super) Locked<P>);

impl<P: RunProtocol> AnyComponent for ProtocolAdapter<P> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        P::OPSET.op(node.op_type())?;
        let (operator, attributes) = (node.op_type().to_owned(), node.attribute.clone());
        method(move |args| {
            let results = self.0.write().call(&operator, args.inputs, &attributes);
            results.map(Results::from_vec).map_err(ComponentError::failed)
        })
    }
}

//! Backends. `execute` runs a node as a graph of one node; every other method is that of a primitive.

use std::borrow::Cow;
use std::sync::Arc;

use typeloom_contracts::backend::Backend;
use typeloom_contracts::backend::by_execution::{Operand, graph_of_node};
use typeloom_module::dispatch::{EXECUTE, primitive};
use typeloom_onnx::messages::NodeProto;
use typeloom_tensor::datum::Datum;

use super::{Args, ComponentError, Method, Results, method};
use crate::convert::{FromDatum, IntoDatum};
use crate::primitive::{Operands, decode};

pub(super) fn resolve<B: Backend<Tensor: FromDatum + IntoDatum + Clone>>(
    backend: Arc<B>,
    name: &str,
    node: &NodeProto,
) -> Option<Method> {
    if name != EXECUTE {
        let primitive = decode::<B>(primitive(name)?.name, node)?;
        return method(move |args| {
            let results = primitive(&backend, args)?.into_iter().enumerate();
            Ok(results.map(|(at, result)| args.output_owned(at, result)).collect())
        });
    }
    let mut node = node.clone();
    node.metadata_props.clear();
    method(move |args| execute(&*backend, &node, args))
}

impl<T: FromDatum> Operands<T> for Args<'_> {
    fn count(&self) -> usize {
        self.inputs.len()
    }

    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError> {
        self.input(index)
    }

    fn datum(&self, index: usize) -> Option<Cow<'_, Datum>> {
        self.optional(index).map(Cow::Borrowed)
    }
}

/// Executes a graph of one node.
fn execute<B: Backend<Tensor: FromDatum + IntoDatum + Clone>>(
    backend: &B,
    node: &NodeProto,
    args: &Args<'_>,
) -> Result<Results, ComponentError> {
    let operands = args.inputs.iter().enumerate().map(|(at, datum)| operand(at, datum.as_ref()));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    // Unread outputs get names as well, because results are matched by position.
    let (graph, inputs) = graph_of_node(node.clone(), operands, node.output.len());
    let results = backend.execute(&graph, inputs, &[]).map_err(ComponentError::failed)?;
    Ok(results.into_iter().enumerate().map(|(at, result)| args.output_owned(at, result)).collect())
}

/// Operands that the backend does not store (a shape, axes, an index) become constants.
fn operand<T: FromDatum + Clone>(
    index: usize,
    datum: Option<&Datum>,
) -> Result<Operand<'_, T>, ComponentError> {
    let Some(datum) = datum else { return Ok(Operand::Absent) };
    match (T::from_datum(datum), datum.as_tensor()) {
        (Some(tensor), _) => Ok(Operand::Tensor(tensor)),
        (None, Some(tensor)) => Ok(Operand::Constant(Cow::Borrowed(tensor))),
        (None, None) => Err(ComponentError::Storage { index, found: datum.describe(), stores: T::TYPE.id }),
    }
}

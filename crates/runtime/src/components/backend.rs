//! Backends. `execute` runs a node as a graph of one node; every other method is that of a primitive. Values
//! of another type than the backend's storage are converted, see [`representation`](crate::representation).

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
use crate::representation::{returned, stored, stored_indices};

pub(super) fn resolve<B: Backend<Tensor: FromDatum + IntoDatum + Clone>>(
    backend: Arc<B>,
    name: &str,
    node: &NodeProto,
) -> Option<Method> {
    if name != EXECUTE {
        let op = primitive(name)?.name;
        let primitive = decode::<B>(op, node)?;
        return method(move |args| results(args, primitive(&backend, args)?, op));
    }
    let mut node = node.clone();
    node.metadata_props.clear();
    method(move |args| execute(&*backend, &node, args))
}

/// The results of an operator in the types of the node's outputs.
fn results<T: IntoDatum>(
    args: &Args<'_>,
    results: impl IntoIterator<Item = T>,
    op: &str,
) -> Result<Results, ComponentError> {
    let converted =
        |(at, result)| returned::<T>(args.output_owned(at, result), at, (args.outputs)(at), op == "Cast");
    results.into_iter().enumerate().map(converted).collect()
}

impl<T: FromDatum> Operands<T> for Args<'_> {
    fn count(&self) -> usize {
        self.inputs.len()
    }

    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError> {
        stored(self.datum(index)?, index)
    }

    fn indices(&self, index: usize, extent: Option<usize>) -> Result<Cow<'_, T>, ComponentError> {
        stored_indices(self.datum(index)?, index, extent)
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
    results(args, backend.execute(&graph, inputs, &[]).map_err(ComponentError::failed)?, node.op_type())
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

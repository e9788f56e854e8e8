//! Backends. A primitive calls the corresponding method; every other node becomes a graph of one node.

use std::borrow::Cow;
use std::sync::Arc;

use typeloom_contracts::backend::Backend;
use typeloom_onnx::messages::{GraphProto, NodeProto, TensorProto, ValueInfoProto};

use super::{AnyComponent, Args, ComponentError, Method, Results, method};
use crate::convert::{FromDatum, IntoDatum};
use crate::primitive::{Operands, decode, ints};

pub(super) struct BackendAdapter<B>(pub(super) B);

impl<B: Backend<Tensor: FromDatum + IntoDatum + Clone>> AnyComponent for BackendAdapter<B> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        if let Some(primitive) = decode(node) {
            return method(move |args| {
                let results = primitive(&self.0, args)?.into_iter().enumerate();
                Ok(results.map(|(at, result)| args.output_owned(at, result)).collect())
            });
        }
        let graph = graph_of(node);
        method(move |args| self.execute(&graph, args))
    }
}

impl<T: FromDatum> Operands<T> for Args<'_> {
    fn count(&self) -> usize {
        self.inputs.len()
    }

    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError> {
        self.input(index)
    }

    fn ints(&self, index: usize) -> Result<Option<Vec<i64>>, ComponentError> {
        if self.optional(index).is_none() {
            return Ok(None);
        }
        ints(Args::tensor(self, index)?, index).map(Some)
    }

    fn shape(&self, index: usize) -> Option<Vec<usize>> {
        self.optional(index)?.as_tensor().map(|tensor| tensor.shape().to_vec())
    }
}

fn input_name(at: usize) -> String {
    format!("in{at}")
}

/// A graph of one node with new names for its inputs and outputs.
fn graph_of(node: &NodeProto) -> GraphProto {
    let mut node = node.clone();
    node.metadata_props.clear();
    for (at, name) in node.input.iter_mut().enumerate().filter(|(_, name)| !name.is_empty()) {
        *name = input_name(at);
    }
    let mut output = Vec::with_capacity(node.output.len());
    for (at, name) in node.output.iter_mut().enumerate() {
        // Unread outputs get names as well, because results are matched by position.
        *name = format!("out{at}");
        output.push(ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() });
    }
    GraphProto { name: Some(node.op_type().to_owned()), node: vec![node], output, ..GraphProto::default() }
}

impl<B: Backend<Tensor: FromDatum + IntoDatum + Clone>> BackendAdapter<B> {
    fn execute(&self, graph: &GraphProto, args: &Args<'_>) -> Result<Results, ComponentError> {
        let mut graph = graph.clone();
        let mut inputs: Vec<B::Tensor> = Vec::with_capacity(args.inputs.len());
        for (at, datum) in args.inputs.iter().enumerate() {
            let Some(datum) = datum else { continue };
            let name = Some(input_name(at));
            match (<B::Tensor as FromDatum>::from_datum(datum), datum.as_tensor()) {
                (Some(convert), _) => {
                    graph.input.push(ValueInfoProto { name, ..ValueInfoProto::default() });
                    inputs.push((*convert).clone());
                }
                // Operands that the backend does not store (a shape, axes, an index) become part of the
                // graph.
                (None, Some(tensor)) => {
                    graph.initializer.push(TensorProto { name, ..TensorProto::from(tensor) });
                }
                (None, None) => {
                    let (found, stores) =
                        (datum.describe(), <B::Tensor as typeloom_types::storage::Storage>::TYPE.id);
                    return Err(ComponentError::Storage { index: at, found, stores });
                }
            }
        }
        let results = self.0.execute(&graph, inputs, &[]).map_err(ComponentError::failed)?;
        Ok(results.into_iter().enumerate().map(|(at, result)| args.output_owned(at, result)).collect())
    }
}

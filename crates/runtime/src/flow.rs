//! What flows through a plan, and what differs with it.
//!
//! Plans of models and of compiled modules are prepared and run by the same code. A [`Flow`] says what their values are, what was
//! proved of them, which nodes they have of their own, and as which error a node fails.

use std::convert::Infallible;

use typeloom_cpu::memory;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::{NodeProto, TypeProto};
use typeloom_types::any_tensor::AnyTensor;

use crate::error::{NodeFault, PrepareError, RunError};
use crate::execute::{Given, Results, Run};
use crate::plan::{About, Plan, Step};
use crate::prepare::Preparation;
use typeloom_wire::stamp::Mismatch;
use typeloom_wire::stamp::{Stamp, Symbols};

/// What flows through a plan.
pub(crate) trait Flow: Sized + 'static {
    /// A value.
    type Value: Clone + std::fmt::Debug;
    /// What was proved of a value.
    type Proved: Clone + std::fmt::Debug + Default;
    /// What runs a node that no other flow has.
    type Own;
    /// What preparing nodes of its own takes.
    type Linked<'m>;
    /// Why there is no plan.
    type Refused: From<PrepareError>;
    /// How a node failed.
    type Fault: From<NodeFault>;
    /// How a run failed.
    type Error;

    /// A result of an operator.
    fn of(value: Value) -> Self::Value;

    /// A value as input `index` of an operator.
    fn into_value(value: Self::Value, index: usize) -> Result<Value, Self::Fault>;

    fn as_tensor(value: &Self::Value) -> Option<&AnyTensor>;

    fn as_sequence(value: &Self::Value) -> Option<&[Self::Value]>;

    fn sequence(values: Vec<Self::Value>) -> Self::Value;

    /// Keeps the memory of a value that nobody needs any more for others, if it is worth it.
    fn recycle(value: &mut Option<Self::Value>);

    /// What a message says of a value.
    fn proved(ty: &TypeProto) -> Self::Proved;

    fn stamp(proved: &Self::Proved) -> &Stamp;

    /// Holds a value against what was proved, and binds the symbols of its shape.
    fn check(proved: &Self::Proved, value: &Self::Value, symbols: &mut Symbols) -> Result<(), Mismatch>;

    /// A result of an operator in the form that its type asks for.
    fn settled(proved: &Self::Proved, value: Self::Value) -> Self::Value;

    /// What runs a node, where it is one that no other flow has.
    fn own(
        preparation: &Preparation<'_, Self>,
        node: &NodeProto,
        about: &About,
    ) -> Result<Option<Self::Own>, Self::Refused>;

    /// Whether a plan may have a node of this operator, which nothing here runs.
    fn unknown(about: &About) -> Result<(), Self::Refused>;

    /// Runs a node of its own, which may take its inputs.
    fn run_own(
        run: &mut Run<'_, Self>,
        plan: &Plan<Self>,
        step: &Step<Self>,
        own: &Self::Own,
        inputs: &mut Given<Self>,
    ) -> Result<Results<Self>, Self::Fault>;

    /// Whether results of the node are held to what was proved of them in every run.
    fn is_held(own: &Self::Own) -> bool;

    fn mismatch(value: &str, mismatch: Mismatch) -> Self::Fault;

    fn failed(about: &About, fault: Self::Fault) -> Self::Error;

    /// The fault of a node in which another failed.
    fn inside(error: Self::Error) -> Self::Fault;
}

/// What flows through a model: tensors, sequences and optionals of them.
#[derive(Debug)]
pub(crate) struct Tensors;

impl Flow for Tensors {
    type Value = Value;
    type Proved = Stamp;
    type Own = Infallible;
    type Linked<'m> = ();
    type Refused = PrepareError;
    type Fault = NodeFault;
    type Error = RunError;

    fn of(value: Value) -> Value {
        value
    }

    fn into_value(value: Value, _index: usize) -> Result<Value, NodeFault> {
        Ok(value)
    }

    fn as_tensor(value: &Value) -> Option<&AnyTensor> {
        value.as_tensor()
    }

    fn as_sequence(value: &Value) -> Option<&[Value]> {
        value.as_sequence()
    }

    fn sequence(values: Vec<Value>) -> Value {
        Value::Sequence(values)
    }

    fn recycle(value: &mut Option<Value>) {
        let worth = |value: &mut Value| value.as_tensor().is_none_or(memory::is_worth);
        match value.take_if(worth) {
            Some(value) => memory::recycle(value),
            None => *value = None,
        }
    }

    fn proved(ty: &TypeProto) -> Stamp {
        Stamp::of(ty)
    }

    fn stamp(proved: &Stamp) -> &Stamp {
        proved
    }

    fn check(proved: &Stamp, value: &Value, symbols: &mut Symbols) -> Result<(), Mismatch> {
        symbols.check(value, proved)
    }

    fn settled(_proved: &Stamp, value: Value) -> Value {
        value
    }

    fn own(
        _preparation: &Preparation<'_, Self>,
        _node: &NodeProto,
        _about: &About,
    ) -> Result<Option<Infallible>, PrepareError> {
        Ok(None)
    }

    fn unknown(_about: &About) -> Result<(), PrepareError> {
        // A branch that is never taken may hold it.
        Ok(())
    }

    fn run_own(
        _run: &mut Run<'_, Self>,
        _plan: &Plan<Self>,
        _step: &Step<Self>,
        own: &Infallible,
        _inputs: &mut Given<Self>,
    ) -> Result<Results<Self>, NodeFault> {
        match *own {}
    }

    fn is_held(own: &Infallible) -> bool {
        match *own {}
    }

    fn mismatch(value: &str, mismatch: Mismatch) -> NodeFault {
        NodeFault::Mismatch { value: value.to_owned(), mismatch }
    }

    fn failed(about: &About, fault: NodeFault) -> RunError {
        RunError::Node { node: about.node.clone(), fault }
    }

    fn inside(error: RunError) -> NodeFault {
        NodeFault::Inside(Box::new(error))
    }
}

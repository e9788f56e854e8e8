//! Plans of compiled modules: data of every type of the tree flow through them, and some of their nodes are components, messages
//! and structure, which models do not have.

use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::memory;
use typeloom_cpu::ops::Operator;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::{NodeProto, TypeProto};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::tree::TypeNode;

use super::Executor;
use super::declared::{self, Declared};
use super::error::{ExecuteError, LinkError, StepFault};
use super::part::Wire;
use super::prepare::{self, Linked};
use super::run;
use crate::components::Method;
use crate::execute::{Given, Results, Run};
use crate::flow::Flow;
use crate::plan::{About, Plan, Step};
use crate::prepare::Preparation;
use typeloom_wire::datum::Datum;
use typeloom_wire::stamp::Mismatch;
use typeloom_wire::stamp::{Stamp, Symbols};

/// What flows through a compiled module.
#[derive(Debug)]
pub(crate) struct Data;

/// How a node is run that models do not have.
pub(crate) enum Own {
    /// A component.
    Method(Method),
    /// The same value.
    Pass,
    Cast {
        to: &'static TypeNode,
    },
    Bundle {
        keys: Vec<String>,
    },
    Unbundle {
        keys: Vec<String>,
    },
    Peers(PeerOp),
    /// A value goes to peers.
    Send(Wire),
    /// A value that arrives.
    Receive(Wire),
    /// A program of another module.
    Call(Executor),
}

/// A structural operator on lists of peers, computed on their positions.
pub(crate) struct PeerOp {
    pub(crate) kernel: &'static Operator,
    pub(crate) attributes: Attributes,
    /// Whether every input is a list, and not the first alone.
    pub(crate) all: bool,
}

impl Flow for Data {
    type Value = Datum;
    type Proved = Declared;
    type Own = Own;
    type Linked<'m> = Linked<'m>;
    type Refused = LinkError;
    type Fault = StepFault;
    type Error = ExecuteError;

    fn of(value: Value) -> Datum {
        value.into()
    }

    #[inline]
    fn into_value(value: Datum, index: usize) -> Result<Value, StepFault> {
        // Nearly all are, and need not go through what the others do.
        if let Datum::Tensor(tensor) = value {
            Ok(Value::Tensor(tensor))
        } else {
            declared::value(value, index)
        }
    }

    fn as_tensor(value: &Datum) -> Option<&AnyTensor> {
        value.as_tensor()
    }

    fn as_sequence(value: &Datum) -> Option<&[Datum]> {
        if let Datum::Sequence(values) = value { Some(values) } else { None }
    }

    fn sequence(values: Vec<Datum>) -> Datum {
        Datum::Sequence(values)
    }

    fn recycle(value: &mut Option<Datum>) {
        let worth = |value: &mut Datum| value.as_tensor().is_some_and(memory::is_worth);
        if let Some(Datum::Tensor(tensor)) = value.take_if(worth) {
            memory::recycle(tensor.into());
        } else {
            *value = None;
        }
    }

    fn proved(ty: &TypeProto) -> Declared {
        Declared::of(ty)
    }

    fn stamp(proved: &Declared) -> &Stamp {
        &proved.stamp
    }

    fn check(proved: &Declared, value: &Datum, symbols: &mut Symbols) -> Result<(), Mismatch> {
        proved.check(value, symbols)
    }

    fn settled(proved: &Declared, value: Datum) -> Datum {
        proved.settled(value)
    }

    fn own(
        preparation: &Preparation<'_, Self>,
        node: &NodeProto,
        about: &About,
    ) -> Result<Option<Own>, LinkError> {
        prepare::own(preparation, node, about)
    }

    fn unknown(about: &About) -> Result<(), LinkError> {
        Err(prepare::unknown(about))
    }

    fn run_own(
        run: &mut Run<'_, Self>,
        plan: &Plan<Self>,
        step: &Step<Self>,
        own: &Own,
        inputs: &mut Given<Self>,
    ) -> Result<Results<Self>, StepFault> {
        run::own(run, plan, step, own, inputs)
    }

    fn is_held(own: &Own) -> bool {
        // A component says what it gives; that it is so is for the runtime to see.
        matches!(own, Own::Method(_) | Own::Call(_))
    }

    fn mismatch(value: &str, mismatch: Mismatch) -> StepFault {
        StepFault::Mismatch { value: value.to_owned(), mismatch }
    }

    fn failed(about: &About, fault: StepFault) -> ExecuteError {
        ExecuteError::Node { node: about.node.clone(), slot: about.on.clone(), fault }
    }

    fn inside(error: ExecuteError) -> StepFault {
        StepFault::Inside(Box::new(error))
    }
}

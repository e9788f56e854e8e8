//! Errors of preparing and running programs.
//!
//! A program is prepared, linked if it is a compiled module, and run; each of the three has its error:
//! [`PrepareError`], [`LinkError`], [`RunError`]. A run can fail deep inside of nested graphs, functions and
//! programs. The error has one layer for each of them:
//!
//! ```text
//! RunError::Node { node: "`If`", error: Nested(RunError::Node { node: "`Div`", error: Kernel(..) }) }
//!   message    `If`: `Div`: ...
//! ```
//!
//! Messages name nodes as in the model. `diagnostics` converts an error for reports of checks: an error that
//! concerns the model has a code. Wrong inputs, limits, interrupts, errors that components return, and errors
//! of the network have none. `exceeds_budget` recognises limits of memory, work and steps. Both look at the
//! innermost node of a run.
//!
//! **Invariant:** errors are values: they can be cloned and compared, also those of components, whose type is
//! erased ([`ForeignError`]; errors with equal messages are equal).
//!
//! **Invariant:** after a [`RunError`] the session or executor is usable.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::named::UnknownName;
use typeloom_compiler::artifact::LoadError;
use typeloom_contracts::role::Role;
use typeloom_cpu::decode::DecodeTensorError;
use typeloom_cpu::error::{KernelError, KernelErrorKind};
use typeloom_onnx::DecodeError;
use typeloom_program::facts::StampError;
use typeloom_program::read::ReadError;
use typeloom_solver::diagnostic::{
    Code, Diagnostic, Location, Severity, diagnose_bytes, diagnose_external_data,
};
use typeloom_solver::program::MAX_NESTING;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::peer::PeerId;
use typeloom_tensor::value_check::Mismatch;
use typeloom_types::plural::counted;
use typeloom_wire::delivery::ReceiveError;
use typeloom_wire::port::PortTypeError;
use typeloom_wire::send::SendError;

use crate::literal::LiteralError;

/// Error of preparing a model or a compiled program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The bytes are not a model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The model has no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// A stored tensor is malformed.
    #[error(transparent)]
    Tensor(#[from] DecodeTensorError),
    /// The data of a tensor in another file could not be read.
    #[error("the data of `{name}` cannot be read: {reason}")]
    ExternalData { name: String, reason: String },
    /// A node reads a value that is not defined before it.
    #[error("{node} reads `{value}`, which no earlier node makes")]
    UnknownValue { node: String, value: String },
    /// A control flow operator lacks a nested graph.
    #[error("{node} has no graph `{attribute}`")]
    MissingGraph { node: String, attribute: &'static str },
    /// Graphs or functions are nested too deeply, or a function calls itself.
    #[error("{node} is nested more than {limit} graphs and functions deep")]
    TooDeep {
        node: String,
        /// The largest accepted depth.
        limit: usize,
    },
    /// Inlining the functions of the model yields too many nodes.
    #[error("the functions of the model unfold to more than {}", counted(*limit, "node"))]
    TooManyNodes { limit: usize },
    /// A compiled program cannot be linked with its components.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Error of linking a compiled program with its components.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// A component differs from the one that the program was compiled for.
    #[error(transparent)]
    Component(#[from] LoadError),
    /// A slot has no component.
    #[error("slot `{slot}` requires {role}, but no component is bound to it; it runs {node}")]
    NoComponent { node: String, slot: String, role: Role },
    /// A slot has two components.
    #[error("there are two components for slot `{slot}`")]
    BoundTwice { slot: String },
    /// The component implements another contract than the node requires.
    #[error("slot `{slot}` requires {required}, but {found} is bound to it; it runs {node}")]
    Role { node: String, slot: String, required: String, found: Role },
    /// The compiler did not resolve a node on a slot.
    #[error("slot `{slot}` runs an operator that the compiler did not resolve: {node}")]
    Unresolved { node: String, slot: String },
    /// The stamps of a node contradict each other.
    #[error("{node}: {error}")]
    Stamp {
        node: String,
        #[source]
        error: StampError,
    },
    /// The contract of a slot does not have the method that a node was resolved to.
    #[error("{node}: {role} has no method `{method}` for the node")]
    NoMethod { node: String, role: Role, method: String },
    /// An operator has no implementation.
    #[error("{node}: operator `{op}` of domain `{domain}` is not supported")]
    UnknownOperator { node: String, domain: String, op: String },
    /// A function of another module is called, but no program is linked for it.
    #[error("{node} calls `{function}` of another module, but no program is linked for it")]
    NoFunction { node: String, function: String },
    /// The target type of a cast is not an element type of tensors.
    #[error("{node} casts to `{to}`, which is not an element type of tensors")]
    NoCast { node: String, to: String },
    /// The program sends values to peers: only its parts can run.
    #[error("{node} sends or receives: the program runs only as parts, not as a whole")]
    InParts { node: String },
    /// The type of a value on the wire cannot be sent.
    #[error("`{wire}` cannot be sent: {error}")]
    Wire {
        wire: String,
        #[source]
        error: PortTypeError,
    },
    /// The program does not have the part.
    #[error("the program has no part `{part}`; it has {}", known.join(", "))]
    NoPart { part: String, known: Vec<String> },
}

/// Error of a run. The session or executor stays usable.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// An input without a default is missing.
    #[error("input `{name}` is missing")]
    MissingInput { name: String },
    /// An unknown input was given.
    #[error("the {owner} has {unknown}")]
    UnknownInput {
        /// `model` or `program`.
        owner: &'static str,
        unknown: UnknownName,
    },
    /// An input is not of its type.
    #[error("input `{name}`: {mismatch}")]
    Input { name: String, mismatch: Mismatch },
    /// Numbers that the element type of an input does not contain.
    #[error("input `{name}`: {error}")]
    Literal { name: String, error: LiteralError },
    /// The extents of the inputs violate a precondition of the model.
    #[error("the model runs only where {condition}, but {}", bound(symbols))]
    Precondition { condition: String, symbols: Vec<(String, usize)> },
    /// The part contains no receive, so no message can start it.
    #[error("the part contains no receive, so no message can start it")]
    NeverStarts,
    /// Messages could not be committed.
    #[error(transparent)]
    Mailbox(WireError),
    /// A node failed.
    #[error("{node}{}: {error}", on(slot))]
    Node {
        node: String,
        /// The module slot that the node runs on.
        slot: Option<String>,
        #[source]
        error: NodeError,
    },
}

/// Values of symbols as text: `batch = 2 and seq = 3`.
fn bound(symbols: &[(String, usize)]) -> String {
    let parts: Vec<String> = symbols.iter().map(|(name, extent)| format!("{name} = {extent}")).collect();
    parts.join(" and ")
}

fn on(slot: &Option<String>) -> String {
    slot.as_ref().map_or_else(String::new, |slot| format!(" on slot `{slot}`"))
}

/// The diagnostic of an error with this message.
fn diagnostic(code: Code, error: &impl fmt::Display) -> Vec<Diagnostic> {
    vec![Diagnostic::new(code, error.to_string(), Location::default())]
}

impl LinkError {
    /// The diagnostics of an error that concerns the program; the wrong choice of a part has none.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Component(error) => error.diagnostics(),
            Self::NoComponent { .. } | Self::BoundTwice { .. } | Self::Role { .. } => {
                diagnostic(Code::SlotBinding, self)
            }
            Self::Unresolved { .. }
            | Self::Stamp { .. }
            | Self::NoMethod { .. }
            | Self::UnknownOperator { .. }
            | Self::NoFunction { .. }
            | Self::NoCast { .. }
            | Self::Wire { .. } => diagnostic(Code::UnsupportedNode, self),
            Self::InParts { .. } | Self::NoPart { .. } => Vec::new(),
        }
    }
}

impl From<ReadError> for PrepareError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoGraph => Self::NoGraph,
            ReadError::NestedTooDeep => Self::TooDeep { node: "a graph".to_owned(), limit: MAX_NESTING },
        }
    }
}

impl PrepareError {
    /// The diagnostics of an error that concerns the model; an exceeded budget has none.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match self {
            Self::Malformed(error) => return vec![diagnose_bytes(error)],
            Self::ExternalData { name, reason } => return vec![diagnose_external_data(name, reason)],
            Self::Link(error) => return error.diagnostics(),
            Self::Tensor(_) if self.exceeds_budget() => return Vec::new(),
            Self::Tensor(_) => Code::TensorData,
            Self::NoGraph => Code::MalformedFile,
            Self::UnknownValue { .. } => Code::UndefinedValue,
            Self::MissingGraph { .. } => Code::MissingAttribute,
            Self::TooDeep { .. } => Code::NestingTooDeep,
            Self::TooManyNodes { .. } => Code::ProgramTooLarge,
        };
        diagnostic(code, self)
    }

    /// Whether the memory limit of [`RunLimits`](crate::options::RunLimits) is the cause.
    #[must_use]
    pub fn exceeds_budget(&self) -> bool {
        matches!(
            self,
            Self::Tensor(DecodeTensorError::Elements { error: TensorError::OverBudget { .. }, .. })
        )
    }
}

impl RunError {
    /// The error of the innermost node, if one failed.
    fn innermost(&self) -> Option<&NodeError> {
        let mut error = self;
        loop {
            match error {
                Self::Node { error: NodeError::Nested(nested), .. } => error = nested,
                Self::Node { error, .. } => return Some(error),
                _ => return None,
            }
        }
    }

    /// The diagnostics of an error that concerns the model or its values. Missing and unknown inputs, limits
    /// and interrupts of a run, errors that a component returns, and those of the network have none.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        if let Self::Precondition { .. } = self {
            let severity = Severity::Error;
            let all = diagnostic(Code::RestrictedSymbol, self).into_iter();
            return all.map(|diagnostic| Diagnostic { severity, ..diagnostic }).collect();
        }
        let code = match self.innermost() {
            Some(NodeError::Kernel(_) | NodeError::Component(_)) if self.exceeds_budget() => {
                return Vec::new();
            }
            Some(NodeError::UnknownOperator { .. }) => Code::UnsupportedNode,
            Some(NodeError::Wire(WireError::TwoClasses { .. })) => Code::MissingSend,
            Some(
                NodeError::Kernel(_)
                | NodeError::OperatorPanicked(_)
                | NodeError::ComponentPanicked(_)
                | NodeError::NoValue(_)
                | NodeError::NotTensors { .. }
                | NodeError::ControlFlow(_)
                | NodeError::Structure(_)
                | NodeError::Mismatch { .. }
                | NodeError::Wire(WireError::Send(SendError::OtherValue { .. } | SendError::TooLarge(_))),
            ) => Code::NodeFailed,
            Some(NodeError::Component(error)) if !matches!(error, ComponentError::Failed(_)) => {
                Code::NodeFailed
            }
            Some(
                NodeError::TooManyIterations { .. }
                | NodeError::TooManySteps { .. }
                | NodeError::Interrupted
                | NodeError::Component(_)
                | NodeError::Nested(_)
                | NodeError::Wire(_),
            )
            | None => return Vec::new(),
        };
        diagnostic(code, self)
    }

    /// Whether a limit on memory, work or steps is the cause, see [`RunLimits`](crate::options::RunLimits).
    #[must_use]
    pub fn exceeds_budget(&self) -> bool {
        matches!(
            self.innermost(),
            Some(
                NodeError::TooManySteps { .. }
                    | NodeError::Kernel(KernelError {
                        kind: KernelErrorKind::Tensor(TensorError::OverBudget { .. })
                            | KernelErrorKind::TooMuchWork { .. },
                        ..
                    })
                    | NodeError::Component(ComponentError::Representation {
                        kind: KernelErrorKind::Tensor(TensorError::OverBudget { .. })
                            | KernelErrorKind::TooMuchWork { .. },
                        ..
                    })
            )
        )
    }
}

/// Error of a node.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeError {
    /// The operator failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The component of the slot failed.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The operator has no implementation.
    #[error("operator `{op}` of domain `{domain}` is not supported")]
    UnknownOperator { domain: String, op: String },
    /// The operator panicked.
    #[error("the operator panicked: {0}")]
    OperatorPanicked(String),
    /// The component panicked.
    #[error("the component panicked: {0}")]
    ComponentPanicked(String),
    /// A value that the node reads does not exist.
    #[error("`{0}` has no value")]
    NoValue(String),
    /// An operator on tensors received another value.
    #[error("input {index} is {found}, but the operator takes tensors")]
    NotTensors { index: usize, found: String },
    /// The loops exceed the limit on iterations.
    #[error("the loops of the model took more iterations than the limit of {limit}")]
    TooManyIterations { limit: u64 },
    /// The run exceeds the limit on steps.
    #[error("the run took more steps than the limit of {limit}")]
    TooManySteps { limit: u64 },
    /// The run was ended, see [`Interrupt`](crate::options::Interrupt).
    #[error("the run was interrupted")]
    Interrupted,
    /// A control flow operator received invalid operands.
    #[error("{0}")]
    ControlFlow(String),
    /// A structural operator received invalid operands.
    #[error("{0}")]
    Structure(String),
    /// A send or a receive failed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A result is not of its type.
    #[error("output `{value}`: {mismatch}")]
    Mismatch { value: String, mismatch: Mismatch },
    /// A node of a nested graph, function or program failed.
    #[error("{0}")]
    Nested(Box<RunError>),
}

/// The error type of a component, erased. Errors with equal messages are equal.
#[derive(Clone, Debug)]
pub struct ForeignError(Arc<dyn Error + Send + Sync>);

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ForeignError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl PartialEq for ForeignError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// Error of a component.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ComponentError {
    /// The component returned an error.
    #[error("{0}")]
    Failed(#[source] ForeignError),
    /// A required input is missing.
    #[error("input {0} is missing")]
    Missing(usize),
    /// An input is not of the component's storage type.
    #[error("input {index} is {found}, but the component stores {stores}")]
    Storage {
        index: usize,
        found: String,
        /// Storage type of the component, as a node of the type tree.
        stores: &'static str,
    },
    /// A value has no form in the component's storage type, or a result of the component has none in the
    /// type of its output. `port` names the input or output.
    #[error("{port}, which the component represents as {stores}: {kind}")]
    Representation { port: String, stores: &'static str, kind: KernelErrorKind },
    /// The operator does not accept a value of this kind as input.
    #[error("input {index} is {found}, not {wanted}")]
    Argument { index: usize, found: String, wanted: &'static str },
    /// Inputs contradict each other.
    #[error("{0}")]
    Inconsistent(String),
    /// A data source has no more batches.
    #[error("the data source has no more batches")]
    Exhausted,
    /// The component returned more or fewer values than the node has outputs.
    #[error("the component returned {} for {}", counted(*found, "value"), counted(*expected, "output"))]
    Count { expected: usize, found: usize },
}

impl ComponentError {
    pub(crate) fn failed(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(ForeignError(Arc::new(error)))
    }
}

/// Error of a send or a receive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WireError {
    /// A value was not sent or not accepted.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A value cannot be received.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// Peers did not answer in time.
    #[error("{error}{}", from_peers(peers))]
    NoAnswer {
        error: ReceiveError,
        /// The peers that have not answered.
        peers: Vec<PeerId>,
    },
    /// Answers are journaled but not acknowledged in time. A later run sends them.
    #[error("{pending} messages were not acknowledged in time; the next run sends them")]
    Unsent { pending: usize },
    /// A node depends on messages of several peers of two classes.
    #[error("it depends on messages of several peers of `{left}` and of several of `{right}`")]
    TwoClasses { left: String, right: String },
}

pub(crate) fn from_peers(peers: &[PeerId]) -> String {
    let peers: Vec<String> = peers.iter().map(|peer| format!("peer `{peer}`")).collect();
    if peers.is_empty() { String::new() } else { format!(", from {}", peers.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(error: NodeError) -> Vec<Code> {
        let error = RunError::Node { node: "`Add`".to_owned(), slot: None, error };
        let nested = NodeError::Nested(Box::new(error));
        let outer = RunError::Node { node: "`If`".to_owned(), slot: None, error: nested };
        outer.diagnostics().iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn errors_of_nodes_have_diagnostics_and_limits_have_none() {
        let divided = KernelError { op: "Div".to_owned(), kind: KernelErrorKind::DivisionByZero };
        assert_eq!(codes(divided.into()), [Code::NodeFailed]);
        let [domain, op] = ["own", "Twist"].map(str::to_owned);
        assert_eq!(codes(NodeError::UnknownOperator { domain, op }), [Code::UnsupportedNode]);
        assert_eq!(codes(NodeError::TooManySteps { limit: 1 }), []);
        assert_eq!(codes(ComponentError::Missing(0).into()), [Code::NodeFailed]);
        assert_eq!(codes(ComponentError::failed(fmt::Error).into()), []);
        let [left, right] = ["a", "b"].map(str::to_owned);
        assert_eq!(codes(WireError::TwoClasses { left, right }.into()), [Code::MissingSend]);
    }

    #[test]
    fn a_precondition_is_reported_as_by_a_check() {
        let error = RunError::Precondition { condition: "`H >= 3`".to_owned(), symbols: Vec::new() };
        let [found] = &error.diagnostics()[..] else { panic!("it is one error") };
        assert_eq!((found.code, found.severity), (Code::RestrictedSymbol, Severity::Error));
    }

    #[test]
    fn the_data_of_a_tensor_is_reported_as_by_a_check() {
        let [name, reason] = ["w", "`w.bin` is not there"].map(str::to_owned);
        let error = PrepareError::ExternalData { name, reason };
        let [found] = &error.diagnostics()[..] else { panic!("it is one error") };
        assert_eq!((found.code, &found.message), (Code::MissingExternalData, &error.to_string()));
    }
}

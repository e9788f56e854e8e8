//! Why a program is not linked with its components, and why a run of it ends without a result.

use typeloom_compiler::artifact::LoadError;
use typeloom_contracts::peer_selector::PeerId;
use typeloom_contracts::role::Role;

use crate::components::ComponentFault;
use crate::error::{NodeFault, PrepareError};
use typeloom_wire::delivery::ReceiveError;
use typeloom_wire::port::PortTypeError;
use typeloom_wire::send::{DisplayPeer, SendError};
use typeloom_wire::stamp::Mismatch;

/// Why a compiled program could not be linked with components.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The program cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A component is not what the program was compiled for.
    #[error(transparent)]
    Component(#[from] LoadError),
    /// Nothing is behind a slot.
    #[error("{node} runs on slot `{slot}`, which asks for {role}, and there is no component for it")]
    NoComponent {
        /// The first node on the slot.
        node: String,
        /// The slot.
        slot: String,
        /// The contract that it asks for.
        role: Role,
    },
    /// There are two components for one slot.
    #[error("there are two components for slot `{slot}`")]
    BoundTwice {
        /// The slot.
        slot: String,
    },
    /// The component has another role than the node asks for.
    #[error("{node} asks for {asks} in slot `{slot}`, and what is there is {found}")]
    Role {
        /// The node.
        node: String,
        /// The slot.
        slot: String,
        /// The contract that the node asks for.
        asks: String,
        /// The contract of the component.
        found: Role,
    },
    /// A node on a slot was not resolved when the program was compiled.
    #[error("{node} runs on slot `{slot}`, and compiling did not resolve what runs it")]
    Unresolved {
        /// The node.
        node: String,
        /// The slot.
        slot: String,
    },
    /// The contract of a slot has no such operator.
    #[error("{node}: {role} has no operator `{op}`")]
    NoMethod {
        /// The node.
        node: String,
        /// The contract.
        role: Role,
        /// The operator.
        op: String,
    },
    /// Nothing here runs an operator.
    #[error("{node}: operator `{op}` of domain `{domain}` is not supported")]
    UnknownOperator {
        /// The node.
        node: String,
        /// The domain.
        domain: String,
        /// The operator.
        op: String,
    },
    /// A function of another module is called, and no program stands behind it.
    #[error("{node} calls `{function}` of another module, and no program is linked for it")]
    NoFunction {
        /// The node.
        node: String,
        /// The function.
        function: String,
    },
    /// A cast to or from something that has no elements of a known kind.
    #[error("{node} casts to `{to}`, which is no element type of tensors")]
    NoCast {
        /// The node.
        node: String,
        /// The type.
        to: String,
    },
    /// The program sends values to peers, so that no one process runs all of it.
    #[error("{node} is on the wire: no one process runs all of the program, but each of its parts")]
    InParts {
        /// The node.
        node: String,
    },
    /// A value on the wire is of a type that nothing can be sent as.
    #[error("`{wire}` cannot be sent: {error}")]
    Wire {
        /// The value, by its name on the wire.
        wire: String,
        /// Why.
        #[source]
        error: PortTypeError,
    },
    /// The program has no such part.
    #[error("the program has no part `{part}`; it has {}", known.join(", "))]
    NoPart {
        /// The part.
        part: String,
        /// Those that it has.
        known: Vec<String>,
    },
}

/// Why a run ended without a result. The executor stays usable.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// An input that has no default is missing.
    #[error("input `{name}` is missing")]
    MissingInput {
        /// The input.
        name: String,
    },
    /// An input that the program does not have.
    #[error("the program has no input `{name}`")]
    UnknownInput {
        /// The input.
        name: String,
    },
    /// An input is not of the type that was proved for it.
    #[error("input `{name}`: {mismatch}")]
    Input {
        /// The input.
        name: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// The part receives nothing, so that no message starts it.
    #[error("the part receives nothing, so that no message starts it")]
    NeverStarts,
    /// A message could not be dealt with.
    #[error(transparent)]
    Mailbox(WireFault),
    /// A node failed.
    #[error("{node}{}: {fault}", on(slot))]
    Node {
        /// The node.
        node: String,
        /// The slot that it runs on, where it does.
        slot: Option<String>,
        /// In which way.
        #[source]
        fault: StepFault,
    },
}

fn on(slot: &Option<String>) -> String {
    slot.as_ref().map_or_else(String::new, |slot| format!(" on slot `{slot}`"))
}

/// How a node failed.
#[derive(Debug, thiserror::Error)]
pub enum StepFault {
    /// The component of the slot.
    #[error(transparent)]
    Component(#[from] ComponentFault),
    /// The component panicked.
    #[error("the component panicked: {0}")]
    Panicked(String),
    /// An operator of the embedded backend, or control flow.
    #[error(transparent)]
    Operator(#[from] NodeFault),
    /// An operator of tensors was given something else.
    #[error("input {index} is {found}, and the operator takes tensors")]
    NoValue {
        /// Which input.
        index: usize,
        /// What it is.
        found: String,
    },
    /// A structural operator was given something that it does not take.
    #[error("{0}")]
    Structure(String),
    /// The wire.
    #[error(transparent)]
    Wire(#[from] WireFault),
    /// A result is not of the type that was proved for it.
    #[error("output `{value}`: {mismatch}")]
    Mismatch {
        /// The value.
        value: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// A node of a graph or a program inside failed.
    #[error("{0}")]
    Inside(Box<ExecuteError>),
}

/// How a send or a receive failed.
#[derive(Debug, thiserror::Error)]
pub enum WireFault {
    /// A value was not sent, or not taken.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Nothing can be received.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// Peers have not answered in time.
    #[error("{error}{}", unheard(peers))]
    Unheard {
        /// What was waited for.
        error: ReceiveError,
        /// The peers that nothing came from.
        peers: Vec<PeerId>,
    },
    /// Messages that follow from one that arrived are written down, and not acknowledged in time; they are sent later.
    #[error("{pending} messages are not acknowledged in time; they are sent with the next ones")]
    Unsent {
        /// How many.
        pending: usize,
    },
    /// A node depends on messages of several peers of two classes.
    #[error("it depends on messages of several peers of `{left}` and of several of `{right}`")]
    Crossed {
        /// One class.
        left: String,
        /// The other.
        right: String,
    },
}

fn unheard(peers: &[PeerId]) -> String {
    let peers: Vec<String> = peers.iter().map(|peer| DisplayPeer(peer).to_string()).collect();
    if peers.is_empty() { String::new() } else { format!(", from {}", peers.join(", ")) }
}

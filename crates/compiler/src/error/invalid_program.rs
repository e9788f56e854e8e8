//! Reasons why bytes or messages are not a program.

use typeloom_contracts::role::Role;
use typeloom_onnx::DecodeError;
use typeloom_program::read::ReadError;
use typeloom_solver::model::CheckError;
use typeloom_solver::program::MAX_NESTING;
use typeloom_solver::universe::UniverseError;

use super::at_text;

/// Reason why bytes or messages are not a program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidProgram {
    /// The bytes are no message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The registered types are no tree.
    #[error(transparent)]
    Universe(#[from] UniverseError),
    /// The solver cannot check the model.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The message is no program.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("graphs are nested more than {MAX_NESTING} deep")]
    NestedTooDeep,
    /// The nodes of a slot require different contracts.
    #[error("slot `{slot}` is used as {known} and as {other}")]
    SlotRoles { slot: String, known: Role, other: Role },
    #[error("node `{op}` needs a slot: it is an operator of {role}")]
    NoSlot { op: String, role: Role },
    #[error("node `{op}` runs on slot `{slot}`, but declares no contract")]
    NoContract { op: String, slot: String },
    #[error("node `{op}` runs on a slot without a name")]
    NamelessSlot { op: String },
    /// The operator belongs to another contract.
    #[error("`{op}` of domain `{domain}` is not an operator of {role}, the contract of slot `{slot}`")]
    OtherContract { op: String, domain: String, role: Role, slot: String },
    #[error("the bundle has no child `{key}`; it has {}", known.join(", "))]
    NoChild { key: String, known: Vec<String> },
    /// A receive without a send.
    #[error("this receive has no matching send{}", at_text(location))]
    NoSend {
        /// The source location of the node; empty if unknown.
        location: String,
    },
    /// A send in a nested graph.
    #[error("a value is sent inside of `{op}`: {}{}", instead(op), at_text(location))]
    SendInside {
        /// The operator with the nested graph.
        op: String,
        /// The source location of the send; empty if unknown.
        location: String,
    },
}

/// Returns the reason why a nested graph cannot send, and the code to write instead.
fn instead(op: &str) -> String {
    let gives = match op {
        "If" => "return the value from both branches, and send the result",
        _ => {
            "return the values from the body (the values of all iterations can be an output of the loop), and send the result"
        }
    };
    format!(
        "a branch or loop runs on one class of peers, and a receiving peer does not know whether or how often a value \
         is sent; {gives}: `let out = g.{}(..); let (data, _) = g.send(&out[0], &peers);`",
        match op {
            "If" => "if_",
            "Scan" => "scan",
            _ => "loop_",
        }
    )
}

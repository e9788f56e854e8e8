//! What a compilation did.

use std::fmt;

/// What a compilation did, pass by pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileReport {
    /// The passes that ran, in order.
    pub passes: Vec<String>,
    /// The casts that were inserted.
    pub casts: Vec<CastReport>,
    /// The receives that were made.
    pub receives: Vec<ReceiveReport>,
    /// Operators that were written in terms of primitives: the node's slot, and how often.
    pub lowered: Vec<(String, usize)>,
    /// The IR in ONNX's textual syntax after the passes for which it was asked, by pass.
    pub printed: Vec<(String, String)>,
}

/// A cast that was inserted, or would have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CastReport {
    pub value: String,
    /// Its type: a node of the type tree.
    pub from: String,
    pub to: String,
    /// Whether every value survives.
    pub lossless: bool,
    /// Why: which two ends are declared.
    pub reason: String,
}

impl fmt::Display for CastReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, from, to, lossless, reason } = self;
        let loss = if *lossless { "lossless" } else { "lossy" };
        write!(f, "cast `{value}` from {from} to {to} ({loss}): {reason}")
    }
}

/// A receive that the compiler made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveReport {
    /// The class of peers that receive.
    pub peer_class: String,
    pub value: String,
}

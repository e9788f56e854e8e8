//! Reports of compilations.

use std::fmt;

/// The effects of a compilation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileReport {
    /// The passes that ran, in order.
    pub passes: Vec<String>,
    /// The casts that were inserted.
    pub casts: Vec<CastReport>,
    /// The receives that were inserted.
    pub receives: Vec<ReceiveReport>,
    /// Number of operators that were lowered to primitives, by slot.
    pub lowered: Vec<(String, usize)>,
    /// The requested prints of the IR, by pass.
    pub printed: Vec<(String, String)>,
}

/// A cast that was inserted or would be needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CastReport {
    pub value: String,
    /// The id of its type node.
    pub from: String,
    pub to: String,
    /// Whether the cast keeps every value.
    pub lossless: bool,
    /// The declaration that requires the cast.
    pub reason: String,
}

impl fmt::Display for CastReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, from, to, lossless, reason } = self;
        let loss = if *lossless { "lossless" } else { "lossy" };
        write!(f, "cast `{value}` from {from} to {to} ({loss}): {reason}")
    }
}

/// A receive that the compiler inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveReport {
    /// The class of the receiving peers.
    pub peer_class: String,
    pub value: String,
}

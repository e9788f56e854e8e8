//! Domains of operators.
//!
//! A domain is decided once, when a program is read. ONNX's own domain has two names, and both are
//! [`Domain::Onnx`].

use typeloom_contracts::role::Role;
use typeloom_onnx::domain::is_onnx;
use typeloom_onnx::messages::SharedText;

/// Operators that convert values between types.
pub const TYPES: &str = "ai.bytesandbrains.types";
/// Operators that send values to peers and receive them.
pub const WIRE: &str = "ai.bytesandbrains.wire";
/// Operators that bundle values and unbundle them.
pub const COMPOSITE: &str = "ai.bytesandbrains.composite";
/// Calls of functions that another module exports.
pub const IMPORT: &str = "ai.bytesandbrains.import";
/// Structural operators on lists of peers.
pub const PEERS: &str = "ai.bytesandbrains.peers";
/// Modules that are called as functions.
pub const MODULE: &str = "ai.bytesandbrains.module";
/// The parts of a program that runs on several classes of peers.
pub const PARTITION: &str = "ai.bytesandbrains.partition";

/// ONNX's operators of classical machine learning.
pub const ML: &str = "ai.onnx.ml";
/// ONNX's operators that can still change.
pub const PREVIEW: &str = "ai.onnx.preview";

/// The domain of an operator or function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Domain {
    /// ONNX's own domain.
    #[default]
    Onnx,
    /// The operators of a contract.
    Contract(Role),
    /// See [`TYPES`].
    Types,
    /// See [`WIRE`].
    Wire,
    /// See [`COMPOSITE`].
    Composite,
    /// See [`IMPORT`].
    Import,
    /// See [`PEERS`].
    Peers,
    /// See [`MODULE`].
    Module,
    /// See [`PARTITION`].
    Partition,
    /// See [`ML`].
    Ml,
    /// See [`PREVIEW`].
    Preview,
    /// Any other domain.
    Other(SharedText),
}

impl Domain {
    /// The domains of operators that only modules have, other than those of contracts.
    pub const OF_MODULES: [Self; 6] =
        [Self::Types, Self::Wire, Self::Composite, Self::Import, Self::Peers, Self::Module];

    /// The domain with a name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            _ if is_onnx(name) => Self::Onnx,
            TYPES => Self::Types,
            WIRE => Self::Wire,
            COMPOSITE => Self::Composite,
            IMPORT => Self::Import,
            PEERS => Self::Peers,
            MODULE => Self::Module,
            PARTITION => Self::Partition,
            ML => Self::Ml,
            PREVIEW => Self::Preview,
            _ => match Role::ALL.iter().find(|role| role.domain() == name) {
                Some(role) => Self::Contract(*role),
                None => Self::Other(name.into()),
            },
        }
    }

    /// The name of the domain; empty for ONNX's own.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Onnx => "",
            Self::Contract(role) => role.domain(),
            Self::Types => TYPES,
            Self::Wire => WIRE,
            Self::Composite => COMPOSITE,
            Self::Import => IMPORT,
            Self::Peers => PEERS,
            Self::Module => MODULE,
            Self::Partition => PARTITION,
            Self::Ml => ML,
            Self::Preview => PREVIEW,
            Self::Other(name) => name,
        }
    }

    /// Whether the operators are ONNX's own.
    #[must_use]
    pub fn is_onnx(&self) -> bool {
        *self == Self::Onnx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_found_by_its_name() {
        for name in ["", TYPES, WIRE, COMPOSITE, IMPORT, PEERS, MODULE, PARTITION, ML, PREVIEW, "other"] {
            assert_eq!(Domain::of(name).name(), name);
        }
        for role in Role::ALL.iter().filter(|role| !role.domain().is_empty()) {
            assert_eq!(Domain::of(role.domain()), Domain::Contract(*role));
        }
        assert_eq!(Domain::of("ai.onnx"), Domain::Onnx);
    }
}

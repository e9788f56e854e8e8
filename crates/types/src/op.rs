//! Operators declared as constants.
//!
//! A component declares its own operators here: ports, side effects and relations. The solver needs nothing
//! else to type a graph that uses the operator. ONNX operators are in the operator catalogue instead, with
//! attributes, type variables and versions.
//!
//! **Invariant:** declarations are plain data that can be stored in statics. [`AtomicOpDecl::check`]
//! validates a declaration; a test applies it to the built-in ones.
//!
//! Example of [`AtomicOpDecl`]:
//!
//! ```
//! use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, PortDecl};
//! use typeloom_types::relation::ELEMENTWISE;
//! use typeloom_types::tree::builtin::TYPE_TENSOR;
//!
//! static RELU: AtomicOpDecl = AtomicOpDecl {
//!     name: "Relu",
//!     inputs: &[PortDecl::required("X", &TYPE_TENSOR)],
//!     outputs: &[PortDecl::required("Y", &TYPE_TENSOR)],
//!     kind: AtomicOpKind::Pure,
//!     type_relations: ELEMENTWISE,
//! };
//! assert_eq!(RELU.check(), []);
//! ```

use crate::relation::{PortRef, TypeRelation};
use crate::tree::TypeNode;

pub mod primitives;

/// Number of occurrences of a port on a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PortArity {
    /// Exactly once.
    Required,
    /// At most once.
    Optional,
    /// Any number of times; last port only.
    Variadic,
}

/// One declared input or output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortDecl {
    pub name: &'static str,
    /// Number of occurrences.
    pub arity: PortArity,
    /// The bound of the values' types; `any` for no bound.
    pub bound: &'static TypeNode,
}

impl PortDecl {
    /// A required port.
    #[must_use]
    pub const fn required(name: &'static str, bound: &'static TypeNode) -> Self {
        Self { name, arity: PortArity::Required, bound }
    }

    /// An optional port.
    #[must_use]
    pub const fn optional(name: &'static str, bound: &'static TypeNode) -> Self {
        Self { name, arity: PortArity::Optional, bound }
    }

    /// A variadic last port.
    #[must_use]
    pub const fn variadic(name: &'static str, bound: &'static TypeNode) -> Self {
        Self { name, arity: PortArity::Variadic, bound }
    }
}

/// Side effects of an operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AtomicOpKind {
    /// None: nodes may be merged, moved and dropped.
    Pure,
    /// Reads or changes the state of a component: nodes keep their number and order.
    Stateful,
    /// Sends values to peers or receives them.
    Wire,
}

/// The declaration of one operator.
#[derive(Clone, Copy, Debug)]
pub struct AtomicOpDecl {
    /// The name, unique in the operator set.
    pub name: &'static str,
    pub inputs: &'static [PortDecl],
    pub outputs: &'static [PortDecl],
    /// Side effects.
    pub kind: AtomicOpKind,
    /// Relations between the ports.
    pub type_relations: &'static [TypeRelation],
}

impl AtomicOpDecl {
    /// The declaration of the input at `position`: the last one if it is variadic.
    #[must_use]
    pub fn input(&self, position: usize) -> Option<&'static PortDecl> {
        port_at(self.inputs, position)
    }

    /// The declaration of the output at `position`: the last one if it is variadic.
    #[must_use]
    pub fn output(&self, position: usize) -> Option<&'static PortDecl> {
        port_at(self.outputs, position)
    }

    /// All errors of the declaration.
    #[must_use]
    pub fn check(&self) -> Vec<OpDeclError> {
        let Self { name: op, inputs, outputs, kind: _, type_relations } = *self;
        let mut errors = Vec::new();
        for ports in [inputs, outputs] {
            for (at, port) in ports.iter().enumerate() {
                let name = port.name;
                if ports[..at].iter().any(|earlier| earlier.name == name) {
                    errors.push(OpDeclError::DuplicatePort { op, name });
                }
                if port.arity == PortArity::Variadic && at + 1 < ports.len() {
                    errors.push(OpDeclError::VariadicNotLast { op, name });
                }
            }
        }
        for relation in type_relations {
            for port in relation.ports() {
                let declared = match port {
                    PortRef::Input(at) => self.input(at).is_some(),
                    PortRef::Output(at) => self.output(at).is_some(),
                    PortRef::InputsFrom(at) => at < inputs.len(),
                    PortRef::OutputsFrom(at) => at < outputs.len(),
                };
                if !declared {
                    errors.push(OpDeclError::UndeclaredPort { op, relation: relation.name(), port });
                }
            }
        }
        errors
    }
}

fn port_at(ports: &'static [PortDecl], position: usize) -> Option<&'static PortDecl> {
    ports.get(position).or_else(|| ports.last().filter(|last| last.arity == PortArity::Variadic))
}

/// An error in the declaration of an operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpDeclError {
    /// Two inputs, or two outputs, have the same name.
    #[error("`{op}` declares port `{name}` twice")]
    DuplicatePort {
        op: &'static str,
        /// The duplicate name.
        name: &'static str,
    },
    /// A variadic port is not the last one.
    #[error("the variadic port `{name}` of `{op}` is not the last one")]
    VariadicNotLast {
        op: &'static str,
        /// The variadic port.
        name: &'static str,
    },
    /// A relation refers to an undeclared port.
    #[error("relation `{relation}` of `{op}` refers to {port}, which is not declared")]
    UndeclaredPort {
        op: &'static str,
        relation: &'static str,
        /// The undeclared port.
        port: PortRef,
    },
    /// Two operators of a set have the same name.
    #[error("operator `{op}` is declared twice")]
    DuplicateOp { op: &'static str },
}

/// Operators of one domain and version.
#[derive(Clone, Copy, Debug)]
pub struct AtomicOpsetDecl {
    pub domain: &'static str,
    /// The version of the domain.
    pub version: u32,
    pub ops: &'static [AtomicOpDecl],
}

impl AtomicOpsetDecl {
    /// The operator with this name.
    #[must_use]
    pub fn op(&self, name: &str) -> Option<&'static AtomicOpDecl> {
        self.ops.iter().find(|op| op.name == name)
    }

    /// All errors of the set and its operators.
    #[must_use]
    pub fn check(&self) -> Vec<OpDeclError> {
        let mut seen = std::collections::BTreeSet::new();
        let twice = self.ops.iter().filter(|op| !seen.insert(op.name));
        let duplicates: Vec<_> = twice.map(|op| OpDeclError::DuplicateOp { op: op.name }).collect();
        duplicates.into_iter().chain(self.ops.iter().flat_map(AtomicOpDecl::check)).collect()
    }
}

//! Operators declared as constants.
//!
//! A component that brings operators of its own declares them here: ports, kind and relations. The
//! declaration is what the solver needs to type a graph that uses them, and nothing more. ONNX's own
//! operators come from the operator catalogue, which knows attributes, type variables and versions.
//!
//! **Invariant:** declarations are plain data, usable in statics. [`AtomicOpDecl::check`] says
//! whether one makes sense; the built-in ones are held to it by a test.

use crate::relation::{PortRef, TypeRelation};
use crate::tree::TypeNode;

pub mod primitives;

/// How often a port appears on a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PortArity {
    /// Exactly once.
    Required,
    /// At most once.
    Optional,
    /// Any number of times; only the last port.
    Variadic,
}

/// One declared input or output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortDecl {
    /// Its name.
    pub name: &'static str,
    /// How often it appears.
    pub arity: PortArity,
    /// The type that values there are at least known to be under; `any` if nothing is known.
    pub bound: &'static TypeNode,
}

impl PortDecl {
    /// A port that appears once.
    #[must_use]
    pub const fn required(name: &'static str, bound: &'static TypeNode) -> Self {
        Self { name, arity: PortArity::Required, bound }
    }

    /// A port that may be left out.
    #[must_use]
    pub const fn optional(name: &'static str, bound: &'static TypeNode) -> Self {
        Self { name, arity: PortArity::Optional, bound }
    }

    /// A last port that appears any number of times.
    #[must_use]
    pub const fn variadic(name: &'static str, bound: &'static TypeNode) -> Self {
        Self { name, arity: PortArity::Variadic, bound }
    }
}

/// What running an operator may do besides computing its outputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AtomicOpKind {
    /// Nothing: nodes may be merged, moved and dropped.
    Pure,
    /// It reads or changes what a component keeps: nodes stay, in order.
    Stateful,
    /// It sends values to peers or receives them.
    Wire,
}

/// The declaration of one operator.
///
/// ```
/// use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, PortDecl};
/// use typeloom_types::relation::ELEMENTWISE;
/// use typeloom_types::tree::builtin::TYPE_TENSOR;
///
/// static RELU: AtomicOpDecl = AtomicOpDecl {
///     name: "Relu",
///     inputs: &[PortDecl::required("X", &TYPE_TENSOR)],
///     outputs: &[PortDecl::required("Y", &TYPE_TENSOR)],
///     kind: AtomicOpKind::Pure,
///     type_relations: ELEMENTWISE,
/// };
/// assert_eq!(RELU.check(), []);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AtomicOpDecl {
    /// Its name, unique in its operator set.
    pub name: &'static str,
    /// Its inputs, in order.
    pub inputs: &'static [PortDecl],
    /// Its outputs, in order.
    pub outputs: &'static [PortDecl],
    /// What running it may do.
    pub kind: AtomicOpKind,
    /// What must hold between its ports.
    pub type_relations: &'static [TypeRelation],
}

impl AtomicOpDecl {
    /// The declaration that covers the input at `position`: the last one if it is variadic.
    #[must_use]
    pub fn input(&self, position: usize) -> Option<&'static PortDecl> {
        port_at(self.inputs, position)
    }

    /// The declaration that covers the output at `position`: the last one if it is variadic.
    #[must_use]
    pub fn output(&self, position: usize) -> Option<&'static PortDecl> {
        port_at(self.outputs, position)
    }

    /// Everything that is wrong with the declaration.
    #[must_use]
    pub fn check(&self) -> Vec<OpDeclFault> {
        let Self { name: op, inputs, outputs, kind: _, type_relations } = *self;
        let mut faults = Vec::new();
        for ports in [inputs, outputs] {
            for (at, port) in ports.iter().enumerate() {
                let name = port.name;
                if ports[..at].iter().any(|earlier| earlier.name == name) {
                    faults.push(OpDeclFault::DuplicatePort { op, name });
                }
                if port.arity == PortArity::Variadic && at + 1 < ports.len() {
                    faults.push(OpDeclFault::VariadicNotLast { op, name });
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
                    faults.push(OpDeclFault::UndeclaredPort { op, relation: relation.name(), port });
                }
            }
        }
        faults
    }
}

fn port_at(ports: &'static [PortDecl], position: usize) -> Option<&'static PortDecl> {
    ports.get(position).or_else(|| ports.last().filter(|last| last.arity == PortArity::Variadic))
}

/// A mistake in the declaration of an operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpDeclFault {
    /// Two inputs, or two outputs, have one name.
    #[error("`{op}` declares port `{name}` twice")]
    DuplicatePort {
        /// The operator.
        op: &'static str,
        /// The port.
        name: &'static str,
    },
    /// A variadic port is followed by another one.
    #[error("the variadic port `{name}` of `{op}` is not the last one")]
    VariadicNotLast {
        /// The operator.
        op: &'static str,
        /// The port.
        name: &'static str,
    },
    /// A relation speaks of a port that is not declared.
    #[error("relation `{relation}` of `{op}` speaks of {port}, which is not declared")]
    UndeclaredPort {
        /// The operator.
        op: &'static str,
        /// The relation.
        relation: &'static str,
        /// The port.
        port: PortRef,
    },
    /// Two operators of a set have one name.
    #[error("operator `{op}` is declared twice")]
    DuplicateOp {
        /// The operator.
        op: &'static str,
    },
}

/// Operators under one domain and version.
#[derive(Clone, Copy, Debug)]
pub struct AtomicOpsetDecl {
    /// The domain.
    pub domain: &'static str,
    /// The version of the domain.
    pub version: u32,
    /// The operators.
    pub ops: &'static [AtomicOpDecl],
}

impl AtomicOpsetDecl {
    /// The operator with this name.
    #[must_use]
    pub fn op(&self, name: &str) -> Option<&'static AtomicOpDecl> {
        self.ops.iter().find(|op| op.name == name)
    }

    /// Everything that is wrong with the set and its operators.
    #[must_use]
    pub fn check(&self) -> Vec<OpDeclFault> {
        let mut seen = std::collections::BTreeSet::new();
        let twice = self.ops.iter().filter(|op| !seen.insert(op.name));
        let duplicates: Vec<_> = twice.map(|op| OpDeclFault::DuplicateOp { op: op.name }).collect();
        duplicates.into_iter().chain(self.ops.iter().flat_map(AtomicOpDecl::check)).collect()
    }
}
